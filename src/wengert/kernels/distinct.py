"""The distinct elements of an array, or its distinct rows, in ascending order."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from wengert.kernels.chunks import FEW, SOME
from wengert.kernels.jit import LARGE, available
from wengert.kernels.precision import widened
from wengert.kernels.ranking import integer_ends, order


class Distinct(NamedTuple):
    """Elements or rows, and as far as they are wanted where each one went and how often it is."""

    values: np.ndarray
    inverse: np.ndarray | None
    counts: np.ndarray | None


def elements(array: np.ndarray, inverse: bool, counts: bool) -> Distinct:
    """The distinct elements; NaN is unlike any other."""
    flat = widened(array).ravel()
    if flat.dtype == np.int64 and (found := _close_integers(flat, inverse, counts)) is not None:
        went = None if found.inverse is None else found.inverse.reshape(array.shape)
        return found._replace(inverse=went)
    # Where order is compiled, it is the quicker way.
    places = order(flat, 0) if inverse or flat.size >= LARGE else None
    ranked = np.sort(flat) if places is None else flat[places]
    fresh = _fresh(ranked)
    values = ranked[fresh].astype(array.dtype, copy=False)
    went = _went(fresh, places).reshape(array.shape) if inverse and places is not None else None
    return Distinct(values, went, _counts(fresh) if counts else None)


def _close_integers(flat: np.ndarray, inverse: bool, counts: bool) -> Distinct | None:
    """The distinct integers, all from the first to the last counted; None if most are not there."""
    # By themselves few are quicker sorted.
    if flat.size < (FEW if inverse or counts else 2 * SOME) or not available():
        return None
    low, high = integer_ends(flat)
    if high - low > 2 * flat.size:
        return None
    above = flat - low
    often = np.bincount(above)
    values = np.flatnonzero(often)
    went = None
    if inverse:
        numbers = np.empty(len(often), np.int64)
        numbers[values] = np.arange(len(values))
        went = numbers[above]
    return Distinct(values + low, went, often[values] if counts else None)


def rows(array: np.ndarray, inverse: bool, counts: bool) -> Distinct:
    """The distinct entries along the first axis."""
    n = len(array)
    flat = widened(array).reshape(n, prod(array.shape[1:]))
    places = np.argsort(_bytes(flat), kind="stable") if flat.size else np.arange(n)
    fresh = _fresh(flat[places])
    went = _went(fresh, places) if inverse else None
    return Distinct(_taken(array, places[fresh]), went, _counts(fresh) if counts else None)


def consecutive(array: np.ndarray, inverse: bool, counts: bool) -> Distinct:
    """The entries along the first axis without immediate repetitions."""
    n = len(array)
    fresh = _fresh(array.reshape(n, prod(array.shape[1:])) if array.ndim > 1 else array)
    went = np.cumsum(fresh, dtype=np.int64) - 1 if inverse else None
    return Distinct(_taken(array, fresh), went, _counts(fresh) if counts else None)


def _taken(array: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Entries along the first axis, in C order."""
    return np.ascontiguousarray(array[places])


def _fresh(ranked: np.ndarray) -> np.ndarray:
    """Which entries are unlike the one before."""
    fresh = np.ones(len(ranked), bool)
    unlike = ranked[1:] != ranked[:-1]
    fresh[1:] = unlike if ranked.ndim == 1 else unlike.any(axis=1)
    return fresh


def _went(fresh: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each place the number of the distinct entry that it has."""
    found = np.empty(len(fresh), np.int64)
    found[places] = np.cumsum(fresh, dtype=np.int64) - 1
    return found


def _counts(fresh: np.ndarray) -> np.ndarray:
    starts = fresh.nonzero()[0]
    counts = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=counts[:-1])
    counts[-1:] = len(fresh) - starts[-1:]
    return counts


def _bytes(matrix: np.ndarray) -> np.ndarray:
    """Rows as strings of bytes that are in their order: numbers without sign, high bytes first."""
    width = matrix.dtype.itemsize
    unsigned = np.dtype(f"u{width}")
    if matrix.dtype.kind == "f":
        whole = (matrix + 0).view(unsigned)  # no -0
        negative = whole >> unsigned.type(8 * width - 1) != 0
        keys = np.where(negative, ~whole, whole | unsigned.type(1 << (8 * width - 1)))
    elif matrix.dtype.kind == "i":
        keys = matrix.view(unsigned) ^ unsigned.type(1 << (8 * width - 1))
    else:
        keys = matrix.view(unsigned)
    big = np.ascontiguousarray(keys.astype(unsigned.newbyteorder(">")))
    return big.view(np.dtype((np.void, big.shape[1] * width))).ravel()
