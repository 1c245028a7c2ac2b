"""Pooling: window sums, and the positions of maxima.

Arrays are (batch, channel, *space). Window sums are taken one dimension after the other.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from wengert.kernels.geometry import Geometry, Shape, offsets
from wengert.kernels.layout import contiguous
from wengert.kernels.pool import native
from wengert.kernels.pool.volumes import are_images, as_images, as_volumes, windows_of
from wengert.kernels.precision import narrowed, widened
from wengert.kernels.scatter import native as scatter_native

# Elements from which kernels pay off: NumPy needs several calls per kernel tap.
_MANY = 32


def enclosed(x: np.ndarray, padding: tuple[tuple[int, int], ...], value: float) -> np.ndarray:
    """`x` padded with `value` in its spatial dimensions; itself if there is no padding."""
    if not any(map(any, padding)):
        return x
    return np.pad(x, ((0, 0), (0, 0), *padding), constant_values=value)


def _index_along(axis: int, ndim: int, taps: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, taps, *(slice(None),) * (ndim - axis - 1))


def _tap_slices(d: int, kernel: Shape, out: Shape, geometry: Geometry) -> list[slice]:
    """The slice read by each kernel tap along spatial dimension `d`."""
    stride, dilation = geometry.stride[d], geometry.dilation[d]
    starts = (k * dilation for k in range(kernel[d]))
    return [slice(k, k + (out[d] - 1) * stride + 1, stride) for k in starts]


def window_sum(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray:
    """The sum of each window, including zeros around the input."""
    if are_images(x):
        return as_images(window_sum(as_volumes(x), *windows_of(x.shape[1], kernel, out, geometry)))
    if x.size >= _MANY:
        x = contiguous(x)
        sums = native.sum_planes(x, kernel, out, geometry)
        if sums is not None:
            return sums
    x = enclosed(x, geometry.padding, 0)
    for d in range(len(kernel)):
        axis = d + 2
        if kernel[d] == x.shape[axis]:
            x = np.add.reduce(x, axis=axis, keepdims=True)
            continue
        first, *others = _tap_slices(d, kernel, out, geometry)
        total = x[_index_along(axis, x.ndim, first)].copy()
        for taps in others:
            total += x[_index_along(axis, x.ndim, taps)]
        x = total
    return x


def window_spread(g: np.ndarray, kernel: Shape, size: Shape, geometry: Geometry) -> np.ndarray:
    """The adjoint of `window_sum`: each value added to the whole of its window."""
    if are_images(g):
        windows, sizes, volumes = windows_of(g.shape[1], kernel, size, geometry)
        return as_images(window_spread(as_volumes(g), windows, sizes, volumes))
    if g.size * prod(kernel) >= _MANY:
        g = contiguous(g)
        spread = native.spread_planes(g, kernel, size, geometry)
        if spread is not None:
            return spread
    out = g.shape[2:]
    for d in reversed(range(len(kernel))):
        axis, (low, high) = d + 2, geometry.padding[d]
        shape = (*g.shape[:axis], size[d] + low + high, *g.shape[axis + 1 :])
        if kernel[d] == shape[axis]:
            total = np.broadcast_to(g, shape)
        else:
            total = np.zeros(shape, g.dtype)
            for taps in _tap_slices(d, kernel, out, geometry):
                total[_index_along(axis, g.ndim, taps)] += g
        g = total[_index_along(axis, g.ndim, slice(low, low + size[d]))]
    return np.ascontiguousarray(g)


def _flat(positions: list[np.ndarray], size: Shape) -> np.ndarray:
    """Flat positions in a plane of that size, from positions in each dimension."""
    flat = np.zeros((1,) * len(size), np.int64)
    for d, of_axis in enumerate(positions):
        flat = flat + (of_axis * prod(size[d + 1 :])).reshape(-1, *(1,) * (len(size) - d - 1))
    return flat


def lowest(dtype: np.dtype) -> float:
    """The smallest value of a dtype."""
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@lru_cache(maxsize=256)
def hollow_windows(
    size: Shape, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray] | None:
    """A mask of windows wholly in the padding, and for all windows the first position inside.

    None if there are none: without dilation, padding is too narrow for that.
    """
    if max(geometry.dilation) == 1:
        return None
    mask, positions = np.zeros(out, bool), np.zeros(out, np.int64)
    for d, (n, k, o) in enumerate(zip(size, kernel, out, strict=True)):
        step = geometry.dilation[d]
        start = np.arange(o) * geometry.stride[d] - geometry.padding[d][0]
        first = start + -(np.minimum(start, 0) // step) * step
        column = (-1, *(1,) * (len(size) - d - 1))
        mask |= ((first >= n) | (first > start + (k - 1) * step)).reshape(column)
        positions += first.reshape(column) * prod(size[d + 1 :])
    return (mask, positions) if mask.any() else None


def max_pool(
    x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray]:
    """The maximum of each window, and `max_positions` in int32 where that can hold them."""
    if are_images(x):
        channels = x.shape[1]
        found = max_pool(as_volumes(x), *windows_of(channels, kernel, out, geometry))
        values, positions = map(as_images, found)
        return values, positions // positions.dtype.type(channels)
    x = contiguous(x)
    maxima = native.max_planes(x, kernel, out, geometry) if x.size >= _MANY else None
    if maxima is None:
        wide = widened(x)
        positions = _max_positions(wide, kernel, out, geometry)
        if prod(x.shape[2:]) < 1 << 31:
            positions = positions.astype(np.int32)
        maxima = narrowed(take_positions(wide, positions, len(kernel)), x.dtype), positions
    hollow = hollow_windows(x.shape[2:], kernel, out, geometry)
    if hollow is not None:
        values, positions = maxima
        values[..., hollow[0]] = lowest(x.dtype)
        positions[..., hollow[0]] = 0
    return maxima


def max_positions(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray:
    """Flat positions, within the unpadded plane, of the first maximum of each window.

    A nan counts as largest, and the last of several is taken, as in PyTorch. A window that lies
    wholly in the padding has position 0.
    """
    if are_images(x):
        channels = x.shape[1]
        found = max_positions(as_volumes(x), *windows_of(channels, kernel, out, geometry))
        return as_images(found) // channels
    x = contiguous(x)
    both = native.max_planes(x, kernel, out, geometry) if x.size >= _MANY else None
    if both is None:
        positions = _max_positions(x, kernel, out, geometry)
    else:
        positions = both[1].astype(np.int64)
    hollow = hollow_windows(x.shape[2:], kernel, out, geometry)
    if hollow is not None:
        positions[..., hollow[0]] = 0
    return positions


def _max_positions(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray:
    """`max_positions` in NumPy; arbitrary for a window wholly in the padding."""
    size, stride, dilation = x.shape[2:], geometry.stride, geometry.dilation
    lows = [low for low, _ in geometry.padding]
    starts = [np.arange(n) * s - low for n, s, low in zip(out, stride, lows, strict=True)]
    # The first position that is not padding: the result if nothing in the window is larger.
    inside = [
        np.minimum(np.maximum(-t, 0) // -d * -1, k - 1)
        for t, d, k in zip(starts, dilation, kernel, strict=True)
    ]
    taps = np.empty((*x.shape[:2], *out), np.min_scalar_type(prod(kernel)))
    taps[...] = _flat(inside, kernel)
    has_nan = x.dtype.kind not in "iub" and x.size > 0 and bool(np.isnan(x.max()))
    x = enclosed(x, geometry.padding, lowest(x.dtype))
    best = np.full(taps.shape, lowest(x.dtype), x.dtype)
    larger, later = np.empty(taps.shape, bool), np.empty_like(taps)
    for k, (_, slices) in enumerate(offsets(kernel, out, geometry)):
        values = x[:, :, *slices]
        np.greater(values, best, out=larger)
        if has_nan:
            larger |= np.isnan(values)
        np.maximum(best, values, out=best)
        # The tap that is larger, without a branch: later taps have larger numbers.
        np.multiply(larger, taps.dtype.type(k), out=later)
        np.maximum(taps, later, out=taps)
    moves = [np.arange(k) * d for k, d in zip(kernel, dilation, strict=True)]
    positions = _flat(moves, size).ravel()[taps]
    positions += _flat(starts, size)
    return np.minimum(positions, prod(size) - 1, out=positions)


def region_bounds(size: int, out: int) -> list[tuple[int, int]]:
    """The starts and ends of adaptive pooling's windows along one dimension."""
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def _largest(rows: np.ndarray) -> np.ndarray:
    """The position of the first maximum of each row; of the last nan if there are any."""
    best: np.ndarray = rows.argmax(-1)
    missing = np.isnan(rows)
    if missing.any():
        last = rows.shape[-1] - 1 - missing[..., ::-1].argmax(-1)
        best = np.where(missing.any(-1), last, best)
    return best


def region_max_positions(x: np.ndarray, out: Shape) -> np.ndarray:
    """Flat positions of the maxima of adaptive pooling's windows."""
    size = x.shape[2:]
    positions = np.empty((*x.shape[:2], *out), np.int64)
    bounds = [region_bounds(n, o) for n, o in zip(size, out, strict=True)]
    for window in np.ndindex(*out):
        low, high = zip(*(b[i] for b, i in zip(bounds, window, strict=True)), strict=True)
        region = x[:, :, *map(slice, low, high)]
        shape = region.shape[2:]
        best = _largest(region.reshape(*x.shape[:2], prod(shape)))
        within = np.unravel_index(best, shape)
        positions[:, :, *window] = np.ravel_multi_index(
            [w + a for w, a in zip(within, low, strict=True)], size
        )
    return positions


def _rows(index: np.ndarray, n: int, plane: int) -> np.ndarray:
    """Positions within planes of that many elements as positions within the whole array."""
    lead = index.shape[: index.ndim - n]
    first = np.arange(prod(lead)) * plane
    return (index + first.reshape(*lead, *(1,) * n)).ravel()


def take_positions(x: np.ndarray, index: np.ndarray, n: int) -> np.ndarray:
    """The values at flat positions of the last `n` dimensions."""
    if index.size >= _MANY:
        planes = x.reshape(prod(x.shape[: x.ndim - n]), prod(x.shape[x.ndim - n :]))
        positions = index.reshape(len(planes), -1).astype(np.int64, copy=False)
        values = scatter_native.take_elements(planes, positions, 1)
        if values is not None:
            return values.reshape(index.shape)
    return x.ravel()[_rows(index, n, prod(x.shape[-n:]))].reshape(index.shape)


def add_positions(g: np.ndarray, index: np.ndarray, size: Shape) -> np.ndarray:
    """The adjoint of `take_positions`: zeros of that size, and `g` added at the positions."""
    if len(size) == 2 and are_images(g):
        volume = (*size, g.shape[1])
        places = contiguous(as_volumes(index))
        if prod(volume) >= 1 << 31:
            places = places.astype(np.int64)
        places = places * places.dtype.type(volume[-1]) + np.arange(volume[-1], dtype=places.dtype)
        return as_images(add_positions(as_volumes(g), places, volume))
    g, index = contiguous(g), contiguous(index)
    if g.size >= _MANY:
        added = native.add_planes(g, index, size)
        if added is not None:
            return added
    out = np.zeros(prod(g.shape[: -len(size)]) * prod(size), g.dtype)
    np.add.at(out, _rows(index, len(size), prod(size)), g.ravel())
    return out.reshape(*g.shape[: -len(size)], *size)


def put_positions(x: np.ndarray, index: np.ndarray, size: Shape) -> np.ndarray:
    """Zeros of that size with `x` written at the positions; the last write wins."""
    out = np.zeros(prod(x.shape[: -len(size)]) * prod(size), x.dtype)
    if out.size:
        out[_rows(index, len(size), prod(size))] = x.ravel()
    return out.reshape(*x.shape[: -len(size)], *size)


def _random_starts(samples: np.ndarray, size: int, kernel: int, out: int) -> np.ndarray:
    """The starts of the windows of one dimension: (...) samples to (..., out)."""
    room = size - kernel
    if out < 2:
        return np.full((*samples.shape, out), room)
    step = samples.dtype.type(room) / samples.dtype.type(out - 1)
    first = samples[..., None]
    starts = ((np.arange(out, dtype=samples.dtype) + first) * step).astype(np.int64)
    starts -= (first * step).astype(np.int64)
    starts[..., -1] = room
    return starts


def fractional_max_positions(
    x: np.ndarray, samples: np.ndarray, kernel: Shape, out: Shape
) -> np.ndarray:
    """Flat positions of the maxima of `out` windows at random positions.

    `samples` (..., n) are numbers from 0 to 1 for each channel (...). The first of them is for
    the last of two dimensions, but for the first of three, as in PyTorch.
    """
    n = len(kernel)
    size = x.shape[x.ndim - n :]
    order = range(n) if n == 3 else reversed(range(n))
    flat = np.zeros((*samples.shape[:-1], *(1,) * (2 * n)), np.int64)
    for d, which in enumerate(order):
        starts = _random_starts(samples[..., which], size[d], kernel[d], out[d])
        along = starts[..., None] + np.arange(kernel[d])
        shape = [1] * (2 * n)
        shape[d], shape[n + d] = out[d], kernel[d]
        flat = flat * size[d] + along.reshape(*samples.shape[:-1], *shape)
    lead = samples.shape[:-1]
    flat = flat.reshape(*lead, *out, prod(kernel))
    elements, wanted = x.reshape(*lead, prod(size)), flat.reshape(*lead, prod(out) * prod(kernel))
    best = _largest(np.take_along_axis(elements, wanted, -1).reshape(flat.shape))
    return np.take_along_axis(flat, best[..., None], -1)[..., 0]
