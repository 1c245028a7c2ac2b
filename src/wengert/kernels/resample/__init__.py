"""Linear maps along one axis that gather a few weighted neighbours: resizing and padding."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wengert.kernels.chunks import SOME, pays_off
from wengert.kernels.layout import contiguous, is_channels_last
from wengert.kernels.resample.native import planes, resampled, runs


class Taps(NamedTuple):
    """For each output position along an axis, the inputs that it is made of.

    `source` and `weight` are (taps, out); without weights there is one tap, of weight one. A
    source of -1 is none, for outputs that are made of fewer inputs than others; the first is one.
    """

    axis: int
    source: np.ndarray
    weight: np.ndarray | None
    size: int


def _weighted(x: np.ndarray, taps: Taps, row: int) -> np.ndarray:
    """Slices along the axis, each times its weight in a row of taps; zeros for those of none."""
    assert taps.weight is not None
    weight = taps.weight[row].astype(x.real.dtype, copy=False)
    product = x * weight.reshape(-1, *(1,) * (x.ndim - taps.axis - 1))
    missing = taps.source[row] < 0
    if missing.any():
        product[(slice(None),) * taps.axis + (missing,)] = 0
    return product


def gather(x: np.ndarray, taps: Taps) -> np.ndarray:
    """The output along the axis of the taps."""
    if pays_off(x.size, SOME):
        found = resampled(x, taps.source, taps.weight, taps.axis, None)
        if found is not None:
            return found
    if taps.weight is None:
        return np.take(x, taps.source[0], axis=taps.axis)
    total = _weighted(np.take(x, taps.source[0], axis=taps.axis), taps, 0)
    for row in range(1, len(taps.source)):
        total += _weighted(np.take(x, taps.source[row], axis=taps.axis), taps, row)
    return total


def scatter(g: np.ndarray, taps: Taps) -> np.ndarray:
    """The adjoint of `gather`."""
    if pays_off(g.size, SOME):
        found = resampled(g, taps.source, taps.weight, taps.axis, taps.size)
        if found is not None:
            return found
    shape = (*g.shape[: taps.axis], taps.size, *g.shape[taps.axis + 1 :])
    total = np.zeros(shape, g.dtype)
    for row, index in enumerate(taps.source):
        weighted = g if taps.weight is None else _weighted(g, taps, row)
        _add_rows(total, index, weighted, taps.axis)
    return total


def gather_all(x: np.ndarray, taps: tuple[Taps, ...]) -> np.ndarray:
    """The output along the axes of all taps, one after the other."""
    found = _of_planes(x, taps, adjoint=False)
    if found is not None:
        return found
    if is_channels_last(x):
        return _with_channels_last(gather, x, taps)
    for along in taps:
        x = gather(x, along)
    return x


def scatter_all(g: np.ndarray, taps: tuple[Taps, ...]) -> np.ndarray:
    """The adjoint of `gather_all`."""
    found = _of_planes(g, taps, adjoint=True)
    if found is not None:
        return found
    if is_channels_last(g):
        return _with_channels_last(scatter, g, taps[::-1])
    for along in reversed(taps):
        g = scatter(g, along)
    return g


def _with_channels_last(
    along_one: Callable[[np.ndarray, Taps], np.ndarray], x: np.ndarray, taps: tuple[Taps, ...]
) -> np.ndarray:
    """Along the axes of all taps of images that lie with their channels last, as the result does.

    They are read as they lie: what is blended are runs of channels.
    """
    n = x.ndim
    x = contiguous(x.transpose(0, *range(2, n), 1))
    for axis, source, weight, size in taps:
        place = axis - 1 if axis > 1 else axis * (n - 1)
        x = along_one(x, Taps(place, source, weight, size))
    return x.transpose(0, n - 1, *range(1, n - 1))


def _of_planes(x: np.ndarray, taps: tuple[Taps, ...], adjoint: bool) -> np.ndarray | None:
    """Rows and columns in one pass; None if these are no such taps, or no kernel can."""
    if not pays_off(x.size, SOME) or not are_of_planes(x.ndim, taps):
        return None
    rows, columns = sorted(taps, key=lambda along: along.axis)
    size = (rows.size, columns.size) if adjoint else None
    if x.ndim == 4 and is_channels_last(x):
        last = contiguous(x.transpose(0, 2, 3, 1))
        found = runs(last, rows.source[0], columns.source[0], size)
        return None if found is None else found.transpose(0, 3, 1, 2)
    return planes(x, rows.source[0], columns.source[0], size)


def are_of_planes(rank: int, taps: tuple[Taps, ...]) -> bool:
    """Whether taps name rows and columns, without weights."""
    return (
        len(taps) == 2
        and taps[0].weight is None
        and taps[1].weight is None
        and {taps[0].axis, taps[1].axis} == {rank - 2, rank - 1}
        and all([t.source.dtype == np.int64 and t.source.flags.c_contiguous for t in taps])
    )


def _add_rows(total: np.ndarray, index: np.ndarray, g: np.ndarray, axis: int) -> None:
    """Add the slices of `g` along an axis to those of `total` that the index names.

    In turns, in each of which a target comes once: `np.add.at` would take far longer.
    """
    order = np.argsort(index, kind="stable")[np.count_nonzero(index < 0) :]
    ordered = index[order]
    turn = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    lead = (slice(None),) * axis
    for k in range(int(turn.max(initial=-1)) + 1):
        chosen = order[turn == k]
        total[(*lead, _as_slice(index[chosen]))] += g[(*lead, _as_slice(chosen))]


def _as_slice(index: np.ndarray) -> slice | np.ndarray:
    """The index as a slice if it is one that ascends evenly: NumPy need not gather then."""
    if len(index) == 1:
        return slice(int(index[0]), int(index[0]) + 1)
    steps = np.diff(index)
    if steps[0] > 0 and (steps == steps[0]).all():
        return slice(int(index[0]), int(index[-1]) + 1, int(steps[0]))
    return index
