"""Helpers of matrix operations: checks, errors, and several results in one array."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.dtypes import COMPLEX, FLOAT, of_numpy
from wengert.core.tensor import Tensor, concrete, mode, wrap
from wengert.ops.batching import leading
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import conj, real
from wengert.ops.declare import Value, multilinear
from wengert.ops.diagonals import diag_embed, diagonal
from wengert.ops.masking import where
from wengert.ops.matmul import matmul
from wengert.ops.shape import contiguous, dtype_of, transpose, unsqueeze
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.products.factorizations import Info

Shape = tuple[int, ...]


class LinAlgError(RuntimeError):
    """Raised for a matrix without the requested result, such as the inverse of a singular one."""


def check_matrix(name: str, A: Tensor, argument: str = "A") -> None:
    """Raise unless `A` is a tensor of matrices."""
    require_tensor(name, argument, A)
    if len(A.shape) < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions, but it has"
            f" {len(A.shape)}"
        )


def is_recorded(A: Tensor) -> bool:
    """Whether what is computed of a tensor, which no transform follows, may be differentiated."""
    return type(A) in concrete and A._edge is not None and mode.site is not None


def check_square(name: str, A: Tensor, argument: str = "A") -> None:
    """Raise unless `A` is a tensor of square matrices."""
    check_matrix(name, A, argument)
    m, n = A.shape[-2:]
    if m != n:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {m} by {n}"
            " matrices"
        )


def check_inexact(name: str, A: Tensor, half: str | None = None) -> None:
    """Raise unless LAPACK supports the dtype.

    `half` is the operation's name in PyTorch's message for half precision, if that is a
    NotImplementedError.
    """
    kind = of_numpy[dtype_of(A)]
    if kind.category < FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {kind.short}"
        )
    if kind.np.itemsize < (4 if kind.category < COMPLEX else 8):
        if half is not None:
            raise NotImplementedError(f"\"{half}\" not implemented for '{kind.short}'")
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {kind.short}")


def check_same_dtype(name: str, a: Tensor, b: Tensor, called: str = "A and B") -> None:
    """Raise unless two tensors have one dtype."""
    kinds = [of_numpy[dtype_of(x)].short for x in (a, b)]
    if kinds[0] != kinds[1]:
        raise RuntimeError(
            f"{name}: Expected {called} to have the same dtype, but found {kinds[0]} and"
            f" {kinds[1]} instead"
        )


def refuse(name: str, info: Info, text: str) -> None:
    """Raise LinAlgError if LAPACK's codes say that a matrix failed; `{}` in text is its code."""
    if info is None or not info.any():
        return
    first = int(np.flatnonzero(info)[0])
    element = f"(Batch element {first}): " if info.ndim else ""
    raise LinAlgError(f"{name}: {element}{text.format(info.flat[first])}")


SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input"
    " matrix is singular."
)


def broadcast_lead(name: str, *shapes: Sequence[int]) -> Shape:
    """The leading dimensions that matrices of these shapes have in common."""
    try:
        return np.broadcast_shapes(*(tuple(s[:-2]) for s in shapes))
    except ValueError:
        listed = " and ".join(str(list(s)) for s in shapes)
        raise RuntimeError(
            f"{name}: the batch dimensions of tensors of shapes {listed} do not broadcast"
        ) from None


def mH(x: Value) -> Value:
    """The conjugate transpose of each matrix."""
    return conj(transpose(x, -2, -1))


def diagonals(x: Value) -> Value:
    """The diagonal of each matrix."""
    return diagonal(x, 0, -2, -1)


def times(*factors: Value) -> Value:
    """The product of matrices, multiplied left to right."""
    product = factors[0]
    for factor in factors[1:]:
        product = matmul(product, factor)
    return product


def halved_diagonal(x: Value) -> Value:
    """Each matrix with half its diagonal."""
    return x - diag_embed(diagonals(x)) * 0.5


def identity(n: int, like: Value) -> np.ndarray:
    """The identity in the dtype of `like`."""
    return np.eye(n, dtype=dtype_of(like))


def instead(constant: np.ndarray, x: Tensor) -> Tensor:
    """A constant in the shape of `x`, recorded as a function of `x` with derivative 0."""
    return where(wrap(np.ones((), bool)), constant, x)


def without_diagonal(x: Value) -> Value:
    """Each matrix with zeros on its diagonal."""
    return x - diag_embed(diagonals(x))


def differences(values: Value) -> Value:
    """values[j] - values[i] at [i, j], and 1 on the diagonal."""
    gaps = unsqueeze(values, -2) - unsqueeze(values, -1)
    return gaps + identity(values.shape[-1], values)


def by_columns(x: Tensor) -> Tensor:
    """The same matrices, with each column's elements side by side in memory."""
    return transpose(contiguous(transpose(x, -2, -1)), -2, -1)


def real_part(x: Value) -> Value:
    """The real part of values that are real, though stored as complex."""
    return contiguous(real(x)) if isinstance(x, Tensor) else real(x)


def per_matrix(x: Value) -> Value:
    """A number per matrix, shaped to multiply the matrices."""
    return unsqueeze(unsqueeze(x, -1), -1)


def led(x: Tensor, lead: Shape) -> Tensor:
    """Matrices expanded to these leading dimensions."""
    return x if tuple(x.shape[:-2]) == lead else expand(x, (*lead, *x.shape[-2:]))


# A decomposition has several results, whose derivatives share one formula. It is an operation
# with one output, in which they are concatenated along the last dimension: one node, one
# rule, and batches and forward mode follow. `split_outputs` splits it.


def joined(lead: Shape, *results: np.ndarray) -> np.ndarray:
    """The results of a decomposition in one array."""
    return np.concatenate([r.reshape(*lead, prod(r.shape[len(lead) :])) for r in results], -1)


def split_outputs(whole: Value, *shapes: Shape) -> list[Value]:
    """Split the output of a decomposition into results of these shapes."""
    found, start = [], 0
    for shape in shapes:
        found.append(_part(whole, start, shape))
        start += prod(shape)
    return found


@multilinear(
    whole=lambda g, whole_shape, start, shape: _placed(g, start, len(shape), whole_shape[-1]),
    batch=leading,
    name="linalg",
)
def _part(whole: Value, start: int, shape: Shape) -> Value:
    """Copy out one of the results; matrices keep LAPACK's column-major layout."""
    found = whole[..., start : start + prod(shape)].reshape((*whole.shape[:-1], *shape))
    return found.copy() if len(shape) < 2 else found.swapaxes(-1, -2).copy().swapaxes(-1, -2)


@multilinear(
    g=lambda g, g_shape, start, rank: _part(g, start, tuple(g_shape[len(g_shape) - rank :])),
    batch=leading,
    name="linalg_backward",
)
def _placed(g: Value, start: int, rank: int, length: int) -> Value:
    """Zeros, except for one of the results."""
    lead, shape = g.shape[: g.ndim - rank], g.shape[g.ndim - rank :]
    out: Any = np.zeros((*lead, length), g.dtype)
    out[..., start : start + prod(shape)] = g.reshape((*lead, prod(shape)))
    return out
