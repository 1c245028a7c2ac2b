"""Operations: diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.device import default_device
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.axes import axis_of
from wengert.ops.batching import Batch, leading
from wengert.ops.declare import Value, multilinear
from wengert.ops.outputs import write_out
from wengert.ops.shape import clone, reshape
from wengert.ops.variadic import require_tensor


def shifted_dims(b: Batch, rank: int) -> dict[str, int]:
    """Both dimensions of a matrix of that rank, shifted for a batch."""
    return {name: axis_of(b.params[name], rank) + 1 for name in ("dim1", "dim2")}


@multilinear(
    input=lambda g, input_shape, offset, dim1, dim2: diagonal_adjoint(
        g, input_shape, offset, dim1, dim2
    ),
    view=True,
    batch=lambda b: b(**shifted_dims(b, b.rank("input"))),
)
def diagonal(input: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    """The diagonal over two dimensions as a view; it becomes the last dimension.

    A positive offset means above the main diagonal.

    >>> import wengert
    >>> wengert.diagonal(wengert.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    a, b = axis_of(dim1, input.ndim), axis_of(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    out = input.diagonal(offset, a, b)
    out.flags.writeable = input.flags.writeable
    return out


@multilinear(
    g=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    batch=lambda b: b(
        shape=(b.size, *b.params["shape"]), **shifted_dims(b, len(b.params["shape"]))
    ),
    name="diagonal_backward",
)
def diagonal_adjoint(g: Value, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Value:
    """Zeros with `g` on the diagonal."""
    out = np.zeros(shape, g.dtype)
    diagonal(out, offset, dim1, dim2)[...] = g
    return out


@multilinear(
    input=lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2),
    batch=lambda b: b(**shifted_dims(b, b.rank("input") + 1)),
    layout="contiguous",
)
def diag_embed(input: Value, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """Matrices with the input's last dimension on their diagonals, zero elsewhere.

    >>> import wengert
    >>> wengert.diag_embed(wengert.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    rank = input.ndim + 1
    a, b = axis_of(dim1, rank), axis_of(dim2, rank)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    n = input.shape[-1] + abs(offset)
    out = np.zeros((*input.shape[:-1], n, n), input.dtype)
    diagonal(out, offset, rank - 2, rank - 1)[...] = input
    return out if (a, b) == (rank - 2, rank - 1) else np.moveaxis(out, (-2, -1), (a, b))


def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """The diagonal of a matrix as a vector, or a matrix with a vector as its diagonal.

    >>> import wengert
    >>> wengert.diag(wengert.tensor([1, 2]), 1)
    tensor([[0, 1, 0],
            [0, 0, 2],
            [0, 0, 0]])
    """
    if out is not None:
        return write_out(diag, out, input, diagonal)
    require_tensor("diag", "input", input)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diag_embed(input, diagonal) if input.ndim == 1 else _diagonal_copy(input, diagonal)


@multilinear(
    input=lambda g, input_shape, offset: diagonal_adjoint(g, input_shape, offset, 0, 1),
    batch=lambda b: clone(diagonal(b.values["input"], b.params["offset"], 1, 2)),
    label="DiagonalBackward0",
    name="diag",
)
def _diagonal_copy(input: Value, offset: int) -> Value:
    return input.diagonal(offset).copy()


def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of the input, in flat order, as its diagonal.

    >>> import wengert
    >>> wengert.diagflat(wengert.tensor([[1], [2]]))
    tensor([[1, 0],
            [0, 2]])
    """
    return diag_embed(reshape(input, (-1,)), offset)


def _check_matrix(name: str, rank: int) -> None:
    if rank < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions, got {rank}")


def _matrices(b: Batch) -> Value:
    _check_matrix(b.op.public_name, b.rank("input"))
    return leading(b)


@multilinear(input=lambda g, diagonal: tril(g, diagonal), batch=_matrices, layout="contiguous")
def tril(input: Value, diagonal: int = 0) -> Value:
    """The lower triangle of each matrix, up to a diagonal; zeros above.

    >>> import wengert
    >>> wengert.tril(wengert.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    _check_matrix("tril", input.ndim)
    return kernels.blocks.triangles(input, diagonal, upper=False)


@multilinear(input=lambda g, diagonal: triu(g, diagonal), batch=_matrices, layout="contiguous")
def triu(input: Value, diagonal: int = 0) -> Value:
    """The upper triangle of each matrix, from a diagonal on; zeros below.

    >>> import wengert
    >>> wengert.triu(wengert.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    _check_matrix("triu", input.ndim)
    return kernels.blocks.triangles(input, diagonal, upper=True)


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, **options: Any
) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, as a tensor of shape (2, n).

    >>> import wengert
    >>> wengert.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    _check_sizes("tril_indices", row, col)
    return _indices("tril_indices", row, col, offset, dtype, options.get("device"))


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64, **options: Any
) -> Tensor:
    """Rows and columns of the upper triangle of a matrix, as a tensor of shape (2, n).

    >>> import wengert
    >>> wengert.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    _check_sizes("triu_indices", row, col)
    return _indices("triu_indices", row, col, offset, dtype, options.get("device"))


def _check_sizes(name: str, row: int, col: int) -> None:
    for what, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{what} must be non-negative, got {n} in {name}()")


def _indices(name: str, row: int, col: int, offset: int, dtype: Any, device: Any) -> Tensor:
    """Rows and columns of a triangle."""
    dtype = dtype or dtypes.int64
    if dtype.category != dtypes.INT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.short}'")
    places = kernels.blocks.places_of_triangle(row, col, offset, name == "triu_indices")
    indices = places.astype(dtype.np, copy=False)
    result = wrap(indices)
    if device is None and default_device.meta:
        device = "meta"
    return result if device is None else result.to(device)


__all__ = [
    "diag", "diag_embed", "diagflat", "diagonal", "tril", "tril_indices", "triu", "triu_indices",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("diag", "diag_embed", "diagflat", "diagonal", "tril", "triu")
INPLACE = ("tril", "triu")
