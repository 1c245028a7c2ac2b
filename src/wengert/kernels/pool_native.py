"""Pooling, compiled: over planes, a row of outputs at a time.

All planes have three dimensions here; the leading ones of lines and images are 1. `s` holds the
numbers of a pooling, three each: sizes, output sizes, kernel, strides, padding, dilation.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import prod

import numpy as np

from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.jit import CHUNK, kernel, usable
from wengert.kernels.jit.builtins import at, i32, i32s, i64, i64s, inline, reals


@inline
def _first_tap(start: i64, step: i64) -> i64:
    """The first tap of a window that is not in front of the input."""
    before = max(-start, 0)
    if step > 1:
        before = (before + step - 1) // step
    return before


@inline
def _last_tap(start: i64, step: i64, taps: i64, size: i64) -> i64:
    """Behind the last tap that is within the input. The window starts within it or before."""
    behind = size - 1 - start
    if step > 1:
        behind = behind // step
    return min(taps, behind + 1)


@inline
def _inside_from(s: i64s) -> i64:
    """The first output of a row whose whole window lies within the row (or none does)."""
    return min((s[14] + s[11] - 1) // s[11], s[5])


@inline
def _inside_to(s: i64s) -> i64:
    """Behind the last one."""
    room = s[2] - 1 - (s[8] - 1) * s[17] + s[14]
    return max(_inside_from(s), min(s[5], room // s[11] + 1 if room >= 0 else 0))


@inline
def _max_pair(x: reals, best: reals, where: i32s, first: i32, count: i64) -> None:
    """Windows of two, two apart."""
    for j in range(count):
        m = best[j]
        w = where[j]
        k = first + 2 * i32(j)
        a = x[2 * j]
        b = x[2 * j + 1]
        larger = a > m or a != a
        m = a if larger else m
        w = k if larger else w
        larger = b > m or b != b
        best[j] = b if larger else m
        where[j] = k + 1 if larger else w


@inline
def _max_three(x: reals, best: reals, where: i32s, first: i32, step: i64, count: i64) -> None:
    """Windows of three."""
    for j in range(count):
        m = best[j]
        w = where[j]
        k = first + i32(step) * i32(j)
        a = x[step * j]
        b = x[step * j + 1]
        c = x[step * j + 2]
        larger = a > m or a != a
        m = a if larger else m
        w = k if larger else w
        larger = b > m or b != b
        m = b if larger else m
        w = k + 1 if larger else w
        larger = c > m or c != c
        best[j] = c if larger else m
        where[j] = k + 2 if larger else w


@inline
def _max_next(x: reals, best: reals, where: i32s, first: i32, count: i64) -> None:
    """One tap of windows that are one apart."""
    for j in range(count):
        a = x[j]
        larger = a > best[j] or a != a
        best[j] = a if larger else best[j]
        where[j] = first + i32(j) if larger else where[j]


@inline
def _max_any(x: reals, best: reals, where: i32s, s: i64s, first: i64, low: i64, high: i64) -> None:
    """Any windows, also such that reach beyond the row."""
    for j in range(low, high):
        start = j * s[11] - s[14]
        m = best[j]
        w = where[j]
        for k in range(_first_tap(start, s[17]), _last_tap(start, s[17], s[8], s[2])):
            a = x[start + k * s[17]]
            larger = a > m or a != a
            m = a if larger else m
            w = i32(first + start + k * s[17]) if larger else w
        best[j] = m
        where[j] = w


@inline
def _max_inside(
    x: reals, best: reals, where: i32s, s: i64s, first: i64, low: i64, high: i64
) -> None:
    """Windows that lie within the row."""
    start = low * s[11] - s[14]
    source = at(x, start)
    most = at(best, low)
    places = at(where, low)
    near = first + start
    if s[11] == 2 and s[17] == 1 and s[8] == 2:
        _max_pair(source, most, places, i32(near), high - low)
    elif s[11] == 2 and s[17] == 1 and s[8] == 3:
        _max_three(source, most, places, i32(near), 2, high - low)
    elif s[11] == 1 and s[17] == 1 and s[8] == 3:
        _max_three(source, most, places, i32(near), 1, high - low)
    elif s[11] == 1:
        for k in range(s[8]):
            _max_next(at(source, k * s[17]), most, places, i32(near + k * s[17]), high - low)
    else:
        _max_any(x, best, where, s, first, low, high)


@inline
def _max_rows(
    x: reals, best: reals, where: i32s, s: i64s, depth: i64, height: i64, low: i64, high: i64
) -> None:
    """A row of outputs, whose windows start at that depth and height."""
    top = depth + _first_tap(depth, s[15]) * s[15]
    left = (top * s[1] + height + _first_tap(height, s[16]) * s[16]) * s[2]
    for j in range(low):
        start = j * s[11] - s[14]
        where[j] = i32(left + start + _first_tap(start, s[17]) * s[17])
    for j in range(low, s[5]):
        where[j] = i32(left - s[14]) + i32(j) * i32(s[11])
    for j in range(s[5]):
        best[j] = -math.inf
    for kd in range(_first_tap(depth, s[15]), _last_tap(depth, s[15], s[6], s[0])):
        for kh in range(_first_tap(height, s[16]), _last_tap(height, s[16], s[7], s[1])):
            first = ((depth + kd * s[15]) * s[1] + height + kh * s[16]) * s[2]
            row = at(x, first)
            _max_any(row, best, where, s, first, 0, low)
            _max_inside(row, best, where, s, first, low, high)
            _max_any(row, best, where, s, first, high, s[5])


@kernel
def _max_planes(x: reals, out: reals, where: i32s, s: i64s, start: i64, stop: i64) -> None:
    plane = s[0] * s[1] * s[2]
    low = _inside_from(s)
    high = _inside_to(s)
    for p in range(start, stop):
        for od in range(s[3]):
            for oh in range(s[4]):
                row = ((p * s[3] + od) * s[4] + oh) * s[5]
                _max_rows(
                    at(x, p * plane), at(out, row), at(where, row), s,
                    od * s[9] - s[12], oh * s[10] - s[13], low, high,
                )  # fmt: skip


@kernel
def _add_planes(
    g: reals, where: i32s, out: reals, outputs: i64, plane: i64, start: i64, stop: i64
) -> None:
    """The adjoint of taking from each plane what stands at some places of it."""
    for p in range(start, stop):
        target = at(out, p * plane)
        for j in range(plane):
            target[j] = 0.0
        for k in range(p * outputs, (p + 1) * outputs):
            place = i64(where[k])
            target[place] = target[place] + g[k]


@inline
def _add_taps(total: reals, x: reals, step: i64, count: i64) -> None:
    if step == 1:
        for j in range(count):
            total[j] = total[j] + x[j]
    elif step == 2:
        for j in range(count):
            total[j] = total[j] + x[2 * j]
    else:
        for j in range(count):
            total[j] = total[j] + x[j * step]


@inline
def _spread_taps(total: reals, g: reals, step: i64, count: i64) -> None:
    if step == 1:
        for j in range(count):
            total[j] = total[j] + g[j]
    elif step == 2:
        for j in range(count):
            total[2 * j] = total[2 * j] + g[j]
    else:
        for j in range(count):
            total[j * step] = total[j * step] + g[j]


@inline
def _edge_sums(x: reals, out: reals, s: i64s, first: i64, stop: i64) -> None:
    """Windows that reach beyond the row."""
    for j in range(first, stop):
        start = j * s[11] - s[14]
        for k in range(_first_tap(start, s[17]), _last_tap(start, s[17], s[8], s[2])):
            out[j] = out[j] + x[start + k * s[17]]


@inline
def _edge_spread(g: reals, out: reals, s: i64s, first: i64, stop: i64) -> None:
    for j in range(first, stop):
        start = j * s[11] - s[14]
        for k in range(_first_tap(start, s[17]), _last_tap(start, s[17], s[8], s[2])):
            out[start + k * s[17]] = out[start + k * s[17]] + g[j]


@inline
def _row_sums(x: reals, out: reals, s: i64s, low: i64, high: i64) -> None:
    """Add a row to the sums of the windows that it is in."""
    if high - low == 1 and s[5] == 1 and s[8] == s[2]:
        total = out[0]
        for j in range(s[2]):
            total += x[j]
        out[0] = total
    else:
        _edge_sums(x, out, s, 0, low)
        _edge_sums(x, out, s, high, s[5])
        for k in range(s[8]):
            start = low * s[11] - s[14] + k * s[17]
            _add_taps(at(out, low), at(x, start), s[11], high - low)


@inline
def _row_spread(g: reals, out: reals, s: i64s, low: i64, high: i64) -> None:
    """The adjoint of `_row_sums`."""
    if high - low == 1 and s[5] == 1 and s[8] == s[2]:
        for j in range(s[2]):
            out[j] = out[j] + g[0]
    else:
        _edge_spread(g, out, s, 0, low)
        _edge_spread(g, out, s, high, s[5])
        for k in range(s[8]):
            start = low * s[11] - s[14] + k * s[17]
            _spread_taps(at(out, start), at(g, low), s[11], high - low)


@inline
def _plane_sums(x: reals, out: reals, s: i64s, low: i64, high: i64) -> None:
    for row in range(s[3] * s[4]):
        target = at(out, row * s[5])
        depth = row // s[4] * s[9] - s[12]
        height = row % s[4] * s[10] - s[13]
        for j in range(s[5]):
            target[j] = 0.0
        for kd in range(_first_tap(depth, s[15]), _last_tap(depth, s[15], s[6], s[0])):
            for kh in range(_first_tap(height, s[16]), _last_tap(height, s[16], s[7], s[1])):
                first = ((depth + kd * s[15]) * s[1] + height + kh * s[16]) * s[2]
                _row_sums(at(x, first), target, s, low, high)


@inline
def _plane_spread(g: reals, out: reals, s: i64s, low: i64, high: i64) -> None:
    for row in range(s[3] * s[4]):
        source = at(g, row * s[5])
        depth = row // s[4] * s[9] - s[12]
        height = row % s[4] * s[10] - s[13]
        for kd in range(_first_tap(depth, s[15]), _last_tap(depth, s[15], s[6], s[0])):
            for kh in range(_first_tap(height, s[16]), _last_tap(height, s[16], s[7], s[1])):
                first = ((depth + kd * s[15]) * s[1] + height + kh * s[16]) * s[2]
                _row_spread(source, at(out, first), s, low, high)


@kernel
def _sum_planes(x: reals, out: reals, s: i64s, start: i64, stop: i64) -> None:
    plane = s[0] * s[1] * s[2]
    outputs = s[3] * s[4] * s[5]
    low = _inside_from(s)
    high = _inside_to(s)
    for p in range(start, stop):
        _plane_sums(at(x, p * plane), at(out, p * outputs), s, low, high)


@kernel
def _spread_planes(g: reals, out: reals, s: i64s, start: i64, stop: i64) -> None:
    """The adjoint of `_sum_planes`."""
    plane = s[0] * s[1] * s[2]
    outputs = s[3] * s[4] * s[5]
    low = _inside_from(s)
    high = _inside_to(s)
    for p in range(start, stop):
        target = at(out, p * plane)
        for j in range(plane):
            target[j] = 0.0
        _plane_spread(at(g, p * outputs), target, s, low, high)


@kernel
def _whole_sums(x: reals, out: reals, plane: i64, start: i64, stop: i64) -> None:
    """The sum of each plane."""
    for p in range(start, stop):
        total = 0.0
        for j in range(p * plane, (p + 1) * plane):
            total += x[j]
        out[p] = total


@kernel
def _whole_spread(g: reals, out: reals, plane: i64, start: i64, stop: i64) -> None:
    for p in range(start, stop):
        for j in range(p * plane, (p + 1) * plane):
            out[j] = g[p]


@lru_cache(maxsize=256)
def _numbers(size: Shape, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray:
    """What `s` holds."""
    low = tuple([a for a, _ in geometry.padding])
    rows = [size, out, kernel, geometry.stride, low, geometry.dilation]
    columns = [(1, 1, 1, 1, 0, 1)] * (3 - len(size)) + list(zip(*rows, strict=True))
    return np.array(list(zip(*columns, strict=True)), np.int64).reshape(-1)


def _is_whole(size: Shape, kernel: Shape, out: Shape, geometry: Geometry) -> bool:
    """Whether there is one window, the whole plane."""
    return kernel == size and prod(out) == 1 and not any([low for low, _ in geometry.padding])


def _share(size: Shape) -> int:
    return max(1, CHUNK // prod(size))


def max_planes(
    x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray] | None:
    """The maxima of windows and their places in the planes; None where NumPy has to do it."""
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    if not usable(x) or prod(size) >= 1 << 31:
        return None
    values, where = np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int32)
    s = _numbers(size, kernel, out, geometry)
    _max_planes.f32(x, values, where, s, prod(lead), _share(size))
    return values, where


def add_planes(g: np.ndarray, where: np.ndarray, size: Shape) -> np.ndarray | None:
    """Zeros of that size with `g` added at the places of `max_planes`."""
    if where.dtype != np.int32 or not where.flags.c_contiguous or not usable(g):
        return None
    lead = g.shape[: -len(size)]
    out = np.empty((*lead, *size), g.dtype)
    outputs = prod(g.shape[-len(size) :])
    _add_planes.f32(g, where, out, outputs, prod(size), prod(lead), _share(size))
    return out


def sum_planes(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray | None:
    """The sum of each window; None where NumPy has to do it."""
    if not usable(x):
        return None
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    sums = np.empty((*lead, *out), x.dtype)
    if _is_whole(size, kernel, out, geometry):
        _whole_sums.f32(x, sums, prod(size), prod(lead), _share(size))
        return sums
    _sum_planes.f32(x, sums, _numbers(size, kernel, out, geometry), prod(lead), _share(size))
    return sums


def spread_planes(
    g: np.ndarray, kernel: Shape, size: Shape, geometry: Geometry
) -> np.ndarray | None:
    """The adjoint of `sum_planes`."""
    if not usable(g):
        return None
    lead, out = g.shape[: -len(kernel)], g.shape[-len(kernel) :]
    total = np.empty((*lead, *size), g.dtype)
    if _is_whole(size, kernel, out, geometry):
        _whole_spread.f32(g, total, prod(size), prod(lead), _share(size))
        return total
    _spread_planes.f32(g, total, _numbers(size, kernel, out, geometry), prod(lead), _share(size))
    return total
