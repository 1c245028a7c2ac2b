"""Operations: picking elements by index tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy
from wengert.core.outline import Outline
from wengert.core.preparations import elements_read
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import FEW, pays_off
from wengert.ops.batching import Batch, leading
from wengert.ops.broadcasting import broadcast_shapes, broadcast_tensors, expand
from wengert.ops.checks import elements_of, varies
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.joining import stack
from wengert.ops.numpy_names import either
from wengert.ops.outputs import write_out
from wengert.ops.row_indices import (
    Refusal,
    along_rows,
    batch_of,
    from_start,
    out_of_bounds,
    row_index,
    rows_of,
    vectors,
)
from wengert.ops.shape import movedim, reshape
from wengert.ops.splitting import unbind
from wengert.ops.subscript import index as _index
from wengert.ops.variadic import require_tensor

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def require_index(name: str, index: Any, position: int) -> None:
    """Raise TypeError unless `index` is a tensor."""
    if not isinstance(index, np.ndarray):
        raise TypeError(
            f"{name}(): argument 'index' (position {position}) must be Tensor, not"
            f" {type(index).__name__}"
        )


def check_bounds(index: np.ndarray, length: int, axis: int) -> None:
    """Raise RuntimeError for an index outside of [0, length)."""
    if not kernels.scatter.native.within(index, length):
        for i in (int(index.min()), int(index.max())):
            if not 0 <= i < length:
                raise RuntimeError(
                    f"index {i} is out of bounds for dimension {axis} with size {length}"
                )


def known_within(index: Tensor, length: int) -> bool:
    """Whether the elements of an index, an int64 tensor, can be seen and are in [0, length)."""
    if varies(index):
        return False
    array = elements_of(index)
    return type(array) is np.ndarray and kernels.scatter.native.within(array, length)


def elementwise_index(name: str, array: np.ndarray, dim: int, index: Any) -> tuple[np.ndarray, int]:
    """The checked per-element index of gather and scatter, and the axis.

    The index may be shorter than the array along the other dimensions. The array must not be
    0-d.
    """
    require_index(name, index, 3)
    if index.dtype not in (_INT64, _INT32) and index.size:
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index, got {of_numpy[index.dtype]}"
        )
    if index.ndim == 0:
        index = index.reshape(1)
    axis = axis_of(dim, array.ndim)
    if not index.size:
        return np.zeros((0,) * array.ndim, np.int64), axis
    if index.ndim != array.ndim:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor:"
            f" {name}() got index of shape {list(index.shape)} and input of shape"
            f" {list(array.shape)}"
        )
    if index.shape != array.shape:
        for d, (n, m) in enumerate(zip(index.shape, array.shape, strict=True)):
            if d != axis and n > m:
                raise RuntimeError(
                    f"Size does not match at dimension {d} expected index {list(index.shape)} to be"
                    f" no larger than self {list(array.shape)} apart from dimension {axis} in"
                    f" {name}()"
                )
    vector = None if index.flags.c_contiguous else kernels.scatter.vector_of(index, axis)
    check_bounds(index if vector is None else vector, array.shape[axis], axis)
    return index, axis


def with_dims(array: np.ndarray) -> np.ndarray:
    """A 0-d array as one of one element."""
    return array if array.ndim else array.reshape(1)


def elements(name: str, tensor: Tensor) -> np.ndarray:
    """The array of a tensor whose elements determine the shape of a result."""
    array = elements_read(tensor)
    if isinstance(array, Outline):
        raise array.shape_refusal(f"{name}()")
    return array


def elementwise_batch(b: Batch, like: str) -> Value:
    """Batching rule of operations with an index per element; the result is shaped like `like`."""
    axis = axis_of(b.params["dim"], b.rank("input"))
    out = b(**{i: vectors(b, i) for i in b.op.inputs}, dim=axis + 1)
    return out if b.rank(like) else reshape(out, (b.size,))


@multilinear(
    input=lambda g, input_shape, dim, index: _gather_adjoint(g, index, input_shape, dim),
    index=None,
    mixed=False,
    batch=lambda b: elementwise_batch(b, like="index"),
    layout="contiguous",
)
def gather(input: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    """For each element of `index`, the input's element at that place along `dim`.

    The output has the shape of `index` (int64 or int32), which has as many dimensions as the
    input and is no longer along the others. RuntimeError for an index out of bounds, including
    negative ones.

    >>> import wengert
    >>> wengert.gather(wengert.tensor([[1, 2], [3, 4]]), 1, wengert.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    array = with_dims(input)
    alike = isinstance(index, np.ndarray) and index.ndim == array.ndim
    # Few elements of a vector NumPy picks as fast as a kernel.
    worth = alike and (index.size >= FEW or (index.ndim > 1 and pays_off(index.size, FEW)))
    if worth and type(dim) is int:
        found = kernels.scatter.native.take_elements(array, index, axis_of(dim, array.ndim))
        if found is not None:  # which has checked the index
            return found
    return kernels.scatter.take_along(
        array, *elementwise_index("gather", array, dim, index)
    ).reshape(index.shape)


def _gather_adjoint_batch(b: Batch) -> Value:
    shape = b.params["shape"]
    full = (b.size, *(shape or (1,)))
    axis = axis_of(b.params["dim"], len(shape))
    out = b(g=vectors(b, "g"), index=vectors(b, "index"), shape=full, dim=axis + 1)
    return out if shape else reshape(out, (b.size,))


@multilinear(
    g=lambda g, index, dim: gather(g, dim, index),
    index=None,
    mixed=False,
    batch=_gather_adjoint_batch,
    name="gather_backward",
)
def _gather_adjoint(g: Value, index: Value, shape: tuple[int, ...], dim: int) -> Value:
    """Zeros with `g` added at the positions gather read."""
    if not index.size:
        return np.zeros(shape, g.dtype)
    full = shape or (1,)
    rows = with_dims(index)
    values = np.asarray(g).reshape(rows.shape)
    return kernels.scatter.sum_along(full, rows, dim % len(full), values).reshape(shape)


def _index_select_batch(b: Batch) -> Value:
    rank = b.rank("input")
    axis = axis_of(b.params["dim"], rank)
    if not rank or "index" not in b.batched or "input" in b.batched:
        return along_rows(b, like="index")
    # All samples read from one tensor.
    index, shape = vectors(b, "index"), b.shape("input")
    rows = b(index=reshape(index, (-1,)))
    rows = reshape(rows, (*shape[:axis], *index.shape, *shape[axis + 1 :]))
    return movedim(rows, axis, 0)


@multilinear(
    input=lambda g, input_shape, dim, index: _index_select_adjoint(g, index, input_shape, dim),
    index=None,
    mixed=False,
    batch=_index_select_batch,
)
def index_select(input: Value, dim: int, index: Value) -> Value:
    """The slices of a dimension selected by an index vector (int64 or int32).

    >>> import wengert
    >>> wengert.index_select(wengert.tensor([[1, 2], [3, 4]]), 1, wengert.tensor([1]))
    tensor([[2],
            [4]])
    """
    require_index("index_select", index, 3)
    if index.ndim > 1:
        raise IndexError(
            f"index_select(): Index is supposed to be a vector, got shape {list(index.shape)}"
        )
    if index.dtype not in (_INT64, _INT32):
        raise RuntimeError(
            f"index_select(): Expected dtype int32 or int64 for index, got {of_numpy[index.dtype]}"
        )
    axis = axis_of(dim, input.ndim)
    array = with_dims(input)
    rows = with_dims(index)
    if not input.ndim and rows.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {rows.size} value(s)"
        )
    if not kernels.scatter.native.within(rows, array.shape[axis]):
        wrong = int(rows.min()) if rows.min() < 0 else int(rows.max())
        raise RuntimeError(
            f"INDICES element is out of DATA bounds, id={wrong} axis_dim={array.shape[axis]} in"
            " index_select()"
        )
    out = kernels.scatter.take_rows(array, rows, axis)
    return out if input.ndim else out.reshape(())


def _index_select_adjoint_batch(b: Batch) -> Value:
    shape = b.params["shape"]
    if not shape:
        return b.whole("g")
    axis = axis_of(b.params["dim"], len(shape))
    if "index" not in b.batched:
        return b(shape=(b.size, *shape), dim=axis + 1)
    n, other_sizes = shape[axis], (*shape[:axis], *shape[axis + 1 :])
    index = row_index(vectors(b, "index"), axis, n)
    rows = b(g=rows_of(b.whole("g"), axis), index=index, shape=(b.size * n, *other_sizes), dim=0)
    return batch_of(rows, b.size, n, axis)


@multilinear(
    g=lambda g, index, dim: index_select(g, dim, index),
    index=None,
    mixed=False,
    batch=_index_select_adjoint_batch,
    name="index_select_backward",
)
def _index_select_adjoint(g: Value, index: Value, shape: tuple[int, ...], dim: int) -> Value:
    """Zeros with the slices of `g` added at the positions index_select read."""
    if not shape:
        return np.asarray(g)
    key = (*(slice(None),) * (dim % len(shape)), with_dims(index))
    return kernels.scatter.sum_at(shape, key, g)


def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at flat positions of the input; negative ones count from the end.

    >>> import wengert
    >>> wengert.take(wengert.tensor([[1, 2], [3, 4]]), wengert.tensor([0, -1]))
    tensor([1, 4])
    """
    if out is not None:
        return write_out(take, out, input, index)
    positions = flat_places("take", input, index)
    if not input._outline.size and positions._outline.size:
        raise IndexError("take(): tried to take from an empty tensor")
    taken = index_select(input if input._outline.ndim == 1 else reshape(input, (-1,)), 0, positions)
    return taken if index._outline.ndim == 1 else reshape(taken, index._outline.shape)


def flat_places(name: str, input: Tensor, index: Tensor) -> Tensor:
    """An index (int64) into the input in flat order, checked and counted from the start."""
    require_tensor(name, "input", input)
    require_tensor(name, "index", index, 2)
    if index._outline.dtype != _INT64:
        short = of_numpy[index._outline.dtype].short
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {short}")
    flat = index if index._outline.ndim == 1 else reshape(index, (-1,))
    n, shape = input._outline.size, list(input._outline.shape)
    if n and known_within(index, n):
        return flat

    refuse = Refusal(
        "IndexError", "out of range: tried to access index ",
        f" on a tensor of {n} elements. {name}() of a tensor of shape {shape}",
    )  # fmt: skip
    return from_start(flat, -n, n, refuse) if n else flat


def take_along_dim(
    input: Tensor,
    indices: Tensor,
    dim: int | None = None,
    *,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """As `gather`, with input and indices broadcast and negative indices; flat without `dim`.

    >>> import wengert
    >>> x = wengert.tensor([[3, 1], [2, 4]])
    >>> wengert.take_along_dim(x, wengert.tensor([[1], [0]]), 1)
    tensor([[1],
            [2]])
    """
    if axis is not None:
        dim = either("take_along_dim", "dim", dim, axis, None)
    if out is not None:
        return write_out(take_along_dim, out, input, indices, dim)
    require_tensor("take_along_dim", "input", input)
    require_tensor("take_along_dim", "indices", indices, 2)
    index_array = indices._outline
    if index_array.dtype != _INT64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got"
            f" {of_numpy[index_array.dtype].short}"
        )
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    shape = input._outline.shape
    if len(shape) != index_array.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions,"
            f" but got {len(shape)} dimensions for input, and {index_array.ndim} dimensions for"
            " indices"
        )
    d = axis_of(dim, len(shape))
    n = shape[d]
    index = indices
    if not known_within(indices, n):
        index = from_start(indices, -n, n, out_of_bounds(d, n, "RuntimeError"))
    if shape[:d] == index_array.shape[:d] and shape[d + 1 :] == index_array.shape[d + 1 :]:
        return gather(input, d, index)
    common = broadcast_shapes(*[(*s[:d], 1, *s[d + 1 :]) for s in (shape, index_array.shape)])
    full = expand(index, (*common[:d], index_array.shape[d], *common[d + 1 :]))
    return gather(expand(input, (*common[:d], n, *common[d + 1 :])), d, full)


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is true, as a vector; input and mask broadcast.

    >>> import wengert
    >>> wengert.masked_select(wengert.tensor([1, 2, 3]), wengert.tensor([True, False, True]))
    tensor([1, 3])
    """
    if out is not None:
        return write_out(masked_select, out, input, mask)
    require_tensor("masked_select", "input", input)
    require_tensor("masked_select", "mask", mask, 2)
    if mask._outline.dtype != bool:
        raise RuntimeError(
            f"masked_select: expected BoolTensor for mask, but got {of_numpy[mask._outline.dtype]}"
        )
    data, where = broadcast_tensors(input, mask)
    return reshape(_index(data, (elements("masked_select", where).copy(),)), (-1,))


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the elements that are not zero: a row each, or a vector per dimension.

    >>> import wengert
    >>> wengert.nonzero(wengert.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    if out is not None:
        return write_out(nonzero, out, input, as_tuple=as_tuple)
    require_tensor("nonzero", "input", input)
    array = elements("nonzero", input)
    if as_tuple:
        return tuple([wrap(i.copy()) for i in with_dims(array).nonzero()])
    return wrap(kernels.masks.places(array))


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each.

    >>> import wengert
    >>> wengert.argwhere(wengert.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    positions: Tensor = nonzero(input)
    return positions


def nonzero_static(
    input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None
) -> Tensor:
    """`nonzero` in `size` rows: the first ones, or filled up with `fill_value`.

    >>> import wengert
    >>> wengert.nonzero_static(wengert.tensor([0, 5]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if out is not None:
        return write_out(nonzero_static, out, input, size=size, fill_value=fill_value)
    require_tensor("nonzero_static", "input", input)
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    return _first_nonzero(input, input.ndim, size, fill_value)


@primitive(input=None, batch=leading, name="nonzero_static")
def _first_nonzero(input: Value, rank: int, size: int, fill_value: int) -> Value:
    """The indices along the last `rank` dimensions, for each of the others."""
    lead = input.shape[: input.ndim - rank]
    out = np.full((*lead, size, rank), fill_value, np.int64)
    for k in np.ndindex(lead):
        rows = np.argwhere(input[k])[:size]
        out[k][: len(rows)] = rows
    return out


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert flat positions in a tensor of that shape to an index along each dimension.

    >>> import wengert
    >>> wengert.unravel_index(wengert.tensor([3, 7]), (2, 5))
    (tensor([0, 1]), tensor([3, 2]))
    """
    require_tensor("unravel_index", "indices", indices)
    if memory_of(indices).dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, list, tuple)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
        if n < 0:
            raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    remaining = indices.long()
    if not memory_of(remaining).size:  # no place; a size may be 0
        return (remaining,) * len(sizes)
    return unbind(
        stack([remaining // prod(sizes[d + 1 :]) % n for d, n in enumerate(sizes)], -1), -1
    )


__all__ = [
    "argwhere", "gather", "index_select", "masked_select", "nonzero", "nonzero_static", "take",
    "take_along_dim", "unravel_index",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "argwhere", "gather", "index_select", "masked_select", "nonzero", "nonzero_static", "take",
    "take_along_dim",
)  # fmt: skip
INPLACE: tuple[str, ...] = ()
