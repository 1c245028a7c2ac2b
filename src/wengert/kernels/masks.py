"""The elements where a mask is true, and the places of what is not zero, as kernels."""

from __future__ import annotations

import numpy as np

from wengert.kernels.chunks import SOME, is_plain, plain, real_of
from wengert.kernels.jit import CHUNK, available, kernel
from wengert.kernels.jit.builtins import i64, i64s, reals, u8s

_BY_SIZE = {4: "f32", 8: "f64"}


@kernel
def _take(x: reals, mask: u8s, out: reals, count: i64, start: i64, stop: i64) -> None:
    """One piece of work. Each element is written to the next place until it is one to stay."""
    k = 0
    for i in range(start, stop):
        if k < count:
            out[k] = x[i]
        k = k + i64(mask[i])


@kernel
def _places(
    mask: u8s, before: i64s, out: i64s, count: i64, width: i64, rank: i64, start: i64, stop: i64
) -> None:
    """The same with the indices of elements; `before` has those of each row."""
    k = 0
    for row in range(start, stop):
        for j in range(width):
            if k < count:
                for d in range(rank - 1):
                    out[k * rank + d] = before[row * (rank - 1) + d]
                out[k * rank + rank - 1] = j
            k = k + i64(mask[row * width + j])


@kernel
def _spread(values: reals, mask: u8s, out: reals, count: i64, start: i64, stop: i64) -> None:
    """The adjoint of `_take`."""
    k = 0
    for i in range(start, stop):
        out[i] = values[min(k, count - 1)] if mask[i] != 0 else 0.0
        k = k + i64(mask[i])


@kernel
def _put(x: reals, mask: u8s, number: reals, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        if mask[i] != 0:
            x[i] = number[0]


@kernel
def _nonzero(x: reals, out: u8s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = x[i] != 0.0


def nonzero(array: np.ndarray) -> np.ndarray:
    """Which elements are not zero, of any shape; NaN is not."""
    run = real_of(array)
    if run is None:
        there: np.ndarray = array != 0
        return there
    out = np.empty(array.shape, bool)
    getattr(_nonzero, run)(array, out.view(np.uint8), array.size, CHUNK)
    return out


def _run(array: np.ndarray, mask: np.ndarray) -> str | None:
    """The variant of kernels for an array and a mask of its shape; None if NumPy has to do it."""
    if array.size < SOME or array.shape != mask.shape:
        return None
    if not (is_plain(array) and is_plain(mask) and available()):
        return None
    return _BY_SIZE.get(array.itemsize)


def taken(array: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """``array[mask]``."""
    run = _run(array, mask)
    if run is None:
        return array[mask]
    out = np.empty(np.count_nonzero(mask), array.dtype)
    getattr(_take, run)(array, mask, out, out.size, array.size, array.size)
    return out


def spread(values: np.ndarray, mask: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Zeros with `values` where a mask, of the first dimensions, is true."""
    out = np.zeros(shape, values.dtype)
    run = _run(out, mask)
    if run is None or not values.size or values.shape != (np.count_nonzero(mask),):
        out[mask] = values
        return out
    getattr(_spread, run)(plain(values), mask, out, values.size, out.size, out.size)
    return out


def put(array: np.ndarray, mask: np.ndarray, number: np.ndarray) -> None:
    """``array[mask] = number``, which is 0-d."""
    run = _run(array, mask) if number.dtype == array.dtype else None
    if run is None:
        if array.shape == mask.shape:
            np.copyto(array, number, where=mask, casting="unsafe")
        else:
            array[mask] = number
        return
    getattr(_put, run)(array, mask, number, array.size, CHUNK)


def places(array: np.ndarray) -> np.ndarray:
    """The indices of the elements that are not zero, a row each."""
    if not array.ndim or array.size < SOME or not available():
        return np.argwhere(array)
    mask = plain(array if array.dtype == bool else array != 0)
    rank, width = array.ndim, array.shape[-1]
    rows = array.size // width
    if rank == 2:
        before = np.arange(rows)
    else:
        before = np.indices(array.shape[:-1]).reshape(rank - 1, rows).T.copy()
    out = np.empty((np.count_nonzero(mask), rank), np.int64)
    _places.f32(mask, before, out, len(out), width, rank, rows, rows)
    return out
