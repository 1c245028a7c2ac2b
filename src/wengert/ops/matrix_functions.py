"""Functions of matrices: powers, exponentials, chains of products, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wengert import kernels
from wengert.core.dtypes import dtype as DType
from wengert.core.dtypes import of_numpy
from wengert.core.layout import contiguous_format
from wengert.core.tensor import Tensor
from wengert.kernels.axes import axis_of
from wengert.kernels.precision import widened
from wengert.ops.arithmetic import mul
from wengert.ops.batching import leading
from wengert.ops.declare import Value, primitive
from wengert.ops.decompositions import svdvals
from wengert.ops.extrema import amax, amin
from wengert.ops.joining import cat
from wengert.ops.masking import where
from wengert.ops.matmul import matmul
from wengert.ops.matrices import check_inexact, check_square, identity, instead, mH
from wengert.ops.numpy_names import MISSING, either, either_dims, require_arguments
from wengert.ops.outputs import write_out
from wengert.ops.reduction import norm_vjp, p_norm, sum, sum_over, vector_norm
from wengert.ops.shape import clone, contiguous, dtype_of, movedim, unsqueeze
from wengert.ops.solving import inverse
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import keep, ones_matching

Pair = tuple[int, int]

# Added to norms before `renorm` divides by them.
_ABOVE = 1e-7


def _exp_vjp(g: Value, A: Value) -> Value:
    # The directional derivative is a corner block of the exponential of a larger matrix, and is
    # linear in the direction: that of a large one would lose the digits of the others.
    size = sum(abs(g.detach() if isinstance(g, Tensor) else g), (-2, -1), True)
    size = size + (size == 0)
    n, Ah = A.shape[-1], mH(A)
    upper, lower = cat([Ah, g / size], -1), cat([Ah * 0, Ah], -1)
    return exponential(cat([upper, lower], -2))[..., :n, n:] * size


@primitive(A=_exp_vjp, batch=leading, label="LinalgMatrixExpBackward0", name="linalg.matrix_exp")
def exponential(A: Value) -> Value:
    """The exponentials of square matrices."""
    return kernels.products.factorizations.matrix_exp(widened(A)).astype(A.dtype, copy=False)


def checked_exp(A: Tensor) -> Tensor:
    """The exponentials, after checks."""
    check_square("linalg.matrix_exp", A)
    kind = of_numpy[dtype_of(A)]
    if kind.np.kind in "biu":
        raise RuntimeError(
            "linalg.matrix_exp: Expected a floating point or complex tensor as input. Got"
            f" {kind.short}"
        )
    return exponential(A)


def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of each square matrix: the sum of its powers over factorials.

    >>> import wengert
    >>> wengert.matrix_exp(wengert.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return checked_exp(input)


def power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices, by squaring."""
    check_square("linalg.matrix_power", A)
    if n == 0:
        return instead(identity(A.shape[-1], A), A)
    base, left = (inverse(A), -n) if n < 0 else (A, n)
    while not left & 1:
        base, left = matmul(base, base), left >> 1
    result = base
    while left := left >> 1:
        base = matmul(base, base)
        if left & 1:
            result = matmul(result, base)
    return clone(result, memory_format=contiguous_format) if result is A else result


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of each square matrix; of its inverse for negative `n`.

    >>> import wengert
    >>> wengert.matrix_power(wengert.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if out is not None:
        return write_out(matrix_power, out, input, n)
    return power(input, n)


# Chains of products


def chain(name: str, tensors: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the cheapest order."""
    tensors = list(tensors)
    for k, x in enumerate(tensors):
        require_tensor(name, "tensors", x, k + 1)
    if len(tensors) < 2:
        raise RuntimeError(f"{name}(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0], tensors[-1]
    row, column = first.ndim == 1, last.ndim == 1
    if row:
        tensors[0] = unsqueeze(first, 0)
    if column:
        tensors[-1] = unsqueeze(last, -1)
    for k, x in enumerate(tensors):
        if x.ndim != 2:
            allowed = "1D or 2D" if k in (0, len(tensors) - 1) else "2D"
            raise RuntimeError(f"{name}(): tensor {k} must be {allowed} but got {x.ndim}D")
        if dtype_of(x) != dtype_of(first):
            raise RuntimeError(
                f"{name}(): expected all tensors to have the dtype of the first, {first.dtype}, but"
                f" tensor {k} has {x.dtype}"
            )
        if k and tensors[k - 1].shape[1] != x.shape[0]:
            raise RuntimeError(
                f"{name}(): tensors {k - 1} and {k} with shapes {list(tensors[k - 1].shape)} and"
                f" {list(x.shape)} cannot be multiplied"
            )
    sizes = [tensors[0].shape[0], *(x.shape[1] for x in tensors)]
    product = _product(tensors, _splits(sizes), 0, len(tensors) - 1)
    if row:
        product = product[0]
    return product[..., 0] if column else product


def _splits(sizes: Sequence[int]) -> dict[Pair, int]:
    """Where to split each subchain of a chain of matrices with dimensions `sizes`."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    best: dict[Pair, int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], best[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )
    return best


def _product(tensors: Sequence[Tensor], best: dict[Pair, int], i: int, j: int) -> Tensor:
    if i == j:
        return tensors[i]
    k = best[i, j]
    return matmul(_product(tensors, best, i, k), _product(tensors, best, k + 1, j))


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the cheapest order; see `linalg.multi_dot`.

    >>> import wengert
    >>> a = wengert.ones(2, 2)
    >>> wengert.chain_matmul(a, a, a)
    tensor([[4., 4.],
            [4., 4.]])
    """
    if out is not None:
        return write_out(chain_matmul, out, *matrices)
    if len(matrices) == 1:
        return matrices[0]
    return chain("chain_matmul", matrices)


# Norms

_ORDERS = (1, -1, 2, -2, math.inf, -math.inf)


def _largest(x: Tensor, dim: int, keepdim: bool = False) -> Tensor:
    """The largest magnitude along a dimension; 0 if there are none, as a sum gives."""
    return amax(x, dim, keepdim) if x.shape[dim] else sum(x, dim, keepdim)


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Sequence[int] | None = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of each matrix, given by two dimensions.

    "fro" is the root of the sum of squares and "nuc" the sum of singular values; 2 and -2 are
    the largest and the smallest singular value; 1 and -1 the largest and smallest absolute
    column sum, inf and -inf the same for rows.

    >>> import wengert
    >>> wengert.linalg.matrix_norm(wengert.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("matrix_norm", dim, axis, keepdim, keepdims, (-2, -1))
    if out is not None:
        return write_out(matrix_norm, out, A, ord, dim, keepdim, dtype=dtype)
    name = "linalg.matrix_norm"
    rows, columns = _matrix_dims(name, A, dim)
    if ord == "fro":
        return p_norm(A, 2, (rows, columns), keepdim, dtype)
    if not (ord == "nuc" or (not isinstance(ord, str) and ord in _ORDERS)):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    by_singular_values = ord in ("nuc", 2, -2)
    if by_singular_values:
        check_inexact(name, A)
    if dtype is not None:
        A = A.to(dtype)
    if by_singular_values:
        s = svdvals(movedim(A, (rows, columns), (-2, -1)))
        out = sum(s, -1) if ord == "nuc" else (_largest if ord == 2 else amin)(s, -1)
    else:
        along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)  # type: ignore[arg-type]
        sums = p_norm(A, 1, along, True)
        out = (_largest if ord > 0 else amin)(sums, across, True)  # type: ignore[operator]
        return out if keepdim else out.squeeze((rows, columns))
    if keepdim:
        for d in sorted((rows, columns)):
            out = unsqueeze(out, d)
    return out


def _matrix_dims(name: str, A: Tensor, dim: Sequence[int]) -> Pair:
    require_tensor(name, "A", A)
    if len(A.shape) < 2:
        raise RuntimeError(
            f"{name}: The input tensor A must have at least 2 dimensions, but it has {len(A.shape)}"
        )
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (axis_of(d, len(A.shape)) for d in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return rows, columns


def _reference_shrunk(input: Tensor, p: float, dim: tuple[int, ...], maxnorm: float) -> Tensor:
    large = p_norm(input.detach(), p, dim, True) > maxnorm
    # Slices that are not rescaled do not take part in the derivative.
    norms = p_norm(keep(input, large), p, dim, True)
    return contiguous(input * where(large, maxnorm / (norms + _ABOVE), ones_matching(norms)))


def _shrunk_vjp(g: Value, input: Value, p: float, dim: tuple[int, ...], maxnorm: float) -> Value:
    norms = vector_norm(input, p, dim, True)
    inverse = 1.0 / (norms + _ABOVE)
    along = norm_vjp(sum_over(g * input, dim, True), input, norms, p, dim, True)
    return where(norms > maxnorm, (g - along * inverse) * (inverse * maxnorm), g)


@primitive(
    input=_shrunk_vjp,
    reference=_reference_shrunk,
    label="RenormBackward0",
    name="renorm",
    layout="contiguous",
)
def _shrunk(input: Value, p: float, dim: tuple[int, ...], maxnorm: float) -> Value:
    """The slices over `dim`, scaled down to a norm."""
    norms = kernels.reduction.p_norm(widened(input), p, dim, True)
    factors = np.where(norms > maxnorm, maxnorm / (norms + _ABOVE), norms.dtype.type(1))
    return np.ascontiguousarray(mul(input, factors.astype(input.dtype, copy=False)))


def renorm(
    input: Tensor,
    p: float,
    dim: int = MISSING,
    maxnorm: float = MISSING,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Scale slices along `dim` with a p-norm above `maxnorm` down to it.

    >>> import wengert
    >>> wengert.renorm(wengert.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if axis is not None or dim is MISSING or maxnorm is MISSING:
        dim = either("renorm", "dim", dim, axis, MISSING)
        require_arguments("renorm", dim=dim, maxnorm=maxnorm)
    if out is not None:
        return write_out(renorm, out, input, p, dim, maxnorm)
    require_tensor("renorm", "input", input)
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim}")
    axis = axis_of(dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != axis)
    shrink = _shrunk if input._outline.dtype.kind in "fV" else _reference_shrunk
    return shrink(input, float(p), others, maxnorm)


__all__ = ["chain_matmul", "matrix_exp", "matrix_power", "renorm"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("matrix_exp", "matrix_power", "renorm")
IN_NAMESPACES = ("matrix_norm",)  # `wengert.linalg` publishes it
INPLACE = ("renorm",)
