"""Matrix products of every rank, with and without an added term."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.forks import hold_forks
from wengert.core.tensor import Tensor
from wengert.kernels.precision import widened
from wengert.kernels.products import matmul as kernel
from wengert.ops import operands
from wengert.ops._older import reordered
from wengert.ops._products import (
    add_right_gradient,
    cannot_multiply,
    check_dtypes,
    check_expands,
    check_matrices,
    check_tensors,
    in_batches,
    left_vjp,
    right_vjp,
    samples,
    usual_product,
    with_vector,
)
from wengert.ops.batching import Batch
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.einsum import contracted, rearrange
from wengert.ops.operands import sum_to
from wengert.ops.outputs import write_out
from wengert.ops.shape import reshape
from wengert.ops.variadic import require_tensor

Shape = tuple[int, ...]


def _matmul_left(g: Value, other: Value, input_shape: Shape) -> Value:
    if len(input_shape) > 1 and other.ndim > 1:
        return left_vjp(g, other, input_shape)
    g, other = _column(g, other)
    if len(input_shape) > 1:
        return left_vjp(g, other, input_shape)
    g = g.reshape((*g.shape[:-1], 1, g.shape[-1]))
    return left_vjp(g, other, (1, *input_shape)).reshape(input_shape)


def _matmul_right(g: Value, input: Value, other_shape: Shape) -> Value:
    vector = len(other_shape) == 1
    if vector:
        g = g.reshape((*g.shape, 1))
    if input.ndim == 1:
        g = g.reshape((*g.shape[:-1], 1, g.shape[-1]))
        input = input.reshape((1, -1))
    if vector:
        return right_vjp(g, input, (*other_shape, 1)).reshape(other_shape)
    return right_vjp(g, input, other_shape)


def _column(g: Value, other: Value) -> tuple[Value, Value]:
    """A right-hand vector as a one-column matrix, and the matching cotangent."""
    if other.ndim > 1:
        return g, other
    return g.reshape((*g.shape, 1)), other.reshape((-1, 1))


def _matmul_in_batch(b: Batch) -> Any:
    x, y = samples(b)
    _check_matmul(x, y)
    if x.ndim > 1 < y.ndim:
        try:
            return _MATRICES(b)
        except ValueError:
            raise _no_broadcast(x.shape, y.shape) from None
    lead = range(2 - max(x.ndim, y.ndim, 2), 0)
    la = ("k",) if x.ndim == 1 else (*lead, "n", "k")
    lb = ("k",) if y.ndim == 1 else (*lead, "k", "m")
    return contracted(b, la, lb, (*lead, *"n" * (x.ndim > 1), *"m" * (y.ndim > 1)))


_MATRICES = in_batches("nk", "km")


@multilinear(
    accumulate={"other": add_right_gradient},
    mixed=False,
    batch=_matmul_in_batch,
    input=_matmul_left,
    other=_matmul_right,
    layout="contiguous",
)
def matmul(input: Value, other: Value) -> Value:
    """Matrix product over the last two dimensions; the leading ones broadcast.

    A 1-D tensor is a row on the left and a column on the right, and its dimension is dropped
    from the result. Both tensors must have the same dtype.

    >>> import wengert
    >>> a = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> a @ a
    tensor([[ 7., 10.],
            [15., 22.]])
    """
    if (out := usual_product(input, other)) is not None:
        return out
    _check_matmul(input, other)
    if input.ndim > 1 < other.ndim:
        try:
            return kernel.product(input, other)
        except ValueError:
            raise _no_broadcast(input.shape, other.shape) from None
    return with_vector(input, other)


def _check_matmul(input: np.ndarray, other: np.ndarray) -> None:
    check_tensors("matmul", input=input, other=other)
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are"
            f" {input.ndim}D and {other.ndim}D"
        )
    check_dtypes(input, other)
    if input.shape[-1] != other.shape[-2 if other.ndim > 1 else 0]:
        raise _mismatch(input.shape, other.shape)


def _no_broadcast(a: Shape, b: Shape) -> RuntimeError:
    return RuntimeError(operands._broadcast_message("matmul", [a[:-2], b[:-2]]))


def _mismatch(a: Shape, b: Shape) -> RuntimeError:
    if len(a) == len(b) == 1:
        return RuntimeError(
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same"
            f" number of elements, but got {a[0]} and {b[0]} elements respectively"
        )
    if len(b) == 1:
        return RuntimeError(
            f"size mismatch, got input ({a[-2]}), mat ({'x'.join(map(str, a))}), vec ({b[0]})"
        )
    return cannot_multiply((1, *a) if len(a) == 1 else a, b)


def _mm_in_batch(b: Batch) -> Any:
    _check_mm(*samples(b))
    return contracted(b, ("n", "k"), ("k", "m"), ("n", "m"))


@multilinear(
    mixed=False,
    batch=_mm_in_batch,
    input=lambda g, mat2, input_shape: left_vjp(g, mat2, input_shape),
    mat2=lambda g, input, mat2_shape: right_vjp(g, input, mat2_shape),
    accumulate={"mat2": add_right_gradient},
    layout="contiguous",
)
def mm(input: Value, mat2: Value) -> Value:
    """Product of two matrices of the same dtype.

    >>> import wengert
    >>> wengert.mm(wengert.tensor([[1.0, 2.0]]), wengert.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    if (out := usual_product(input, mat2)) is not None and out.ndim == 2:
        return out
    _check_mm(input, mat2)
    return kernel.product(input, mat2)


def _check_mm(input: np.ndarray, mat2: np.ndarray) -> None:
    check_tensors("mm", input=input, mat2=mat2)
    for name, array in (("self", input), ("mat2", mat2)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, not {array.ndim}-D, in mm()")
    check_dtypes(input, mat2)
    check_matrices(input, mat2)


def _bmm_in_batch(b: Batch) -> Any:
    _check_bmm(*samples(b))
    return contracted(b, ("b", "n", "k"), ("b", "k", "m"), ("b", "n", "m"))


@multilinear(
    mixed=False,
    batch=_bmm_in_batch,
    input=lambda g, mat2, input_shape: left_vjp(g, mat2, input_shape),
    mat2=lambda g, input, mat2_shape: right_vjp(g, input, mat2_shape),
    layout="contiguous",
)
def bmm(input: Value, mat2: Value) -> Value:
    """Products of the matrices of two batches of equal length.

    >>> import wengert
    >>> wengert.bmm(wengert.tensor([[[1.0, 2.0]]]), wengert.tensor([[[3.0], [4.0]]]))
    tensor([[[11.]]])
    """
    _check_bmm(input, mat2)
    return kernel.product(input, mat2)


def _check_bmm(input: np.ndarray, mat2: np.ndarray) -> None:
    check_tensors("bmm", input=input, mat2=mat2)
    for name, array in (("batch1", input), ("batch2", mat2)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, not {array.ndim}D, in bmm()")
    check_dtypes(input, mat2)
    batch, _, inner = input.shape
    if mat2.shape[:2] != (batch, inner):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}]"
            f" but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )


def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of a matrix and a vector.

    >>> import wengert
    >>> wengert.mv(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]), wengert.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if out is not None:
        return write_out(mv, out, input, vec)
    _check_ranks("mv", (("input", input, 2), ("vec", vec, 1)))
    return matmul(input, vec)


def _check_ranks(name: str, arguments: tuple[tuple[str, Any, int], ...]) -> None:
    for position, (argument, x, rank) in enumerate(arguments, 1):
        require_tensor(name, argument, x, position)
        if x.ndim != rank:
            raise RuntimeError(
                f"{name}(): Expected {rank}-D argument {argument}, but got {x.ndim}-D"
            )


def _check_dot(name: str, input: np.ndarray, other: np.ndarray) -> None:
    check_tensors(name, input=input, tensor=other)
    if input.ndim != 1 or other.ndim != 1:
        raise RuntimeError(
            f"1D tensors expected, but got {input.ndim}D and {other.ndim}D tensors in {name}()"
        )
    if input.dtype != other.dtype:
        a, b = (dtypes.of_numpy[x.dtype].short for x in (input, other))
        raise RuntimeError(
            f"{name} : expected both vectors to have same dtype, but found {a} and {b}"
        )
    if input.dtype.kind == "b":
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    if input.shape != other.shape:
        raise _mismatch(input.shape, other.shape)


def _dot_in_batch(b: Batch) -> Any:
    _check_dot("dot", *samples(b))
    return contracted(b, ("k",), ("k",), ())


@multilinear(
    mixed=False,
    batch=_dot_in_batch,
    input=lambda g, tensor: g * conj(tensor),
    tensor=lambda g, input: g * conj(input),
)
def dot(input: Value, tensor: Value) -> Value:
    """Sum of the products of two 1-D tensors of equal length and dtype.

    >>> import wengert
    >>> wengert.dot(wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor(11.)
    """
    _check_dot("dot", input, tensor)
    with hold_forks():
        out = widened(input).dot(widened(tensor))
    return out if out.dtype == input.dtype else out.astype(input.dtype)


def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """As `dot`, with the conjugate of the first tensor.

    >>> import wengert
    >>> wengert.vdot(wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if out is not None:
        return write_out(vdot, out, input, other)
    require_tensor("vdot", "input", input)
    return dot(conj(input), other)


def _outer_in_batch(b: Batch) -> Any:
    _check_vectors(*samples(b))
    return contracted(b, ("n",), ("m",), ("n", "m"))


@multilinear(
    batch=_outer_in_batch,
    input=lambda g, vec2: matmul(g, conj(vec2)),
    vec2=lambda g, input: matmul(conj(input), g),
    label="MulBackward0",
)
def outer(input: Value, vec2: Value) -> Value:
    """Products of each element of one 1-D tensor with each of another.

    >>> import wengert
    >>> wengert.outer(wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    _check_vectors(input, vec2)
    return kernels.kron.outer(input, vec2)


def _check_vectors(input: np.ndarray, vec2: np.ndarray) -> None:
    check_tensors("outer", input=input, vec2=vec2)
    for name, array in (("self", input), ("vec2", vec2)):
        if array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {array.ndim}-D")


def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `outer`.

    >>> import wengert
    >>> wengert.ger(wengert.tensor([1.0]), wengert.tensor([3.0, 4.0]))
    tensor([[3., 4.]])
    """
    if out is not None:
        return write_out(ger, out, input, vec2)
    return outer(input, vec2)


def _scaled(g: Value, factor: float) -> Value:
    return g if factor == 1 else g * factor


def _sum_in_batch(b: Batch, product: Value) -> Any:
    """beta * input + alpha * product, where the product has the batch first."""
    x, _, y = samples(b)
    _check_dtypes_of_sum(x, y)
    check_expands(x, tuple(product.shape[1:]))
    alpha, beta = (_factor(b.params[name], x.dtype) for name in ("alpha", "beta"))
    product = _scaled(product, alpha)
    if beta == 0:
        return product
    term = b.values["input"]
    if "input" in b.batched:
        term = reshape(term, (b.size, *(1,) * (len(product.shape) - 1 - x.ndim), *x.shape))
    return _scaled(term, beta) + product


def _factor(factor: float, dtype: np.dtype) -> float:
    # Integers use the integer part of the factor, as in PyTorch.
    return int(factor) if dtype.kind in "iu" else factor


def _sum_jvp(
    product: Any, t: Value, tangents: tuple[Value, Value], factors: tuple[Value, Value],
    out: Value, beta: float, alpha: float,
) -> Value:  # fmt: skip
    """The tangent of beta * input + alpha * product; any of the tangents may be None."""
    (t1, t2), (a, b) = tangents, factors
    products = [None if t1 is None else product(t1, b), None if t2 is None else product(a, t2)]
    terms = [_scaled(p, alpha) for p in products if p is not None]
    if t is not None and (beta != 0 or not terms):
        terms.append(expand(_scaled(t, beta), tuple(out.shape)))
    return terms[0] if len(terms) == 1 else sum(terms[1:], terms[0])


def _addmm_in_batch(b: Batch) -> Any:
    _check_addmm(*samples(b))
    return _sum_in_batch(b, contracted(b, ("n", "k"), ("k", "m"), ("n", "m"), 1))


@primitive(
    mixed=False,
    batch=_addmm_in_batch,
    older=("beta", "alpha"),
    jvp=lambda t, t1, t2, mat1, mat2, out, alpha, beta: _sum_jvp(
        mm, t, (t1, t2), (mat1, mat2), out, beta, alpha
    ),
    input=lambda g, input_shape, beta: sum_to(_scaled(g, beta.conjugate()), input_shape),
    mat1=lambda g, mat2, mat1_shape, alpha: _scaled(
        left_vjp(g, mat2, mat1_shape), alpha.conjugate()
    ),
    mat2=lambda g, mat1, mat2_shape, alpha: _scaled(
        right_vjp(g, mat1, mat2_shape), alpha.conjugate()
    ),
)
def addmm(input: Value, mat1: Value, mat2: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    """beta * input + alpha * (mat1 @ mat2); `input` broadcasts, and beta=0 leaves it out.

    >>> import wengert
    >>> a = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wengert.addmm(wengert.tensor([1.0, 1.0]), a, a)
    tensor([[ 8., 11.],
            [16., 23.]])
    """
    _check_addmm(input, mat1, mat2)
    return _plus_product(input, mat1, mat2, beta, alpha)


def _check_addmm(input: np.ndarray, mat1: np.ndarray, mat2: np.ndarray) -> None:
    check_tensors("addmm", input=input, mat1=mat1, mat2=mat2)
    for name, array in (("mat1", mat1), ("mat2", mat2)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {array.ndim}-D tensor")
    check_matrices(mat1, mat2)
    check_dtypes(mat1, mat2)


def _plus_product(
    input: np.ndarray, a: np.ndarray, b: np.ndarray, beta: float, alpha: float
) -> np.ndarray:
    _check_dtypes_of_sum(input, b)
    check_expands(input, (*a.shape[:-1], b.shape[-1]))
    out = kernel.plus_product(widened(input), widened(a), widened(b), beta, alpha)
    return out.astype(input.dtype, copy=False)


def _check_dtypes_of_sum(input: np.ndarray, b: np.ndarray) -> None:
    if input.dtype != b.dtype:
        names = (dtypes.of_numpy[x.dtype].short for x in (input, b))
        raise RuntimeError(
            "self and mat2 must have the same dtype, but got {} and {}".format(*names)
        )


def _baddbmm_in_batch(b: Batch) -> Any:
    _check_baddbmm(*samples(b))
    return _sum_in_batch(b, contracted(b, ("b", "n", "k"), ("b", "k", "m"), ("b", "n", "m"), 1))


@primitive(
    mixed=False,
    batch=_baddbmm_in_batch,
    older=("beta", "alpha"),
    jvp=lambda t, t1, t2, batch1, batch2, out, alpha, beta: _sum_jvp(
        bmm, t, (t1, t2), (batch1, batch2), out, beta, alpha
    ),
    input=lambda g, input_shape, beta: sum_to(_scaled(g, beta.conjugate()), input_shape),
    batch1=lambda g, batch2, batch1_shape, alpha: _scaled(
        left_vjp(g, batch2, batch1_shape), alpha.conjugate()
    ),
    batch2=lambda g, batch1, batch2_shape, alpha: _scaled(
        right_vjp(g, batch1, batch2_shape), alpha.conjugate()
    ),
)
def baddbmm(
    input: Value, batch1: Value, batch2: Value, *, beta: float = 1, alpha: float = 1
) -> Value:
    """beta * input + alpha * bmm(batch1, batch2); `input` broadcasts, beta=0 leaves it out.

    >>> import wengert
    >>> a = wengert.tensor([[[1.0, 2.0]]])
    >>> wengert.baddbmm(wengert.tensor([1.0]), a, wengert.tensor([[[3.0], [4.0]]]), beta=2)
    tensor([[[13.]]])
    """
    _check_baddbmm(input, batch1, batch2)
    return _plus_product(input, batch1, batch2, beta, alpha)


def _check_baddbmm(input: np.ndarray, batch1: np.ndarray, batch2: np.ndarray) -> None:
    check_tensors("baddbmm", input=input, batch1=batch1, batch2=batch2)
    _check_batches("baddbmm", batch1, batch2)
    check_dtypes(batch1, batch2)


def _check_batches(name: str, batch1: np.ndarray, batch2: np.ndarray) -> None:
    for argument, array in (("batch1", batch1), ("batch2", batch2)):
        if array.ndim != 3:
            raise IndexError(
                f"Dimension out of range: {name}() expects argument '{argument}' to be a 3-D"
                f" tensor, but got {array.ndim}-D"
            )
    batch, _, inner = batch1.shape
    if batch2.shape[:2] != (batch, inner):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}]"
            f" but got: [{batch2.shape[0]}, {batch2.shape[1]}]."
        )


def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *older: Any,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (the sum of the products of the matrices of two batches).

    >>> import wengert
    >>> a = wengert.ones(2, 1, 3)
    >>> wengert.addbmm(wengert.zeros(1, 1), a, wengert.ones(2, 3, 1))
    tensor([[6.]])
    """
    if out is not None:
        return write_out(addbmm, out, input, batch1, batch2, *older, beta=beta, alpha=alpha)
    if older:
        return reordered(addbmm, (input, batch1, batch2, *older), {"beta": beta, "alpha": alpha})
    for x in (batch1, batch2):
        if not isinstance(x, Tensor):
            raise TypeError(f"addbmm(): batches must be Tensor, not {type(x).__name__}")
    _check_batches("addbmm", batch1._array, batch2._array)
    # One product: the sum over the batch is one more dimension to contract.
    b, n, m = batch1._outline.shape
    side_by_side = rearrange(batch1, ("b", "n", "m"), ("n", "b", "m")).reshape((n, b * m))
    return addmm(input, side_by_side, batch2.reshape((b * m, -1)), beta=beta, alpha=alpha)


# What is computed in its own dtype.
_FULL = {np.dtype(np.float32), np.dtype(np.float64)}


def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *older: Any,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    >>> import wengert
    >>> a = wengert.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> wengert.addmv(wengert.tensor([1.0, 1.0]), a, wengert.tensor([1.0, 1.0]))
    tensor([4., 8.])
    """
    if out is not None:
        return write_out(addmv, out, input, mat, vec, *older, beta=beta, alpha=alpha)
    if older:
        return reordered(addmv, (input, mat, vec, *older), {"beta": beta, "alpha": alpha})
    require_tensor("addmv", "input", input)
    _check_ranks("addmv", (("mat", mat, 2), ("vec", vec, 1)))
    n, m = mat.shape
    if vec._outline.size != m or input._outline.shape not in ((n,), (1,), ()):
        raise RuntimeError(
            f"size mismatch, got input ({input._outline.size}), mat ({n}x{m}), vec"
            f" ({vec._outline.size})"
        )
    kinds = {x._outline.dtype for x in (input, mat, vec)}
    if alpha == 1 and beta == 1 and len(kinds) == 1 and kinds <= _FULL:
        return input + matmul(mat, vec)  # with no more roundings than at once
    column = input.reshape((-1, 1))
    return addmm(column, mat, vec.reshape((-1, 1)), beta=beta, alpha=alpha).reshape((n,))


__all__ = [
    "addbmm", "addmm", "addmv", "baddbmm", "bmm", "dot", "ger", "matmul", "mm", "mv",
    "outer", "vdot",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE = ("addbmm", "addmm", "addmv", "baddbmm")
