"""Products of tensors beyond the matrix product: inner, Kronecker and vector products, trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.kernels.axes import axis_of
from wengert.ops import operands
from wengert.ops._older import reordered
from wengert.ops._products import check_expands
from wengert.ops.batching import Batch, batch_along
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear
from wengert.ops.diagonals import diagonal_adjoint, shifted_dims
from wengert.ops.einsum import contract, rearrange
from wengert.ops.matmul import dot, outer
from wengert.ops.numpy_names import either
from wengert.ops.operands import sum_to
from wengert.ops.outputs import write_out
from wengert.ops.shape import reshape, unsqueeze
from wengert.ops.variadic import require_tensor


def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimension of both tensors; a 0-d tensor scales the other.

    >>> import wengert
    >>> a = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wengert.inner(a, a)
    tensor([[ 5., 11.],
            [11., 25.]])
    """
    if out is not None:
        return write_out(inner, out, input, other)
    for position, (argument, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"inner(): argument '{argument}' (position {position}) must be Tensor, not"
                f" {type(x).__name__}"
            )
    a, b = input._outline, other._outline
    if a.ndim == 0 or b.ndim == 0:
        return input * other
    if a.ndim == b.ndim == 1 and a.shape == b.shape and a.dtype == b.dtype:
        return dot(input, other)
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes"
            f" {list(a.shape)} and {list(b.shape)}"
        )
    return tensordot(input, other, ([a.ndim - 1], [b.ndim - 1]))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over pairs of dimensions: a list for each tensor, or a number of them.

    `dims=n` pairs the last n dimensions of `a` with the first n of `b`. If one size
    of a pair is 1, it is broadcast.

    >>> import wengert
    >>> wengert.tensordot(wengert.ones(2, 3), wengert.ones(3, 2), dims=1)
    tensor([[3., 3.],
            [3., 3.]])
    """
    if out is not None:
        return write_out(tensordot, out, a, b, dims)
    require_tensor("tensordot", "a", a)
    require_tensor("tensordot", "b", b, 2)
    x, y = a._outline, b._outline
    pairs_a, pairs_b = _paired(x, y, dims)
    if x.dtype != y.dtype:
        raise RuntimeError(
            "both inputs should have same dtype, but got"
            f" {dtypes.of_numpy[x.dtype]} and {dtypes.of_numpy[y.dtype]}"
        )
    la: list[Any] = [("a", d) for d in range(x.ndim)]
    lb: list[Any] = [("b", d) for d in range(y.ndim)]
    for p, q in zip(pairs_a, pairs_b, strict=True):
        n, m = x.shape[p], y.shape[q]
        if n == m:
            lb[q] = la[p]
        elif 1 not in (n, m):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {p} and"
                f" second has size {m} in dim {q}"
            )
    la_kept = tuple(v for d, v in enumerate(la) if d not in pairs_a or v in lb)
    lb_kept = tuple(v for d, v in enumerate(lb) if d not in pairs_b or v in la)
    lo = tuple(v for d, v in enumerate(la) if d not in pairs_a) + tuple(
        v for d, v in enumerate(lb) if d not in pairs_b
    )
    if len(la_kept) < len(la):
        a = rearrange(a, tuple(la), la_kept)
    if len(lb_kept) < len(lb):
        b = rearrange(b, tuple(lb), lb_kept)
    return contract(a, b, la_kept, lb_kept, lo)


def _paired(a: np.ndarray, b: np.ndarray, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions of each tensor that are summed over."""
    if isinstance(dims, Tensor):
        dims = dims._array.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for"
                f" {a.ndim}-D and {b.ndim}-D tensors"
            )
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    if not isinstance(dims, (tuple, list)) or any(not isinstance(d, (tuple, list)) for d in dims):
        raise TypeError(f"tensordot(): argument 'dims' must be int or two lists, not {dims!r}")
    first, second = dims
    if len(first) != len(second):
        raise RuntimeError(
            f"both dimension lists should have same length, but got {first} and {second}"
        )
    return [axis_of(d, a.ndim) for d in first], [axis_of(d, b.ndim) for d in second]


def _by_factors(g: Value, x: Value, of_first: bool, other: tuple[int, ...]) -> Value:
    """The cotangent of the first or the second factor, whose shape is `other`; `x` is the other."""
    (m, n), (tall, wide) = (other, tuple(x.shape)) if of_first else (tuple(x.shape), other)
    parts = reshape(g, (m, tall, n, wide))
    summed, left = (("k", "l"), ("i", "j")) if of_first else (("i", "j"), ("k", "l"))
    return contract(parts, conj(x), ("i", "k", "j", "l"), summed, left)


def _kron_in_batch(b: Batch) -> Value:
    x, y = b.whole("input"), b.whole("other")
    (m, n), (tall, wide) = b.shape("input"), b.shape("other")
    product = reshape(x, (b.size, m, 1, n, 1)) * reshape(y, (b.size, 1, tall, 1, wide))
    return reshape(product, (b.size, m * tall, n * wide))


@multilinear(
    input=lambda g, other, input_shape: _by_factors(g, other, True, input_shape),
    other=lambda g, input, other_shape: _by_factors(g, input, False, other_shape),
    batch=_kron_in_batch,
    name="kron",
)
def _kron(input: Value, other: Value) -> Value:
    """Of two matrices."""
    return kernels.kron.kron(input, other)


def _in_rows(x: Tensor) -> bool:
    return isinstance(x, Tracer) or x._outline.flags.c_contiguous


def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Kronecker product: each element of `input` replaced by the product of it and `other`.

    >>> import wengert
    >>> wengert.kron(wengert.tensor([1.0, 10.0]), wengert.tensor([1.0, 2.0]))
    tensor([ 1.,  2., 10., 20.])
    """
    if out is not None:
        return write_out(kron, out, input, other)
    require_tensor("kron", "input", input)
    require_tensor("kron", "other", other, 2)
    a, b = input._outline.shape, other._outline.shape
    if len(a) == len(b) == 2 and _in_rows(input) and _in_rows(other):
        return _kron(input, other)
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    x = input.reshape(tuple(n for pair in zip(a, (1,) * rank, strict=True) for n in pair))
    y = other.reshape(tuple(n for pair in zip((1,) * rank, b, strict=True) for n in pair))
    return (x * y).reshape(tuple(n * m for n, m in zip(a, b, strict=True)))


@multilinear(
    input=lambda g, other, input_shape, dim: sum_to(_cross(conj(other), g, dim), input_shape),
    other=lambda g, input, other_shape, dim: sum_to(_cross(g, conj(input), dim), other_shape),
    batch=batch_along("dim"),
    label="LinalgCrossBackward0",
    layout="contiguous",
)
def _cross(input: Value, other: Value, dim: int) -> Value:
    return kernels.cross.cross(input, other, dim % input.ndim)


def cross(
    input: Tensor,
    other: Tensor,
    dim: int | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Vector product along `dim`, of length 3; the others broadcast.

    Without `dim` it is the first of length 3, which is deprecated.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 0.0, 0.0])
    >>> wengert.cross(x, wengert.tensor([0.0, 1.0, 0.0]), dim=0)
    tensor([0., 0., 1.])
    """
    if axis is not None:
        dim = either("cross", "dim", dim, axis, None)
    if out is not None:
        return write_out(cross, out, input, other, dim)
    require_tensor("cross", "input", input)
    require_tensor("cross", "other", other, 2)
    a, b = input._outline.shape, other._outline.shape
    if len(a) != len(b):
        raise RuntimeError(
            "linalg.cross: inputs must have the same number of dimensions, but got shapes"
            f" {list(a)} and {list(b)}"
        )
    if dim is None:
        if 3 not in a:
            raise RuntimeError(f"no dimension of size 3 in input of shape {list(a)}")
        dim = a.index(3)
        warn(
            "Using torch.cross without specifying the dim arg is deprecated: pass dim, or use"
            " linalg.cross."
        )
    axis = axis_of(dim, len(a))
    if not a or a[axis] != 3 or b[axis] != 3:
        n, m = (a[axis], b[axis]) if a else (1, 1)
        raise RuntimeError(
            f"linalg.cross: inputs dimension {axis} must have length 3. Got {n} and {m}"
        )
    if a != b:
        try:
            np.broadcast_shapes(a, b)
        except ValueError:
            raise RuntimeError(operands._broadcast_message("cross", [a, b])) from None
    return _cross(input, other, axis)


def _trace_vjp(g: Value, input_shape: tuple[int, ...], dim1: int, dim2: int) -> Value:
    size = min(input_shape[dim1], input_shape[dim2])
    every = expand(unsqueeze(g, -1), (*g.shape, size))
    return diagonal_adjoint(every, input_shape, 0, dim1, dim2)


@multilinear(
    input=_trace_vjp,
    batch=lambda b: b(**shifted_dims(b, b.rank("input"))),
    label="TraceBackward0",
    name="trace",
)
def _trace(input: Value, dim1: int, dim2: int) -> Value:
    return kernels.reduction.total(input.diagonal(0, dim1, dim2), -1)


def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix; integers give int64.

    >>> import wengert
    >>> wengert.trace(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """
    require_tensor("trace", "input", input)
    if not isinstance(input, Tensor):
        input = wrap(np.asarray(input))
    if input._outline.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return _trace(input, 0, 1) if input._outline.dtype.kind in "fcV" else input.diagonal().sum()


def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *older: Any,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2).

    >>> import wengert
    >>> wengert.addr(wengert.ones(2), wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor([[4., 5.],
            [7., 9.]])
    """
    if out is not None:
        return write_out(addr, out, input, vec1, vec2, *older, beta=beta, alpha=alpha)
    if older:
        return reordered(addr, (input, vec1, vec2, *older), {"beta": beta, "alpha": alpha})
    for position, (name, x) in enumerate((("input", input), ("vec1", vec1), ("vec2", vec2)), 1):
        require_tensor("addr", name, x, position)
    common = dtypes.of_numpy[input._outline.dtype]
    for x in (vec1, vec2):
        common = dtypes.promote_types(common, dtypes.of_numpy[x._outline.dtype])
    beta, alpha = (_factor(n, x, common) for n, x in (("beta", beta), ("alpha", alpha)))
    product: Tensor = operands.cast(outer(vec1, vec2), common.np)
    check_expands(input._array, product._outline.shape)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    term = operands.cast(input, common.np)
    result: Tensor = (term if beta == 1 else term * beta) + product
    return result


def _factor(name: str, factor: complex, common: dtypes.dtype) -> Any:
    """A factor of `addr`, as its dtype takes it."""
    if isinstance(factor, bool) and common is not dtypes.bool_:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    if isinstance(factor, float) and common.category < dtypes.FLOAT:
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number."
        )
    if isinstance(factor, complex) and common.category < dtypes.COMPLEX:
        raise RuntimeError(
            f"value cannot be converted to type {common.short} without overflow: {name}={factor}"
        )
    return bool(factor) if common is dtypes.bool_ else factor


__all__ = ["addr", "cross", "inner", "kron", "tensordot", "trace"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(n for n in __all__ if n != "tensordot")
INPLACE = ("addr",)
