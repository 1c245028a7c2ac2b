"""Writing to slices and masked elements of arrays, after all checks: copies of them, or in place.

The functions in `IN_PLACE` write what an operation gives into its first array and answer whether
they have. What they leave to the operation, its errors included, they have not begun.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core.dtypes import of_numpy, scalar_array
from wengert.kernels.axes import axis_of
from wengert.ops.gathering import check_bounds, require_index, with_dims

if TYPE_CHECKING:
    from wengert.kernels.scatter import Key

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


def _checked_axis(name: str, input: np.ndarray, dim: int, index: Any) -> int:
    """The axis of a dimension along which a vector indexes; raises where it is none."""
    require_index(name, index, 3)
    axis = axis_of(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"{name}_(): Index should have dimension 1 or 0 (got {index.ndim})")
    return axis


def slices_at(axis: int, index: np.ndarray) -> Key:
    return (*(slice(None),) * axis, with_dims(index))


def added_axis(input: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> int:
    """The axis of `index_add`, after all checks."""
    axis = _checked_axis("index_add", input, dim, index)
    if index.dtype not in (_INT64, _INT32):
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
    check_bounds(index, with_dims(input).shape[axis], axis)
    return axis


def add_slices(
    out: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray, alpha: complex
) -> None:
    """Add the slices of `source`, times `alpha`, at indices that are in bounds."""
    # Python numbers do not wrap around: -1 with uint8 needs an array.
    scaled = source if alpha == 1 else (source * np.asarray(alpha)).astype(source.dtype)
    kernels.scatter.add_at(out, slices_at(axis, index), with_dims(scaled))


def copied_axis(input: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> int:
    """The axis of `index_copy`, after all checks."""
    axis = _checked_axis("index_copy", input, dim, index)
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
    return axis


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
    if not kernels.scatter.native.within(index, n):
        wrong = next(i for i in index.ravel().tolist() if not 0 <= i < n)
        raise IndexError(
            f"index_copy_(): index {wrong} is out of bounds for dimension {axis} with size {n}"
        )


def _fill_masked(array: np.ndarray, mask: Any, value: Any) -> bool:
    if type(mask) is not np.ndarray or mask.dtype != np.bool_ or mask.shape != array.shape:
        return False
    if type(value) is not float and type(value) is not int:
        return False
    number = scalar_array(value, of_numpy[array.dtype], "masked_fill")
    kernels.masks.put(array, mask, number)
    return True


def _add_rows(array: np.ndarray, dim: Any, index: Any, source: Any) -> bool:
    if not _are_rows(array, dim, index, source):
        return False
    add_slices(array, added_axis(array, dim, index, source), index, source, 1)
    return True


def _copy_rows(array: np.ndarray, dim: Any, index: Any, source: Any) -> bool:
    if not _are_rows(array, dim, index, source):
        return False
    array[slices_at(copied_axis(array, dim, index, source), index)] = source
    return True


def _are_rows(array: np.ndarray, dim: Any, index: Any, source: Any) -> bool:
    if type(dim) is not int or not array.ndim or not array.flags.c_contiguous:
        return False
    return type(index) is np.ndarray and type(source) is np.ndarray and source.ndim > 0


# By the name of the operation.
IN_PLACE: dict[str, Callable[..., bool]] = {
    "index_add": _add_rows, "index_copy": _copy_rows, "masked_fill": _fill_masked,
}  # fmt: skip
