"""Operations: a copy of the input with slices or masked elements replaced or added to."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert._core import Tensor
from wengert._dtypes import of_numpy
from wengert.kernels.axes import axis_of
from wengert.kernels.scatter import Key, sum_at
from wengert.ops._declare import Value, multilinear, primitive
from wengert.ops._operands import sum_to
from wengert.ops._variadic import require_tensor
from wengert.ops.indexing import check_bounds, index_select, require_index, with_dims

_INT64 = np.dtype(np.int64)


def _plain(x: Any) -> np.ndarray:
    array: np.ndarray = x._array if isinstance(x, Tensor) else np.asarray(x)
    return array


def _check_rows(name: str, input: np.ndarray, dim: int, index: Any, source: np.ndarray) -> int:
    """Checks of an index vector and a source with a slice for each of its elements."""
    require_index(name, index, 3)
    axis = axis_of(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index should have dimension 1 or 0 (got {index.ndim})")
    return axis


def _slices(axis: int, index: np.ndarray) -> Key:
    return (*(slice(None),) * axis, with_dims(index))


@primitive(
    input=lambda g: g,
    index=None,
    source=lambda g, source_shape, dim, index, alpha: _rows(g, dim, index, source_shape) * alpha,
    mixed=False,
)
def index_add(input: Value, dim: int, index: Value, source: Value, *, alpha: complex = 1) -> Value:
    """A copy of the input with the slices of `source`, times `alpha`, added at index places.

    >>> import wengert
    >>> index = wengert.tensor([0, 0])
    >>> wengert.index_add(wengert.zeros(2), 0, index, wengert.tensor([1.0, 2.0]))
    tensor([3., 0.])
    """
    axis = _check_rows("index_add", input, dim, index, source)
    if index.dtype not in (_INT64, np.int32):
        raise RuntimeError(
            f"index_add_(): Expected dtype int32/int64 for index, got {of_numpy[index.dtype]}"
        )
    if source.dtype != input.dtype:
        a, b = of_numpy[input.dtype].short, of_numpy[source.dtype].short
        raise RuntimeError(
            f"index_add_(): self ({a}) and source ({b}) must have the same scalar type"
        )
    rows = source.shape[axis] if source.ndim else 1
    if index.size != rows:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim):"
            f" ({rows}), for dim: {axis}"
        )
    if [n for d, n in enumerate(source.shape) if d != axis] != [
        n for d, n in enumerate(input.shape) if d != axis
    ] or source.ndim != input.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension."
            f" Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    out = with_dims(input).copy()
    check_bounds(index, out.shape[axis], axis)
    scaled = source if alpha == 1 else (source * alpha).astype(source.dtype)
    out += sum_at(out.shape, _slices(axis, index), with_dims(scaled))
    return out.reshape(input.shape)


def _rows(g: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The slices of `g` at an index, in the shape of the source that they belong to."""
    from wengert.ops.shape import reshape

    found = index_select(g, dim, index)
    return found if found.shape == shape else reshape(found, shape)


@primitive(
    input=lambda g, dim, index: _fill_rows(g, dim, index, 0),
    index=None,
    source=lambda g, source_shape, dim, index: _rows(g, dim, index, source_shape),
    mixed=False,
)
def index_copy(input: Value, dim: int, index: Value, source: Value) -> Value:
    """A copy of the input with the slices of `source` at index places (int64).

    >>> import wengert
    >>> wengert.index_copy(wengert.zeros(2), 0, wengert.tensor([1]), wengert.tensor([5.0]))
    tensor([0., 5.])
    """
    axis = _check_rows("index_copy", input, dim, index, source)
    if index.dtype != _INT64:
        short = of_numpy[index.dtype].short
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {short}")
    if source.dtype != input.dtype:
        a, b = of_numpy[input.dtype].short, of_numpy[source.dtype].short
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self)"
            f" {a} and (source) {b}"
        )
    _check_copied(input, axis, index, source)
    out = with_dims(input).copy()
    out[_slices(axis, index)] = with_dims(source)
    return out.reshape(input.shape)


def _check_copied(input: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray) -> None:
    if source.ndim != input.ndim and source.ndim and input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must"
            f" match. Source dimensionality ({source.ndim}), destination dimensionality"
            f" ({input.ndim})"
        )
    rows = source.shape[axis] if source.ndim else 1
    if index.size != rows:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim)"
            f" ({rows})"
        )
    slices = [[n for d, n in enumerate(a.shape) if d != axis] for a in (input, source)]
    if slices[0] != slices[1]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination"
            f" slice shape: {slices[0]} at dimension {axis} and source slice shape: {slices[1]} at"
            f" dimension {axis}."
        )
    n = input.shape[axis] if input.ndim else 1
    for i in index.ravel().tolist():
        if not 0 <= i < n:
            raise IndexError(
                f"index_copy_(): index {i} is out of bounds for dimension {axis} with size {n}"
            )


@primitive(
    input=lambda g, dim, index: _fill_rows(g, dim, index, 0),
    index=None,
    mixed=False,
    label="IndexFillBackward0",
    name="index_fill",
)
def _fill_rows(input: Value, dim: int, index: Value, value: complex) -> Value:
    out = np.array(with_dims(np.asarray(input)))
    out[_slices(axis_of(dim, input.ndim), index)] = value
    return out.reshape(input.shape)


@primitive(
    input=lambda g, dim, index: _fill_rows(g, dim, index, 0),
    index=None,
    value=lambda g, dim, index: sum_to(index_select(g, dim, _from_start(g, dim, index)), ()),
    mixed=False,
    label="IndexFillBackward1",
    name="index_fill",
)
def _fill_rows_with(input: Value, dim: int, index: Value, value: Value) -> Value:
    return _fill_rows(input, dim, index, value)


def _from_start(g: Any, dim: int, index: Any) -> np.ndarray:
    """The distinct places of an index, counted from the start: each is filled once."""
    n = g.shape[dim] if g.ndim else 1
    return np.unique(with_dims(_plain(index)) % n)


def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy of the input with one value, a number or a 0-d tensor, in the slices at an index.

    >>> import wengert
    >>> wengert.index_fill(wengert.zeros(2, 2), 1, wengert.tensor([-1]), 5)
    tensor([[0., 5.],
            [0., 5.]])
    """
    require_tensor("index_fill", "input", input)
    require_tensor("index_fill", "index", index, 3)
    array, places = input._array, index._array
    axis = axis_of(dim, array.ndim)
    if places.dtype != _INT64:
        raise IndexError(
            f"index_fill_(): Expected dtype int64 for index. Got {of_numpy[places.dtype]}"
        )
    if places.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, got {places.ndim} dimensions")
    n = array.shape[axis] if array.ndim else 1
    for i in (int(places.min()), int(places.max())) if places.size else ():
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension {axis} with size {n}")
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value._array.ndim} dimension(s)."
            )
        return _fill_rows_with(input, dim, index, _as_dtype_of(input, value))
    if isinstance(value, complex) and array.dtype.kind != "c":
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return _fill_rows(input, dim, index, value)


def _as_dtype_of(input: Tensor, value: Tensor) -> Tensor:
    from wengert.ops.casting import convert

    return convert(value, of_numpy[input._array.dtype])


@primitive(
    input=lambda g, mask: _mask_erased(g, mask),
    mask=None,
    source=lambda g, source_shape, mask: _mask_taken(g, mask, source_shape),
    mixed=False,
    label="MaskedScatterBackward0",
)
def _masked_scatter(input: Value, mask: Value, source: Value) -> Value:
    out = input.copy()
    out[mask] = source.ravel()[: np.count_nonzero(mask)]
    return out


@multilinear(
    g=lambda g, mask: _mask_erased(g, mask), mask=None, mixed=False, name="masked_scatter_backward"
)
def _mask_erased(g: Value, mask: Value) -> Value:
    out = np.array(g)
    out[mask] = 0
    return out


@multilinear(
    g=lambda g, mask: _mask_placed(g, mask), mask=None, mixed=False, name="masked_scatter_backward"
)
def _mask_taken(g: Value, mask: Value, shape: tuple[int, ...]) -> Value:
    """Zeros whose first elements are those of `g` where the mask is true."""
    out = np.zeros(shape, g.dtype)
    taken = g[mask]
    out.reshape(-1)[: taken.size] = taken
    return out


@multilinear(
    g=lambda g, g_shape, mask: _mask_taken(g, mask, g_shape),
    mask=None,
    mixed=False,
    name="masked_scatter_backward",
)
def _mask_placed(g: Value, mask: Value) -> Value:
    """Zeros with the first elements of `g` where the mask is true."""
    out = np.zeros(mask.shape, g.dtype)
    out[mask] = g.ravel()[: np.count_nonzero(mask)]
    return out


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of the input with the elements of `source`, in order, where the mask is true.

    Input and mask broadcast; `source` must have enough elements.

    >>> import wengert
    >>> mask = wengert.tensor([True, False, True])
    >>> wengert.masked_scatter(wengert.zeros(3), mask, wengert.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    from wengert.ops.expansion import broadcast_tensors

    require_tensor("masked_scatter", "input", input)
    require_tensor("masked_scatter", "mask", mask, 2)
    require_tensor("masked_scatter", "source", source, 3)
    if mask._array.dtype != bool:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype"
            f" {of_numpy[mask._array.dtype].short}"
        )
    if source._array.dtype != input._array.dtype:
        a, b = of_numpy[input._array.dtype].short, of_numpy[source._array.dtype].short
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {a} and {b}"
        )
    data, where = broadcast_tensors(input, mask)
    wanted = int(np.count_nonzero(where._array))
    if source._array.size < wanted:
        raise RuntimeError(
            "Number of elements of source < number of ones in mask: masked_scatter() got"
            f" {source._array.size} and {wanted}"
        )
    return _masked_scatter(data, where, source)


__all__ = ["index_add", "index_copy", "index_fill", "masked_scatter"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("index_add", "index_copy", "index_fill", "masked_scatter")
INPLACE = ("index_add", "index_copy", "index_fill", "masked_scatter")
