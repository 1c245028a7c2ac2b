"""Sampling along a grid: which elements a point reads, by what weights, and their sums.

A point reads the same number of taps along each axis. Kernels sum them; without those the sums are
products with sparse matrices, one for each sample.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from wengert.kernels.chunks import FEW, plain, real_for, rows_of
from wengert.kernels.grid import fused, native
from wengert.kernels.precision import HALF

# Keys' convolution kernel at distances below 1, and from 1 to 2.
_A = -0.75
_NEAR = Polynomial([1, 0, -(_A + 3), _A + 2])
_FAR = Polynomial([-4 * _A, 8 * _A, -5 * _A, _A])


class Sampling(NamedTuple):
    """How points of [-1, 1] read an array: its size, and the options of `grid_sample`."""

    size: tuple[int, ...]
    mode: str
    padding: str
    align_corners: bool


def _coordinate(x: np.ndarray, n: int, align_corners: bool) -> tuple[np.ndarray, float]:
    """Where a point of [-1, 1] lies among `n` elements, and the derivative of that."""
    if align_corners:
        return (x + 1) / 2 * (n - 1), (n - 1) / 2
    at = np.multiply(x + 1, n, dtype=np.float64) - 1  # of float32, it is rounded only once
    return at.astype(x.dtype, copy=False) / 2, n / 2


def _reflected(x: np.ndarray, n: int, align_corners: bool) -> tuple[np.ndarray, np.ndarray]:
    """A coordinate mirrored at both ends as often as needed, and the sign of its derivative."""
    low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
    if span == 0:
        return np.zeros_like(x), np.zeros_like(x)
    away = x - low
    sign = np.where(away < 0, -1, 1).astype(x.dtype)
    turns, part = np.divmod(np.abs(away), x.dtype.type(span))
    odd = turns % 2 == 1
    return np.where(odd, span - part, part) + low, np.where(odd, -sign, sign)


def _within(x: np.ndarray, n: int, how: Sampling) -> tuple[np.ndarray, Any]:
    """A coordinate after padding, and its derivative: 0 where it was moved to an end."""
    if how.padding == "zeros":
        return x, 1
    slope: Any = 1
    if how.padding == "reflection":
        x, slope = _reflected(x, n, how.align_corners)
    inside = (x > 0) & (x < n - 1)
    return np.fmin(np.fmax(x, 0), n - 1), slope * inside.astype(x.dtype)  # nan becomes 0


def _cubic_weights(t: np.ndarray, order: int) -> np.ndarray:
    near, far = (_NEAR.deriv(order), _FAR.deriv(order)) if order else (_NEAR, _FAR)
    sign = (-1) ** order  # the last two taps lie ahead: their distance falls as t grows
    return np.stack([far(t + 1), near(t), sign * near(1 - t), sign * far(2 - t)], -1)


def _axis_weights(points: np.ndarray, n: int, how: Sampling, order: int) -> np.ndarray:
    """The weights of the taps along one axis, or a derivative of them: (..., taps)."""
    x, scale = _coordinate(points, n, how.align_corners)
    if how.mode == "bicubic":
        return _cubic_weights(x - np.floor(x), order).astype(x.dtype, copy=False) * scale**order
    if how.mode == "nearest":
        return np.full((*x.shape, 1), float(order == 0), x.dtype)
    x, slope = _within(x, n, how)
    if order == 0:
        t = x - np.floor(x)
        return np.stack([1 - t, t], -1)
    steepness = np.broadcast_to(slope * x.dtype.type(scale if order == 1 else 0), x.shape)
    return np.stack([-steepness, steepness], -1)


def _axis_positions(points: np.ndarray, n: int, how: Sampling) -> np.ndarray:
    """The elements that the taps along one axis read: (..., taps); -1 for none."""
    x, _ = _coordinate(points, n, how.align_corners)
    if how.mode == "bicubic":
        x = np.floor(x)[..., None] + np.arange(-1, 3, dtype=x.dtype)
        x, _ = _within(x, n, how)
    else:
        x, _ = _within(x, n, how)
        if how.mode == "nearest":
            x = np.rint(x)[..., None]
        else:
            x = np.floor(x)[..., None] + np.arange(2, dtype=x.dtype)
    return np.where((x >= 0) & (x <= n - 1), x, -1).astype(np.int64)


def _axes(points: np.ndarray, how: Sampling) -> Any:
    """The coordinates with the sizes that they are of: the last coordinate is of the first axis."""
    return zip(np.moveaxis(points, -1, 0)[::-1], how.size, strict=True)


def _joined(taps: np.ndarray) -> np.ndarray:
    """Pairs of taps, in the last two dimensions, in one."""
    return taps.reshape(*taps.shape[:-2], taps.shape[-2] * taps.shape[-1])


# Taps along each axis, and how `native.taps` knows what is outside.
_TAPS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
# Coordinates from which a kernel is worth it: NumPy takes some dozens of steps.
_FEW = 1 << 7


def _taps(points: np.ndarray, how: Sampling, orders: tuple[int, ...] | None) -> Any:
    """The positions and weights of all taps, of which one is None: weights if there are orders.

    None where there is no kernel. The orders are those of the axes.
    """
    run = real_for(points.dtype) if points.size >= _FEW and points.dtype not in HALF else None
    if run is None or (how.mode == "bicubic" and orders is not None and max(orders) > 1):
        return None
    axes, mode = len(how.size), _TAPS[how.mode]
    shape = (*points.shape[:-1], mode**axes)
    index = np.empty(shape, np.int64) if orders is None else None
    weight = None if orders is None else np.empty(shape, points.dtype)
    sizes = np.array(how.size)
    getattr(native.taps, run)(
        plain(points), sizes, sizes if orders is None else np.array(orders), index, weight, axes,
        mode, _PADDINGS[how.padding], int(how.align_corners), points.size // axes,
        rows_of(8 * mode**axes),
    )  # fmt: skip
    return index, weight


def weights(points: np.ndarray, how: Sampling, orders: tuple[int, ...]) -> np.ndarray:
    """The weights of all taps: (..., coordinates) to (..., taps).

    `orders` says how often they are differentiated by each coordinate.
    """
    compiled = _taps(points, how, orders[::-1])
    if compiled is not None:
        return compiled[1]
    total = np.ones((*points.shape[:-1], 1), points.dtype)
    for (x, n), order in zip(_axes(points, how), orders[::-1], strict=True):
        along = _axis_weights(x, n, how, order)
        total = _joined(total[..., None] * along[..., None, :])
    return total


def positions(points: np.ndarray, how: Sampling) -> np.ndarray:
    """The flat positions of all taps; one behind the last for none."""
    compiled = _taps(points, how, None)
    if compiled is not None:
        return compiled[0]
    total = np.zeros((*points.shape[:-1], 1), np.int64)
    for x, n in _axes(points, how):
        along = _axis_positions(x, n, how)[..., None, :]
        before = total[..., None]
        total = _joined(np.where((before < 0) | (along < 0), -1, before * n + along))
    total[total < 0] = np.prod(how.size)
    return total


def _matrix(index: np.ndarray, weight: np.ndarray, width: int) -> Any:
    """(points, taps) as a sparse matrix (points, elements and one for none)."""
    from scipy.sparse import csr_array

    points, taps = index.shape
    starts = np.arange(0, points * taps + 1, taps)
    return csr_array((weight.ravel(), index.ravel(), starts), (points, width + 1))


def _rows(x: np.ndarray) -> np.ndarray:
    """(channels, elements) as (elements, channels), and zeros for what lies outside."""
    rows = np.zeros((x.shape[1] + 1, x.shape[0]), x.dtype)
    rows[:-1] = x.T
    return rows


def _flat(x: np.ndarray) -> np.ndarray:
    """With one dimension in front of the last two."""
    return x.reshape(-1, *x.shape[-2:])


def _run(x: np.ndarray, index: np.ndarray, *others: np.ndarray) -> str | None:
    """The variant of kernels for these, where there is one that is worth it."""
    same = all(a.dtype == x.dtype for a in others) and x.dtype not in HALF
    return real_for(x.dtype) if same and x.size and index.size * x.shape[-2] >= FEW else None


def sample(x: np.ndarray, index: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weighted sums of elements: (..., channels, elements) to (..., channels, points)."""
    out = np.zeros((*x.shape[:-1], index.shape[-2]), x.dtype)
    run = _run(x, index, weight)
    if run is not None:
        (channels, width), (points, taps) = x.shape[-2:], index.shape[-2:]
        getattr(native.sample, run)(
            plain(x), plain(index), plain(weight), out, channels, width, points, taps,
            x.size // width, rows_of(4 * points * taps),
        )  # fmt: skip
    elif x.size and index.size:
        for to, a, i, w in zip(_flat(out), _flat(x), _flat(index), _flat(weight), strict=True):
            to[...] = (_matrix(i, w, a.shape[1]) @ _rows(a)).T
    return out


def spread(g: np.ndarray, index: np.ndarray, weight: np.ndarray, width: int) -> np.ndarray:
    """The adjoint of `sample` with respect to the elements."""
    out = np.zeros((*g.shape[:-1], width), g.dtype)
    run = _run(g, index, weight)
    if run is not None:
        channels, (points, taps) = g.shape[-2], index.shape[-2:]
        getattr(native.spread, run)(
            plain(g), plain(index), plain(weight), out, channels, width, points, taps,
            g.size // points, rows_of(4 * points * taps),
        )  # fmt: skip
    elif g.size and index.size:
        for to, a, i, w in zip(_flat(out), _flat(g), _flat(index), _flat(weight), strict=True):
            to[...] = (_matrix(i, w, width).T @ np.ascontiguousarray(a.T))[:-1].T
    return out


def responses(g: np.ndarray, x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The adjoint of `sample` with respect to the weights."""
    out = np.zeros(index.shape, g.dtype)
    run = _run(g, index, x)
    if run is not None:
        (channels, width), (points, taps) = x.shape[-2:], index.shape[-2:]
        blocks = -(-points // native.BLOCK)
        getattr(native.responses, run)(
            plain(g), plain(x), plain(index), out, channels, width, points, taps, blocks,
            index.size // (points * taps) * blocks, rows_of(4 * channels * native.BLOCK * taps),
        )  # fmt: skip
    elif g.size and index.size:
        for to, a, b, i in zip(_flat(out), _flat(g), _flat(x), _flat(index), strict=True):
            rows, columns = _rows(b), np.ascontiguousarray(a.T)
            for tap in range(i.shape[1]):
                to[:, tap] = np.vecdot(columns, rows[i[:, tap]])
    return out


def _options(how: Sampling) -> tuple[int, ...]:
    """How the fused kernels know where points read."""
    return len(how.size), _TAPS[how.mode], _PADDINGS[how.padding], int(how.align_corners)


def _fused(x: np.ndarray, points: np.ndarray, how: Sampling, *others: np.ndarray) -> str | None:
    """The variant of the fused kernels for these, where there is one that is worth it."""
    if not x.size or points.size < len(how.size) or any(a.dtype != x.dtype for a in others):
        return None
    same = points.dtype == x.dtype and x.dtype not in HALF
    return real_for(x.dtype) if same and points.size * x.shape[1] >= FEW else None


def _flat_points(points: np.ndarray) -> np.ndarray:
    """(batch, *out, axes) as (batch, points, axes)."""
    batch, *out, axes = points.shape
    return points.reshape(batch, prod(out), axes)


def _flat_elements(x: np.ndarray) -> np.ndarray:
    """(batch, channels, *space) as (batch, channels, elements)."""
    return x.reshape(*x.shape[:2], prod(x.shape[2:]))


def sampled(x: np.ndarray, points: np.ndarray, how: Sampling) -> np.ndarray:
    """(batch, channels, *space) at (batch, *out, axes): (batch, channels, *out)."""
    batch, channels, *_ = x.shape
    shape = (batch, channels, *points.shape[1:-1])
    run = _fused(x, points, how)
    if run is None:
        at, elements = _flat_points(points), _flat_elements(x)
        weight = weights(at, how, (0,) * len(how.size))
        return sample(elements, positions(at, how), weight).reshape(shape)
    out = np.empty(shape, x.dtype)
    width, count = prod(how.size), prod(shape[2:])
    blocks = -(-count // fused.BLOCK)
    getattr(fused.sampled, run)(
        plain(x), plain(points), np.array(how.size), out, channels, width, count, *_options(how),
        blocks, batch * blocks, rows_of(4 * (channels + 4) * fused.BLOCK),
    )  # fmt: skip
    return out


def input_gradient(
    g: np.ndarray, points: np.ndarray, how: Sampling, shape: tuple[int, ...]
) -> np.ndarray:
    """The adjoint of `sampled` with respect to the elements, which are of that shape."""
    batch, channels, *_ = shape
    width, count = prod(how.size), prod(points.shape[1:-1])
    run = _fused(g, points, how)
    if run is None:
        at, slopes = _flat_points(points), _flat_elements(g)
        weight = weights(at, how, (0,) * len(how.size))
        return spread(slopes, positions(at, how), weight, width).reshape(shape)
    out = np.zeros(shape, g.dtype)
    groups = -(-channels // fused.GROUP)
    getattr(fused.input_gradient, run)(
        plain(g), plain(points), np.array(how.size), out, channels, width, count, *_options(how),
        groups, batch * groups, rows_of(4 * (min(channels, fused.GROUP) + 4) * count),
    )  # fmt: skip
    return out


def points_gradient(g: np.ndarray, x: np.ndarray, points: np.ndarray, how: Sampling) -> np.ndarray:
    """The adjoint of `sampled` with respect to the points."""
    batch, channels, *_ = x.shape
    width, count, axes = prod(how.size), prod(points.shape[1:-1]), len(how.size)
    run = _fused(x, points, how, g)
    if run is None:
        at = _flat_points(points)
        products = responses(_flat_elements(g), _flat_elements(x), positions(at, how))
        orders = np.eye(axes, dtype=int).tolist()
        slopes = [np.vecdot(products, weights(at, how, tuple(order))) for order in orders]
        return np.stack(slopes, -1).reshape(points.shape)
    out = np.empty(points.shape, x.dtype)
    blocks = -(-count // fused.BLOCK)
    getattr(fused.grid_gradient, run)(
        plain(g), plain(x), plain(points), np.array(how.size), out, channels, width, count,
        *_options(how), blocks, batch * blocks, rows_of(4 * (channels + 12) * fused.BLOCK),
    )  # fmt: skip
    return out
