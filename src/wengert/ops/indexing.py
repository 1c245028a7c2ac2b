"""Operations: picking elements by index tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert._core import Tensor, wrap
from wengert._dtypes import of_numpy
from wengert.kernels.axes import axis_of
from wengert.kernels.scatter import Key, along, sum_at
from wengert.ops._declare import Value, multilinear
from wengert.ops._variadic import require_tensor
from wengert.ops.shape import reshape
from wengert.ops.subscript import index as _index
from wengert.ops.subscript import index_written

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def require_index(name: str, index: Any, position: int) -> None:
    """Raise TypeError where `index` came as something else than a tensor."""
    if not isinstance(index, np.ndarray):
        raise TypeError(
            f"{name}(): argument 'index' (position {position}) must be Tensor, not"
            f" {type(index).__name__}"
        )


def check_bounds(index: np.ndarray, length: int, axis: int, low: int = 0) -> None:
    """Raise RuntimeError for an index outside of [low, length)."""
    if index.size:
        for i in (int(index.min()), int(index.max())):
            if not low <= i < length:
                raise RuntimeError(
                    f"index {i} is out of bounds for dimension {axis} with size {length}"
                )


def elementwise_key(name: str, array: np.ndarray, dim: int, index: Any) -> Key:
    """The checked key of gather and scatter: an index for each element along one dimension.

    The index may be shorter than the array along the other dimensions. The array must have
    dimensions.
    """
    require_index(name, index, 3)
    if index.dtype not in (_INT64, _INT32):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index, got {of_numpy[index.dtype]}"
        )
    if index.ndim == 0:
        index = index.reshape(1)
    axis = axis_of(dim, array.ndim)
    if not index.size:
        return along(np.zeros((0,) * array.ndim, np.int64), axis)
    if index.ndim != array.ndim:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as input tensor:"
            f" {name}() got index of shape {list(index.shape)} and input of shape"
            f" {list(array.shape)}"
        )
    for d, (n, m) in enumerate(zip(index.shape, array.shape, strict=True)):
        if d != axis and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no"
                f" larger than self {list(array.shape)} apart from dimension {axis} in {name}()"
            )
    check_bounds(index, array.shape[axis], axis)
    return along(index, axis)


def with_dims(array: np.ndarray) -> np.ndarray:
    """A 0-d array as one of one element."""
    return array if array.ndim else array.reshape(1)


@multilinear(
    input=lambda g, input_shape, dim, index: _gather_adjoint(g, index, input_shape, dim),
    index=None,
    mixed=False,
)
def gather(input: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    """For each element of `index`, the input's element at that place along `dim`.

    The output has the shape of `index` (int64 or int32), which has as many dimensions as the
    input and is no longer along the others. RuntimeError for an index out of bounds; negative
    ones are.

    >>> import wengert
    >>> wengert.gather(wengert.tensor([[1, 2], [3, 4]]), 1, wengert.tensor([[0], [1]]))
    tensor([[1],
            [4]])
    """
    array = with_dims(input)
    return array[elementwise_key("gather", array, dim, index)].reshape(index.shape)


@multilinear(
    g=lambda g, index, dim: gather(g, dim, index), index=None, mixed=False, name="gather_backward"
)
def _gather_adjoint(g: Value, index: Value, shape: tuple[int, ...], dim: int) -> Value:
    """Zeros with `g` added where gather took it from."""
    if not index.size:
        return np.zeros(shape, g.dtype)
    full = shape or (1,)
    rows = with_dims(index)
    key = along(rows, dim % len(full))
    return sum_at(full, key, np.asarray(g).reshape(rows.shape)).reshape(shape)


@multilinear(
    input=lambda g, input_shape, dim, index: _index_select_adjoint(g, index, input_shape, dim),
    index=None,
    mixed=False,
)
def index_select(input: Value, dim: int, index: Value) -> Value:
    """The slices of a dimension at the places of an index vector (int64 or int32).

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
    if rows.size and (rows.min() < 0 or rows.max() >= array.shape[axis]):
        wrong = int(rows.min()) if rows.min() < 0 else int(rows.max())
        raise RuntimeError(
            f"INDICES element is out of DATA bounds, id={wrong} axis_dim={array.shape[axis]} in"
            " index_select()"
        )
    out = array.take(rows, axis=axis)
    return out if input.ndim else out.reshape(())


@multilinear(
    g=lambda g, index, dim: index_select(g, dim, index),
    index=None,
    mixed=False,
    name="index_select_backward",
)
def _index_select_adjoint(g: Value, index: Value, shape: tuple[int, ...], dim: int) -> Value:
    """Zeros with the slices of `g` added where index_select took them from."""
    if not shape:
        return np.asarray(g)
    key = (*(slice(None),) * (dim % len(shape)), with_dims(index))
    return sum_at(shape, key, g)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at places of the input in flat order; negative ones count from the end.

    >>> import wengert
    >>> wengert.take(wengert.tensor([[1, 2], [3, 4]]), wengert.tensor([0, -1]))
    tensor([1, 4])
    """
    key = flat_key("take", input, index)
    if not input._array.size and key[0].size:
        raise IndexError("take(): tried to take from an empty tensor")
    return reshape(_index(reshape(input, (-1,)), key), index._array.shape)


def flat_key(name: str, input: Tensor, index: Tensor) -> Key:
    """The checked key of an index (int64) into the input in flat order."""
    require_tensor(name, "input", input)
    require_tensor(name, "index", index, 2)
    places = index._array.ravel()
    if places.dtype != _INT64:
        short = of_numpy[places.dtype].short
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {short}")
    n = input._array.size
    if n and places.size:
        for i in (int(places.min()), int(places.max())):
            if not -n <= i < n:
                raise IndexError(
                    f"out of range: tried to access index {i} on a tensor of {n} elements."
                    f" {name}() of a tensor of shape {list(input._array.shape)}"
                )
    return (places.copy(),)


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As `gather`, with input and indices broadcast and negative indices; flat without `dim`.

    >>> import wengert
    >>> x = wengert.tensor([[3, 1], [2, 4]])
    >>> wengert.take_along_dim(x, wengert.tensor([[1], [0]]), 1)
    tensor([[1],
            [2]])
    """
    from wengert.ops.expansion import broadcast_shapes, expand

    require_tensor("take_along_dim", "input", input)
    require_tensor("take_along_dim", "indices", indices, 2)
    places = indices._array
    if places.dtype != _INT64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got"
            f" {of_numpy[places.dtype].short}"
        )
    if dim is None:
        return gather(reshape(input, (-1,)), 0, reshape(indices, (-1,)))
    shape = input._array.shape
    if len(shape) != places.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions,"
            f" but got {len(shape)} dimensions for input, and {places.ndim} dimensions for indices"
        )
    d = axis_of(dim, len(shape))
    n = shape[d]
    check_bounds(places, n, d, low=-n)
    common = broadcast_shapes(*[(*s[:d], 1, *s[d + 1 :]) for s in (shape, places.shape)])
    full = np.broadcast_to(places, (*common[:d], places.shape[d], *common[d + 1 :]))
    index = wrap(np.where(full < 0, full + n, full))
    return gather(expand(input, (*common[:d], n, *common[d + 1 :])), d, index)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, as a vector; input and mask broadcast.

    >>> import wengert
    >>> wengert.masked_select(wengert.tensor([1, 2, 3]), wengert.tensor([True, False, True]))
    tensor([1, 3])
    """
    from wengert.ops.expansion import broadcast_tensors

    require_tensor("masked_select", "input", input)
    require_tensor("masked_select", "mask", mask, 2)
    if mask._array.dtype != bool:
        raise RuntimeError(
            f"masked_select: expected BoolTensor for mask, but got {of_numpy[mask._array.dtype]}"
        )
    data, where = broadcast_tensors(input, mask)
    return reshape(_index(data, (where._array.copy(),)), (-1,))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: a row each, or a vector per dimension.

    >>> import wengert
    >>> wengert.nonzero(wengert.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    require_tensor("nonzero", "input", input)
    array = input._array
    if as_tuple:
        return tuple([wrap(i) for i in with_dims(array).nonzero()])
    return wrap(np.argwhere(array))


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, a row each.

    >>> import wengert
    >>> wengert.argwhere(wengert.tensor([0, 5, 6]))
    tensor([[1],
            [2]])
    """
    found: Tensor = nonzero(input)
    return found


def index_put(
    input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False
) -> Tensor:
    """A copy of the input with `values`, broadcast, at ``input[indices]``, or added there.

    >>> import wengert
    >>> at = (wengert.tensor([0, 0]),)
    >>> wengert.index_put(wengert.zeros(2), at, wengert.tensor(1.0), accumulate=True)
    tensor([2., 0.])
    """
    require_tensor("index_put", "input", input)
    if not isinstance(indices, list | tuple):
        raise TypeError(
            "index_put(): argument 'indices' (position 1) must be tuple of Tensors, not"
            f" {type(indices).__name__}"
        )
    for k, x in enumerate(indices):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"expected Tensor as element {k} in argument 0, but got {type(x).__name__}"
            )
    require_tensor("index_put", "values", values, 2)
    check_put_dtype(input._array, values._array)
    key = tuple([index_array(x._array) for x in indices])
    given = sum(i.ndim if i.dtype == bool else 1 for i in key)
    if given > input._array.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input._array.ndim} (got {given})"
        )
    return index_written(input, values, key, accumulate)


def index_array(array: np.ndarray) -> np.ndarray:
    """A private copy of an index, int64 or bool; IndexError for any other kind."""
    if array.dtype == bool or array.dtype == _INT64:
        return array.copy()
    if array.dtype == np.uint8:
        return array.astype(bool)
    if array.dtype == _INT32:
        return array.astype(np.int64)
    raise IndexError(
        "tensors used as indices must be long, int, byte or bool tensors, not"
        f" {of_numpy.get(array.dtype, array.dtype)}"
    )


def check_put_dtype(array: np.ndarray, values: np.ndarray) -> None:
    """Raise RuntimeError unless both have one dtype."""
    if array.dtype != values.dtype:
        a, b = of_numpy[array.dtype].short, of_numpy[values.dtype].short
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {a} for the"
            f" destination and {b} for the source."
        )


def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy of the input with the elements of `source` at places in flat order, or added there.

    >>> import wengert
    >>> wengert.put(wengert.zeros(2, 2), wengert.tensor([0, -1]), wengert.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    key = flat_key("put_", input, index)
    require_tensor("put", "source", source, 3)
    n, m = source._array.size, key[0].size
    if n != m:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got"
            f" source.numel() = {n}, index.numel() = {m}"
        )
    if source._array.dtype != input._array.dtype:
        a, b = of_numpy[input._array.dtype].short, of_numpy[source._array.dtype].short
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype ="
            f" {a} and source.dtype = {b}"
        )
    flat = index_written(reshape(input, (-1,)), reshape(source, (-1,)), key, accumulate)
    return reshape(flat, input._array.shape)


__all__ = [
    "argwhere", "gather", "index_put", "index_select", "masked_select", "nonzero", "put", "take",
    "take_along_dim",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "argwhere", "gather", "index_put", "index_select", "masked_select", "nonzero", "put", "take",
    "take_along_dim",
)  # fmt: skip
INPLACE = ("index_put", "put")
