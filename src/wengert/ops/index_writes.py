"""Operations: a copy of the input with slices or picked elements replaced or added to."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.layout import contiguous_format
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, wrap
from wengert.kernels import layout
from wengert.kernels.axes import axis_of
from wengert.ops.batched_keys import Picks
from wengert.ops.batching import Batch, leading
from wengert.ops.broadcasting import broadcast_tensors, expand
from wengert.ops.casting import convert
from wengert.ops.declare import Value, multilinear, primitive
from wengert.ops.diagonals import diagonal
from wengert.ops.gathering import (
    flat_places,
    index_select,
    with_dims,
)
from wengert.ops.joining import stack
from wengert.ops.masking import filling, number_of, where
from wengert.ops.numpy_names import MISSING, either, require_arguments
from wengert.ops.operands import traced
from wengert.ops.outputs import write_out
from wengert.ops.row_indices import Refusal, along_rows, from_start, out_of_bounds
from wengert.ops.scatter import scatter_reduce
from wengert.ops.shape import clone, contiguous, in_order_of, reshape
from wengert.ops.slice_writes import add_slices, added_axis, copied_axis, slices_at
from wengert.ops.subscript import broadcasts, index_written, value_mismatch
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, or_zeros

if TYPE_CHECKING:
    from wengert.kernels.scatter import Key

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


@primitive(
    input=lambda g: g,
    index=None,
    source=lambda g, source_shape, dim, index, alpha: _rows(g, dim, index, source_shape) * alpha,
    mixed=False,
    batch=along_rows,
    jvp=lambda d_input, d_source, input, dim, index, source, alpha: index_add(
        or_zeros(d_input, input), dim, index, or_zeros(d_source, source), alpha=alpha
    ),
)
def index_add(input: Value, dim: int, index: Value, source: Value, *, alpha: complex = 1) -> Value:
    """A copy of the input with the slices of `source`, times `alpha`, added at the indices.

    >>> import wengert
    >>> index = wengert.tensor([0, 0])
    >>> wengert.index_add(wengert.zeros(2), 0, index, wengert.tensor([1.0, 2.0]))
    tensor([3., 0.])
    """
    axis = added_axis(input, dim, index, source)
    out = with_dims(input).copy()
    add_slices(out, axis, index, source, alpha)
    return out.reshape(input.shape)


def _rows(g: Any, dim: int, index: Any, shape: tuple[int, ...]) -> Any:
    """The slices of `g` at an index, in the shape of their source."""
    rows = index_select(g, dim, index)
    return rows if rows.shape == shape else reshape(rows, shape)


@primitive(
    input=lambda g, dim, index: _fill_rows(g, dim, index, 0),
    index=None,
    source=lambda g, source_shape, dim, index: _rows(g, dim, index, source_shape),
    mixed=False,
    batch=along_rows,
    jvp=lambda d_input, d_source, input, dim, index, source: index_copy(
        or_zeros(d_input, input), dim, index, or_zeros(d_source, source)
    ),
)
def index_copy(input: Value, dim: int, index: Value, source: Value) -> Value:
    """A copy of the input with the slices of `source` at the indices (int64).

    >>> import wengert
    >>> wengert.index_copy(wengert.zeros(2), 0, wengert.tensor([1]), wengert.tensor([5.0]))
    tensor([0., 5.])
    """
    axis = copied_axis(input, dim, index, source)
    out = with_dims(input).copy()
    out[slices_at(axis, index)] = with_dims(source)
    return out.reshape(input.shape)


@primitive(
    input=lambda g, dim, index: _fill_rows(g, dim, index, 0),
    index=None,
    mixed=False,
    batch=along_rows,
    jvp=lambda d_input, dim, index: _fill_rows(d_input, dim, index, 0),
    label="IndexFillBackward0",
    name="index_fill",
    layout=("input",),
)
def _fill_rows(input: Value, dim: int, index: Value, value: complex) -> Value:
    out = layout.copy(np.asarray(input))
    with_dims(out)[slices_at(axis_of(dim, input.ndim), index)] = value
    return out


def index_fill(
    input: Tensor,
    dim: int = MISSING,
    index: Tensor = MISSING,
    value: Any = MISSING,
    *,
    axis: int | None = None,
) -> Tensor:
    """A copy of the input with the slices at the indices filled with a number or 0-d tensor.

    >>> import wengert
    >>> wengert.index_fill(wengert.zeros(2, 2), 1, wengert.tensor([-1]), 5)
    tensor([[0., 5.],
            [0., 5.]])
    """
    if axis is not None or dim is MISSING or index is MISSING or value is MISSING:
        dim = either("index_fill", "dim", dim, axis, MISSING)
        require_arguments("index_fill", dim=dim, index=index, value=value)
    require_tensor("index_fill", "input", input)
    require_tensor("index_fill", "index", index, 3)
    array, index_memory = input._array, index._array
    axis = axis_of(dim, array.ndim)
    if index_memory.dtype != _INT64:
        raise IndexError(
            f"index_fill_(): Expected dtype int64 for index. Got {of_numpy[index_memory.dtype]}"
        )
    if index_memory.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, got {index_memory.ndim} dimensions")
    n = array.shape[axis] if array.ndim else 1
    index = from_start(index, -n, n, out_of_bounds(axis, n))
    if isinstance(value, Tensor):
        value = filling("index_fill", value, input)
        nowhere = wrap(layout.zeros_like(array, np.bool_))
        filled: Tensor = where(_fill_rows(nowhere, dim, index, True), value, input)
        return filled
    if isinstance(value, complex) and array.dtype.kind != "c":
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    return _fill_rows(input, dim, index, number_of(array.dtype, value, "index_fill")[()])


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy of the input with the elements of `source`, in order, where the mask is true.

    Input and mask broadcast; `source` must have enough elements.

    >>> import wengert
    >>> mask = wengert.tensor([True, False, True])
    >>> wengert.masked_scatter(wengert.zeros(3), mask, wengert.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    require_tensor("masked_scatter", "input", input)
    require_tensor("masked_scatter", "mask", mask, 2)
    require_tensor("masked_scatter", "source", source, 3)
    if mask._outline.dtype != bool:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype"
            f" {of_numpy[mask._outline.dtype].short}"
        )
    if source._outline.dtype != input._outline.dtype:
        a, b = of_numpy[input._outline.dtype].short, of_numpy[source._outline.dtype].short
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {a} and {b}"
        )
    data = input
    if mask._outline.shape != input._outline.shape:
        data, mask = broadcast_tensors(input, mask)
    return _masked_scatter(data, mask, source)


def _masked_scatter_reference(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """By the place in `source` of each element."""
    positions = _places_of_true(reshape(mask, (-1,)), source._outline.size)
    if not source._outline.size:
        return clone(input, memory_format=contiguous_format)
    elements = index_select(reshape(source, (-1,)), 0, positions)
    return contiguous(where(mask, reshape(elements, mask._outline.shape), input))


def _elements_in_batch(b: Batch) -> Value:
    """Of the two operations below: those of one mask at once, else sample by sample."""
    grad, shape = b.whole("grad"), b.params["shape"]
    if "mask" not in b.batched:
        return b(grad=grad, shape=(b.size, *shape))
    mask = b.whole("mask")
    return stack([b.op([grad[k], mask[k]], {"shape": shape}) for k in range(b.size)], 0)


@multilinear(
    mixed=False,
    grad=lambda g, mask, grad_shape: _put_back_at(g, mask, grad_shape),
    mask=None,
    batch=_elements_in_batch,
    name="masked_scatter_backward",
)
def _selected(grad: Value, mask: Value, shape: tuple[int, ...]) -> Value:
    """The elements where the mask is true, then zeros, in a shape; dimensions may stand in front.

    The gradient of the source of `masked_scatter`.
    """
    lead = grad.shape[: grad.ndim - mask.ndim]
    out = np.zeros((*lead, prod(shape[len(lead) :])), grad.dtype)
    values = grad[(..., mask)]
    out[..., : values.shape[-1]] = values
    return out.reshape(shape)


@multilinear(
    mixed=False,
    grad=lambda g, mask, grad_shape: _selected(g, mask, grad_shape),
    mask=None,
    batch=_elements_in_batch,
    name="masked_scatter_backward",
)
def _put_back_at(grad: Value, mask: Value, shape: tuple[int, ...]) -> Value:
    """The adjoint of `_selected`."""
    lead = shape[: len(shape) - mask.ndim]
    out, values = np.zeros(shape, grad.dtype), grad.reshape(*lead, prod(grad.shape[len(lead) :]))
    out[(..., mask)] = values[..., : np.count_nonzero(mask)]
    return out


@primitive(
    mixed=False,
    reference=_masked_scatter_reference,
    input=lambda g, mask: drop(g, mask),
    mask=None,
    source=lambda g, mask, source_shape: _selected(g, mask, source_shape),
    layout="contiguous",
    name="masked_scatter",
)
def _masked_scatter(input: Value, mask: Value, source: Value) -> Value:
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise _too_few(source.size, count)
    out = np.array(input, order="C")
    if count:
        out[mask] = source.reshape(-1)[:count]
    return out


def _too_few(given: int, wanted: int) -> RuntimeError:
    return RuntimeError(
        "Number of elements of source < number of ones in mask: masked_scatter() got"
        f" {given} and {wanted}"
    )


@multilinear(input=None, batch=leading, name="masked_scatter")
def _places_of_true(input: Value, n: int) -> Value:
    """For the k-th true element of each vector k, which is below `n`; for others some such number.

    RuntimeError if there are more.
    """
    places = np.add.accumulate(input, -1, np.int64)
    most = int(places[..., -1].max()) if places.size else 0
    if most > n:
        raise _too_few(n, most)
    places -= 1
    return np.maximum(places, 0, out=places)


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
    if not isinstance(indices, (list, tuple)):
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
    key = tuple([index_item(x) for x in indices])
    masked = len(key) == 1 and key[0].dtype == bool and not accumulate
    if masked and prod(values._outline.shape) == 1:
        # One value that fills a mask is converted.
        values = convert(values, of_numpy[input._outline.dtype])
    check_put_dtype(input._array, values._array)
    indexed_dims = sum(i.ndim if i.dtype == bool else 1 for i in key)
    if indexed_dims > input._outline.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {input._outline.ndim} (got {indexed_dims})"
        )
    if traced(key):
        return written(input, values, key, accumulate)
    return index_written(input, values, key, accumulate)


def index_item(index: Tensor) -> Any:
    """An index of a key: a private array, or the tensor itself if it differs between samples."""
    array: Any = index._array
    if type(array) is np.ndarray:
        return index_array(array)
    if array.dtype in (np.bool_, np.uint8):
        raise array.shape_refusal("indexing with a boolean mask (use torch.where)")
    _check_index_dtype(array.dtype)
    return index


def written(input: Tensor, values: Tensor, key: Key, accumulate: bool) -> Tensor:
    """As `index_written`, for a key with indices that differ between samples."""
    picks = Picks(key, tuple(input.shape))
    if not broadcasts(tuple(values.shape), picks.shape):
        raise value_mismatch(tuple(values.shape), picks.shape)
    rows = picks.rows(expand(values, picks.shape))
    put_rows = index_add if accumulate else index_copy
    return picks.unmerged(put_rows(picks.merged(input), picks.axis, picks.positions, rows))


def index_array(array: np.ndarray) -> np.ndarray:
    """A private copy of an index, int64 or bool; IndexError for any other kind."""
    if array.dtype == bool or array.dtype == _INT64:
        return array.copy()
    if array.dtype == np.uint8:
        warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool"
            " instead."
        )
        return array.astype(bool)
    _check_index_dtype(array.dtype)
    return array.astype(np.int64)


def _check_index_dtype(dtype: np.dtype[Any]) -> None:
    if dtype not in (_INT64, _INT32):
        raise IndexError(
            "tensors used as indices must be long, int, byte or bool tensors, not"
            f" {of_numpy.get(dtype, dtype)}"
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
    """A copy of the input with the elements of `source` written at, or added to, flat positions.

    >>> import wengert
    >>> wengert.put(wengert.zeros(2, 2), wengert.tensor([0, -1]), wengert.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    positions = flat_places("put_", input, index)
    require_tensor("put", "source", source, 3)
    n, m = source._outline.size, positions._outline.size
    if n != m:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got"
            f" source.numel() = {n}, index.numel() = {m}"
        )
    if source._outline.dtype != input._outline.dtype:
        a, b = of_numpy[input._outline.dtype].short, of_numpy[source._outline.dtype].short
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype ="
            f" {a} and source.dtype = {b}"
        )
    put_rows = index_add if accumulate else index_copy
    flat = input if input._outline.ndim == 1 else reshape(input, (-1,))
    values = source if source._outline.ndim == 1 else reshape(source, (-1,))
    written = put_rows(flat, 0, positions, values)
    if flat is input:
        return written
    return in_order_of(reshape(written, input._outline.shape), input)


def index_reduce(
    input: Tensor,
    dim: int = MISSING,
    index: Tensor = MISSING,
    source: Tensor = MISSING,
    reduce: str = MISSING,
    *,
    include_self: bool = True,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A copy of the input with the slices of `source` reduced into it at the indices.

    `reduce` is prod, mean, amax or amin; `include_self` includes the input's own slices.

    >>> import wengert
    >>> x, index = wengert.ones(2), wengert.tensor([0, 0])
    >>> wengert.index_reduce(x, 0, index, wengert.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    if (
        axis is not None
        or dim is MISSING
        or index is MISSING
        or source is MISSING
        or reduce is MISSING
    ):
        dim = either("index_reduce", "dim", dim, axis, MISSING)
        require_arguments("index_reduce", dim=dim, index=index, source=source, reduce=reduce)
    if out is not None:
        return write_out(
            index_reduce, out, input, dim, index, source, reduce, include_self=include_self
        )
    for name, value in (("input", input), ("index", index), ("source", source)):
        require_tensor("index_reduce", name, value)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got"
            f" {reduce}."
        )
    axis = _check_reduced(input, dim, index, source)
    n = input.shape[axis] if input.ndim else 1
    refuse = Refusal("IndexError", "index out of range in self: ", f" for a size of {n}")
    index = from_start(index, 0, n, refuse)
    if not input.ndim:
        x, i, y = (reshape(t, (1,)) for t in (input, index, source))
        return reshape(_combined(x, i, y, 0, reduce, include_self), ())
    return _combined(input, index, source, axis, reduce, include_self)


def _combined(
    input: Tensor, index: Tensor, source: Tensor, axis: int, reduce: str, include_self: bool
) -> Tensor:
    column = (-1, *(1,) * (source.ndim - axis - 1))
    index = expand(reshape(index, column), tuple(source.shape))
    return scatter_reduce(input, axis, index, source, reduce, include_self=include_self)


def _check_reduced(input: Tensor, dim: int, index: Tensor, source: Tensor) -> int:
    array, kind = input._array, index._outline.dtype
    axis = axis_of(dim, array.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim}"
        )
    if kind not in (_INT64, _INT32):
        raise RuntimeError(
            f"index_reduce_(): Expected dtype int32/int64 for index but got: {of_numpy[kind].short}"
        )
    if source._outline.dtype != array.dtype:
        a, b = of_numpy[array.dtype].short, of_numpy[source._outline.dtype].short
        raise RuntimeError(
            f"index_reduce_(): self ({a}) and source ({b}) must have the same scalar type"
        )
    rows = source.shape[axis] if source.ndim else 1
    if index.numel() != rows:
        raise RuntimeError(
            f"index_reduce_(): Number of indices ({index.numel()}) should be equal to"
            f" source.size(dim): ({rows}), for dim: {axis}"
        )
    around = [[n for d, n in enumerate(t.shape) if d != axis] for t in (input, source)]
    if around[0] != around[1] or input.ndim != source.ndim:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension."
            f" Got self.shape = {list(input.shape)} source.shape = {list(source.shape)}"
        )
    return axis


def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of the input with a `diagonal` replaced by `src`.

    >>> import wengert
    >>> wengert.diagonal_scatter(wengert.zeros(2, 2), wengert.tensor([1.0, 2.0]))
    tensor([[1., 0.],
            [0., 2.]])
    """
    require_tensor("diagonal_scatter", "input", input)
    require_tensor("diagonal_scatter", "src", src, 2)
    shape = tuple(input.shape)
    positions = diagonal(np.arange(prod(shape)).reshape(shape), offset, dim1, dim2)
    if tuple(src.shape) != positions.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size ="
            f" {list(src.shape)}, slice size = {list(positions.shape)}"
        )
    values = reshape(src.to(input.dtype), (-1,))
    flat = index_copy(reshape(input, (-1,)), 0, wrap(np.array(positions).reshape(-1)), values)
    return in_order_of(reshape(flat, shape), input)


__all__ = [
    "diagonal_scatter",
    "index_add", "index_copy", "index_fill", "index_put", "index_reduce", "masked_scatter", "put",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE = tuple(name for name in __all__ if name != "diagonal_scatter")
