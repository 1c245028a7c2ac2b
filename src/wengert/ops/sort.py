"""Sorting and ranking, unique values, and counting into bins.

Indices come from an operation without a derivative, values from picking at those indices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.kernels.axes import axis_of, length_of, moved
from wengert.kernels.jit import LARGE
from wengert.kernels.precision import widened
from wengert.ops._picking import picked, take_along
from wengert.ops._reducing import as_rows
from wengert.ops.batching import Batch, batch_along, leading
from wengert.ops.checks import not_implemented, varies
from wengert.ops.comparison import eq
from wengert.ops.declare import Value, primitive
from wengert.ops.gathering import elements
from wengert.ops.numbers import Number
from wengert.ops.numpy_names import either, either_dims
from wengert.ops.outputs import write_out
from wengert.ops.results import ValuesIndices, result_of
from wengert.ops.row_indices import Refusal, from_start
from wengert.ops.shape import reshape


def _require_tensor(name: str, **arguments: Any) -> None:
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not"
                f" {type(value).__name__}"
            )


@primitive(input=None, batch=batch_along("dim"), layout=("input",))
def argsort(input: Value, dim: int = -1, descending: bool = False, stable: bool = False) -> Value:
    """The indices that sort the input along `dim`. Always stable; nan counts as the largest.

    >>> import wengert
    >>> wengert.argsort(wengert.tensor([3.0, 1.0, 2.0]))
    tensor([1, 2, 0])
    """
    return _order(input, dim, descending)


@primitive(input=None, batch=batch_along("dim"), name="sort", layout=("input",))
def _sorted_places(input: Value, dim: int, descending: bool) -> Value:
    return _order(input, dim, descending)


def _order(input: np.ndarray, dim: int, descending: bool) -> Value:
    _check_ordered("sort", input)
    return kernels.ranking.order(input, axis_of(dim, input.ndim), descending)


def _check_ordered(name: str, array: np.ndarray) -> None:
    if array.dtype.kind == "c":
        raise RuntimeError(f" {name.capitalize()} does not support complex dtypes on CPU: {name}()"
                           f" got {dtypes.of_numpy[array.dtype]}")  # fmt: skip


def sort(
    input: Tensor,
    dim: int = -1,
    descending: bool = False,
    stable: bool = False,
    *,
    axis: int | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """The elements sorted along `dim`, and their original indices. Always stable.

    >>> import wengert
    >>> values, indices = wengert.sort(wengert.tensor([3.0, 1.0, 2.0]))
    >>> values
    tensor([1., 2., 3.])
    """
    if axis is not None:
        dim = either("sort", "dim", dim, axis, -1)
    if out is not None:
        return write_out(sort, out, input, dim, descending, stable)
    indices = _sorted_places(input, dim, descending)
    result: ValuesIndices = result_of("sort", take_along(input, indices, dim, True), indices)
    return result


def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements sorted along the first dimension.

    >>> import wengert
    >>> wengert.msort(wengert.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    if out is not None:
        return write_out(msort, out, input)
    return sort(input, 0).values


@primitive(input=None, batch=batch_along("dim"), name="topk", layout="contiguous")
def _top_places(input: Value, k: int, dim: int, largest: bool) -> Value:
    _check_ordered("topk", input)
    axis = axis_of(dim, input.ndim)
    if not 0 <= k <= length_of(input.shape, axis):
        raise RuntimeError(
            f"selected index k out of range: topk() got k={k} for dimension {axis} of size"
            f" {length_of(input.shape, axis)}"
        )
    return kernels.ranking.top(input, k, axis, largest)


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    axis: int | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """The k largest (or smallest) elements along `dim` and their indices, best first.

    >>> import wengert
    >>> wengert.topk(wengert.tensor([3.0, 1.0, 2.0]), 2).values
    tensor([3., 2.])
    """
    if axis is not None:
        dim = either("topk", "dim", dim, axis, -1)
    if out is not None:
        return write_out(topk, out, input, k, dim, largest, sorted)
    indices = _top_places(input, k, dim, largest)
    result: ValuesIndices = result_of("topk", take_along(input, indices, dim, True), indices)
    return result


@primitive(input=None, batch=batch_along("dim"), name="kthvalue", layout="contiguous")
def _kth_place(input: Value, k: int, dim: int, keepdim: bool) -> Value:
    _check_ordered("kthvalue", input)
    axis = axis_of(dim, input.ndim)
    if not input.size:
        kernels.selection.check_not_empty(input, axis, "kthvalue")
    if not 1 <= k <= length_of(input.shape, axis):
        raise RuntimeError(
            f"kthvalue(): selected number k out of range for dimension {axis}: got k={k} for size"
            f" {length_of(input.shape, axis)}"
        )
    return kernels.selection.drop_axis(kernels.ranking.kth(input, k - 1, axis), axis, keepdim)


def kthvalue(
    input: Tensor,
    k: int,
    dim: int = -1,
    keepdim: bool = False,
    *,
    axis: int | None = None,
    keepdims: bool | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> ValuesIndices:
    """The k-th smallest element along `dim` (k counts from 1) and its index.

    >>> import wengert
    >>> wengert.kthvalue(wengert.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("kthvalue", dim, axis, keepdim, keepdims, -1)
    if out is not None:
        return write_out(kthvalue, out, input, k, dim, keepdim)
    return picked("kthvalue", input, _kth_place(input, k, dim, keepdim), dim, keepdim)


def _with_extras(outputs: Any) -> Any:
    """The values alone, or a tuple with the requested extras."""
    results = [wrap(x) for x in outputs if x is not None]
    return results[0] if len(results) == 1 else tuple(results)


def _axis_of_entries(name: str, array: np.ndarray, dim: int) -> int:
    """The axis of a dimension along which the entries are not empty."""
    axis = axis_of(dim, array.ndim)
    if not array.ndim:
        raise IndexError(
            f"Dimension specified as {dim} but tensor has no dimensions: {name}() got a number"
        )
    if 0 in array.shape[:axis] + array.shape[axis + 1 :]:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied:"
            f" {name}() got shape {list(array.shape)} and dim={dim}"
        )
    return axis


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in ascending order, or the distinct slices along `dim`.

    With `return_inverse`, the index of each element in the result; with `return_counts`, how
    often each occurs. The result has no derivative.

    >>> import wengert
    >>> wengert.unique(wengert.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    _require_tensor("unique", input=input)
    array = elements("unique", input)
    axis = None if dim is None else _axis_of_entries("unique", array, dim)
    if axis is None:
        return _with_extras(kernels.distinct.elements(array, return_inverse, return_counts))
    results = kernels.distinct.rows(moved(array, axis, 0), return_inverse, return_counts)
    return _with_extras(results._replace(values=moved(results.values, 0, axis)))


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements, or the slices along `dim`, without immediate repetitions.

    >>> import wengert
    >>> wengert.unique_consecutive(wengert.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    _require_tensor("unique_consecutive", input=input)
    array = elements("unique_consecutive", input)
    axis = 0 if dim is None else _axis_of_entries("unique_consecutive", array, dim)
    entries = array.reshape(-1) if dim is None else moved(array, axis, 0)
    values, inverse, counts = kernels.distinct.consecutive(entries, return_inverse, return_counts)
    if inverse is not None and dim is None:
        inverse = inverse.reshape(array.shape)
    return _with_extras((moved(values, 0, axis), inverse, counts))


def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Where each value would be inserted to keep a sequence sorted.

    The sequence is 1-D, or has the leading dimensions of `input` and is searched row by row.
    `side="right"` (or `right=True`) finds the position after equal elements.

    >>> import wengert
    >>> wengert.searchsorted(wengert.tensor([1, 3, 5]), wengert.tensor([3, 4]))
    tensor([1, 2])
    """
    if out is not None:
        return write_out(
            searchsorted,
            out,
            sorted_sequence,
            input,
            out_int32=out_int32,
            right=right,
            side=side,
            sorter=sorter,
        )
    name = "torch.searchsorted()"
    _require_tensor("searchsorted", sorted_sequence=sorted_sequence)
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            f"{name}: side and right can't be set to opposites, got side of left while right was"
            " True"
        )
    values = input if isinstance(input, Tensor) else wrap(np.asarray(input))
    for x in (values, sorted_sequence):
        if x._outline.dtype.kind in "bc":
            raise not_implemented("searchsorted_out_cpu", x._outline)
    edges, shape = tuple(sorted_sequence.shape), tuple(values.shape)
    if not edges:
        raise RuntimeError(f"{name}: boundaries tensor should have positive dimension")
    if len(edges) > 1 and edges[:-1] != shape[:-1]:
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of"
            " boundaries tensor and input value tensor must match, but we got boundaries tensor"
            f" {list(edges)} and input value tensor {list(shape)}"
        )
    if sorter is not None:
        sorted_sequence = _reordered(sorted_sequence, sorter)
    return _insertion(sorted_sequence, values, right or side == "right", out_int32)


def _reordered(edges: Tensor, sorter: Tensor) -> Tensor:
    if sorter.shape != edges.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary"
            f" tensor {list(edges.shape)} and got sorter tensor {list(sorter.shape)}"
        )
    n, order = edges.shape[-1], memory_of(sorter)
    if order.dtype != np.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype"
            f" {dtypes.of_numpy[order.dtype].short}"
        )
    if order.size and not (order.min() >= 0 and order.max() < n):
        raise RuntimeError(f"torch.searchsorted(): sorter index out of range, expected [0, {n})")
    if varies(sorter):
        refuse = Refusal("RuntimeError", "torch.searchsorted(): sorter index ", " is out of range")
        sorter = from_start(sorter, 0, n, refuse)
    return take_along(edges, sorter, -1, True)


def _insertion_in_batch(b: Batch) -> Any:
    if b.rank("sorted_sequence") > 1:
        return leading(b)
    if "sorted_sequence" not in b.batched:
        return b()
    return reshape(b(input=as_rows(b, "input")), (b.size, *b.shape("input")))


@primitive(
    sorted_sequence=None, input=None, mixed=False, batch=_insertion_in_batch, name="searchsorted"
)
def _insertion(sorted_sequence: Value, input: Value, right: bool, out_int32: bool) -> Value:
    positions = kernels.ranking.insertions(widened(sorted_sequence), widened(input), right)
    return positions.astype(np.int32 if out_int32 else np.int64, copy=False)


def bucketize(
    input: Tensor | float,
    boundaries: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """The index of the bucket, between sorted 1-D `boundaries`, that each value falls into.

    >>> import wengert
    >>> wengert.bucketize(wengert.tensor([0, 2, 9]), wengert.tensor([1, 3, 5]))
    tensor([0, 1, 3])
    """
    if out is not None:
        return write_out(bucketize, out, input, boundaries, out_int32=out_int32, right=right)
    if not isinstance(boundaries, Tensor):
        raise TypeError(
            "bucketize(): argument 'boundaries' (position 2) must be Tensor, not"
            f" {type(boundaries).__name__}"
        )
    if boundaries._outline.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries._outline.ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The count (or sum of weights) of each number from 0 in a 1-D tensor of integers.

    >>> import wengert
    >>> wengert.bincount(wengert.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    _require_tensor("bincount", input=input)
    array = input._array
    if array.dtype.kind not in "iu":
        raise NotImplementedError(
            f'"bincount_cpu" not implemented for {dtypes.of_numpy[array.dtype].short!r}'
        )
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, but got {minlength}")
    values = elements("bincount", input) if input._memoryless else memory_of(input)
    if array.ndim != 1 or (values.size and _least(values) < 0):
        raise RuntimeError(
            "bincount only supports 1-d non-negative integral inputs. Got shape"
            f" {list(array.shape)}" + (f" and minimum {values.min()}" if values.size else "")
        )
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError(
            "weights should be 1-d and have the same length as input, but got"
            f" {list(weights.shape)} and {list(array.shape)}"
        )
    return _counts(input, weights, minlength)


def _least(values: np.ndarray) -> int:
    if values.dtype == np.int64:
        return kernels.ranking.integer_ends(values)[0]
    return int(values.min())


@primitive(input=None, weights=None, mixed=False, batch=leading, name="bincount")
def _counts(input: Value, weights: Value, minlength: int) -> Value:
    """Counts along the last dimension, for each of the others."""
    weight_values = None if weights is None else weights.reshape(-1).astype(np.float64, copy=False)
    if input.ndim == 1 and weights is None:
        counts = kernels.histogram.occurrences(input, minlength)
    elif input.ndim == 1:
        counts = np.bincount(input.astype(np.int64, copy=False), weight_values, minlength)
    else:
        counts = _counts_of_rows(input, weight_values, minlength)
    if weights is None:
        return counts.astype(np.int64, copy=False)
    return counts.astype(np.float32) if weights.dtype == np.float32 else counts


def _counts_of_rows(input: np.ndarray, weights: np.ndarray | None, minlength: int) -> np.ndarray:
    """Of vectors, whose counts have to be of one length."""
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    rows = rows.astype(np.int64, copy=False)
    lengths = np.maximum(rows.max(1, initial=-1) + 1, minlength)
    width = int(lengths.max(initial=0))
    if (lengths != width).any():
        raise RuntimeError(
            f"vmap: bincount() of samples whose largest numbers differ: minlength is {minlength},"
            f" and {width} would give all samples results of one length"
        )
    cells = rows + np.arange(len(rows))[:, None] * width
    counts = np.bincount(cells.reshape(-1), weights, len(rows) * width)
    return counts.reshape(*input.shape[:-1], width)


def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Tensor | None = None
) -> Tensor:
    """Counts in `bins` equal bins between `min` and `max`; both 0 means the input's range.

    Elements outside the range are not counted.

    >>> import wengert
    >>> wengert.histc(wengert.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if out is not None:
        return write_out(histc, out, input, bins, min, max)
    _require_tensor("histc", input=input)
    dtype = dtypes.of_numpy[input._outline.dtype]
    if dtype.category != dtypes.FLOAT:
        raise NotImplementedError(f'"histogram_cpu" not implemented for {dtype.short!r}')
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    return _histogram(input.reshape(-1), bins, float(min), float(max))


@primitive(input=None, batch=leading, name="histc")
def _histogram(input: Value, bins: int, low: float, high: float) -> Value:
    """Counts along the last dimension, for each of the others."""
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    if low == high and rows.size:
        lows = np.minimum.reduce(rows, 1).astype(np.float64)
        highs = np.maximum.reduce(rows, 1).astype(np.float64)
    else:
        lows, highs = np.full(len(rows), low), np.full(len(rows), high)
    ends = list(zip(lows.tolist(), highs.tolist(), strict=True))  # of few rows
    if any([a == b for a, b in ends]):
        flat = lows == highs
        lows, highs = lows - flat, highs + flat
    if not all([math.isfinite(a) and math.isfinite(b) for a, b in ends]):
        raise RuntimeError(f"torch.histc: range of [{lows.min()}, {highs.max()}] is not finite")
    if any([a > b for a, b in ends]):
        raise RuntimeError(f"torch.histc: max must be larger than min, but got [{low}, {high}]")
    found = kernels.histogram.counts(rows, lows, highs, bins)
    return found.reshape(*input.shape[:-1], bins).astype(input.dtype)


def isin(
    elements: Tensor | float,
    test_elements: Tensor | float,
    *,
    assume_unique: bool = False,
    invert: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Whether each element is among the test elements.

    >>> import wengert
    >>> wengert.isin(wengert.tensor([1, 2, 3]), wengert.tensor([2, 5]))
    tensor([False,  True, False])
    """
    if out is not None:
        return write_out(
            isin, out, elements, test_elements, assume_unique=assume_unique, invert=invert
        )
    given = (elements, test_elements)
    if not any(isinstance(x, Tensor) for x in given) or not all(
        isinstance(x, (Tensor, *Number)) for x in given
    ):
        raise TypeError(
            "isin(): arguments 'elements' and 'test_elements' must be a Tensor and a Tensor or a"
            f" number, not {type(elements).__name__} and {type(test_elements).__name__}"
        )
    a, b = (x if isinstance(x, Tensor) else wrap(np.asarray(x)) for x in (elements, test_elements))
    for x in (a, b):
        if x._outline.dtype.kind in "bc":
            short = dtypes.of_numpy[x._outline.dtype].short
            raise RuntimeError(f"Unsupported input type encountered for isin(): {short}")
    return _members(a, b, assume_unique, invert)


def _members_in_batch(b: Batch) -> Any:
    if "test_elements" not in b.batched:
        return b()
    each = reshape(as_rows(b, "elements"), (b.size, -1, 1))
    others = reshape(b.values["test_elements"], (b.size, 1, -1))
    members = eq(each, others).any(2)
    return reshape(~members if b.params["invert"] else members, (b.size, *b.shape("elements")))


@primitive(elements=None, test_elements=None, mixed=False, batch=_members_in_batch, name="isin")
def _members(elements: Value, test_elements: Value, assume_unique: bool, invert: bool) -> Value:
    a, b = widened(elements), widened(test_elements)
    if a.size * b.size <= LARGE:
        members = np.logical_or.reduce(a.reshape(-1, 1) == b.ravel(), axis=1).reshape(a.shape)
        return np.logical_not(members) if invert else members
    return np.isin(a, b, assume_unique=assume_unique, invert=invert)


__all__ = [
    "argsort", "bincount", "bucketize", "histc", "isin", "kthvalue", "msort", "searchsorted",
    "sort", "topk", "unique", "unique_consecutive",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "argsort", "bincount", "histc", "kthvalue", "msort", "sort", "topk", "unique",
    "unique_consecutive",
)  # fmt: skip
INPLACE: tuple[str, ...] = ()
