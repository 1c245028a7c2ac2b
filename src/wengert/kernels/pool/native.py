"""Pooling, compiled: over planes, a row of outputs at a time.

All planes have three dimensions here; the leading ones of lines and images are 1. Arrays are
(plane, z, y, x) with planes over batch and channel; a position in a plane is ``(z * size_y + y) *
size_x + x``.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.chunks import real_of, stored_for, stored_of
from wengert.kernels.geometry import Geometry, Shape, runs_of
from wengert.kernels.jit import CHUNK, LARGE, kernel, usable
from wengert.kernels.jit.builtins import at, i32, i32s, i64, inline, real, reals, storeds
from wengert.kernels.jit.records import Record, by_axis
from wengert.kernels.ordering import float_key


class Windows(Record):
    """Windows over planes (z, y, x): taps, `dilation` apart, every `stride` elements."""

    size_z: i64
    size_y: i64
    size_x: i64
    out_z: i64
    out_y: i64
    out_x: i64
    taps_z: i64
    taps_y: i64
    taps_x: i64
    stride_z: i64
    stride_y: i64
    stride_x: i64
    padding_z: i64
    padding_y: i64
    padding_x: i64
    dilation_z: i64
    dilation_y: i64
    dilation_x: i64


@inline
def _first_tap(start: i64, step: i64) -> i64:
    """The first tap of a window that is not before the input."""
    before = max(-start, 0)
    if step > 1:
        before = (before + step - 1) // step
    return before


@inline
def _last_tap(start: i64, step: i64, taps: i64, size: i64) -> i64:
    """One past the last tap inside the input. The window starts inside it or before."""
    behind = size - 1 - start
    if step > 1:
        behind = behind // step
    return min(taps, behind + 1)


@inline
def _inside_from(plan: Windows) -> i64:
    """The first output of a row whose whole window is inside the row (or none is)."""
    return min((plan.padding_x + plan.stride_x - 1) // plan.stride_x, plan.out_x)


@inline
def _inside_to(plan: Windows) -> i64:
    """One past the last output whose whole window is inside the row."""
    room = plan.size_x - 1 - (plan.taps_x - 1) * plan.dilation_x + plan.padding_x
    return max(_inside_from(plan), min(plan.out_x, room // plan.stride_x + 1 if room >= 0 else 0))


@inline
def _max_pair(x: storeds, best: storeds, where: i32s, first: i32, count: i64) -> None:
    """Windows of two with stride two."""
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
def _max_three(x: storeds, best: storeds, where: i32s, first: i32, step: i64, count: i64) -> None:
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
def _max_next(x: storeds, best: storeds, where: i32s, first: i32, count: i64) -> None:
    """One tap of windows with stride one."""
    for j in range(count):
        a = x[j]
        larger = a > best[j] or a != a
        best[j] = a if larger else best[j]
        where[j] = first + i32(j) if larger else where[j]


@inline
def _max_any(
    x: storeds, best: storeds, where: i32s, plan: Windows, first: i64, low: i64, high: i64
) -> None:
    """Any windows, including ones that extend beyond the row."""
    for j in range(low, high):
        start = j * plan.stride_x - plan.padding_x
        m = best[j]
        w = where[j]
        for k in range(
            _first_tap(start, plan.dilation_x),
            _last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
        ):
            a = x[start + k * plan.dilation_x]
            larger = a > m or a != a
            m = a if larger else m
            w = i32(first + start + k * plan.dilation_x) if larger else w
        best[j] = m
        where[j] = w


@inline
def _max_inside(
    x: storeds, best: storeds, where: i32s, plan: Windows, first: i64, low: i64, high: i64
) -> None:
    """Windows inside the row."""
    start = low * plan.stride_x - plan.padding_x
    source = at(x, start)
    most = at(best, low)
    places = at(where, low)
    near = first + start
    if plan.stride_x == 2 and plan.dilation_x == 1 and plan.taps_x == 2:
        _max_pair(source, most, places, i32(near), high - low)
    elif plan.stride_x == 2 and plan.dilation_x == 1 and plan.taps_x == 3:
        _max_three(source, most, places, i32(near), 2, high - low)
    elif plan.stride_x == 1 and plan.dilation_x == 1 and plan.taps_x == 3:
        _max_three(source, most, places, i32(near), 1, high - low)
    elif plan.stride_x == 1:
        for k in range(plan.taps_x):
            _max_next(
                at(source, k * plan.dilation_x),
                most,
                places,
                i32(near + k * plan.dilation_x),
                high - low,
            )
    else:
        _max_any(x, best, where, plan, first, low, high)


# Taps from which a window is gone through as integers.
_WIDE = 4


@inline
def _has_wide_windows(plan: Windows) -> i64:
    """Whether (1 or 0) windows are gone through as integers."""
    return 1 if (plan.taps_x >= _WIDE and plan.dilation_x == 1 and plan.stride_x != 1) else 0


@inline
def _key(value: real, place: i64) -> i64:
    """An integer that is larger for a larger number, of equal ones for the first.

    It is largest for the last NaN.
    """
    last = 4294967295 - place if value == value else place
    return (i64(float_key(value)) << 32) | last


@inline
def _max_wide(
    x: storeds,
    best: storeds,
    where: i32s,
    plan: Windows,
    depth: i64,
    height: i64,
    low: i64,
    high: i64,
) -> None:
    """Windows inside the row whose taps are neighbours: one comparison of integers an element."""
    for j in range(low, high):
        top = -9223372036854775807
        for kd in range(
            _first_tap(depth, plan.dilation_z),
            _last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                _first_tap(height, plan.dilation_y),
                _last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
            ):
                first = (
                    ((depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y)
                    * plan.size_x
                    + j * plan.stride_x
                    - plan.padding_x
                )
                for place in range(first, first + plan.taps_x):
                    top = max(top, _key(x[place], place))
        missing = (top >> 32) == 2147483647
        place = top & 4294967295 if missing else 4294967295 - (top & 4294967295)
        best[j] = x[place]
        where[j] = i32(place)


@inline
def _max_rows(
    x: storeds,
    best: storeds,
    where: i32s,
    plan: Windows,
    depth: i64,
    height: i64,
    low: i64,
    high: i64,
) -> None:
    """A row of outputs, whose windows start at that depth and height."""
    # `where` starts at each window's first position inside the plane; only inner taps are compared.
    top = depth + _first_tap(depth, plan.dilation_z) * plan.dilation_z
    left = (
        top * plan.size_y + height + _first_tap(height, plan.dilation_y) * plan.dilation_y
    ) * plan.size_x
    for j in range(low):
        start = j * plan.stride_x - plan.padding_x
        where[j] = i32(left + start + _first_tap(start, plan.dilation_x) * plan.dilation_x)
    for j in range(low, plan.out_x):
        where[j] = i32(left - plan.padding_x) + i32(j) * i32(plan.stride_x)
    for j in range(plan.out_x):
        best[j] = -math.inf
    wide = _has_wide_windows(plan)
    if wide != 0:
        _max_wide(x, best, where, plan, depth, height, low, high)
    for kd in range(
        _first_tap(depth, plan.dilation_z),
        _last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
    ):
        for kh in range(
            _first_tap(height, plan.dilation_y),
            _last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
        ):
            first = (
                (depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y
            ) * plan.size_x
            row = at(x, first)
            _max_any(row, best, where, plan, first, 0, low)
            if wide == 0:
                _max_inside(row, best, where, plan, first, low, high)
            _max_any(row, best, where, plan, first, high, plan.out_x)


@kernel
def _max_planes(
    x: storeds, out: storeds, where: i32s, plan: Windows, start: i64, stop: i64
) -> None:
    plane = plan.size_z * plan.size_y * plan.size_x
    low = _inside_from(plan)
    high = _inside_to(plan)
    for p in range(start, stop):
        for od in range(plan.out_z):
            for oh in range(plan.out_y):
                row = ((p * plan.out_z + od) * plan.out_y + oh) * plan.out_x
                _max_rows(
                    at(x, p * plane), at(out, row), at(where, row), plan,
                    od * plan.stride_z - plan.padding_z, oh * plan.stride_y - plan.padding_y,
                    low, high,
                )  # fmt: skip


@kernel
def _add_planes(
    g: reals, where: i32s, out: reals, outputs: i64, plane: i64, start: i64, stop: i64
) -> None:
    """The adjoint of picking elements from each plane."""
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
def _edge_sums(x: reals, out: reals, plan: Windows, first: i64, stop: i64) -> None:
    """Windows that extend beyond the row."""
    for j in range(first, stop):
        start = j * plan.stride_x - plan.padding_x
        for k in range(
            _first_tap(start, plan.dilation_x),
            _last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
        ):
            out[j] = out[j] + x[start + k * plan.dilation_x]


@inline
def _edge_spread(g: reals, out: reals, plan: Windows, first: i64, stop: i64) -> None:
    for j in range(first, stop):
        start = j * plan.stride_x - plan.padding_x
        for k in range(
            _first_tap(start, plan.dilation_x),
            _last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
        ):
            out[start + k * plan.dilation_x] = out[start + k * plan.dilation_x] + g[j]


@inline
def _row_sums(x: reals, out: reals, plan: Windows, low: i64, high: i64) -> None:
    """Add a row to the sums of the windows that contain it."""
    if high - low == 1 and plan.out_x == 1 and plan.taps_x == plan.size_x:
        total = out[0]
        for j in range(plan.size_x):
            total += x[j]
        out[0] = total
    else:
        _edge_sums(x, out, plan, 0, low)
        _edge_sums(x, out, plan, high, plan.out_x)
        for k in range(plan.taps_x):
            start = low * plan.stride_x - plan.padding_x + k * plan.dilation_x
            _add_taps(at(out, low), at(x, start), plan.stride_x, high - low)


@inline
def _row_spread(g: reals, out: reals, plan: Windows, low: i64, high: i64) -> None:
    """The adjoint of `_row_sums`."""
    if high - low == 1 and plan.out_x == 1 and plan.taps_x == plan.size_x:
        for j in range(plan.size_x):
            out[j] = out[j] + g[0]
    else:
        _edge_spread(g, out, plan, 0, low)
        _edge_spread(g, out, plan, high, plan.out_x)
        for k in range(plan.taps_x):
            start = low * plan.stride_x - plan.padding_x + k * plan.dilation_x
            _spread_taps(at(out, start), at(g, low), plan.stride_x, high - low)


@inline
def _plane_sums(x: reals, out: reals, plan: Windows, low: i64, high: i64) -> None:
    for row in range(plan.out_z * plan.out_y):
        target = at(out, row * plan.out_x)
        depth = row // plan.out_y * plan.stride_z - plan.padding_z
        height = row % plan.out_y * plan.stride_y - plan.padding_y
        for j in range(plan.out_x):
            target[j] = 0.0
        for kd in range(
            _first_tap(depth, plan.dilation_z),
            _last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                _first_tap(height, plan.dilation_y),
                _last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
            ):
                first = (
                    (depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y
                ) * plan.size_x
                _row_sums(at(x, first), target, plan, low, high)


@inline
def _plane_spread(g: reals, out: reals, plan: Windows, low: i64, high: i64) -> None:
    for row in range(plan.out_z * plan.out_y):
        source = at(g, row * plan.out_x)
        depth = row // plan.out_y * plan.stride_z - plan.padding_z
        height = row % plan.out_y * plan.stride_y - plan.padding_y
        for kd in range(
            _first_tap(depth, plan.dilation_z),
            _last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                _first_tap(height, plan.dilation_y),
                _last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
            ):
                first = (
                    (depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y
                ) * plan.size_x
                _row_spread(source, at(out, first), plan, low, high)


@kernel
def _sum_planes(x: reals, out: reals, plan: Windows, start: i64, stop: i64) -> None:
    plane = plan.size_z * plan.size_y * plan.size_x
    outputs = plan.out_z * plan.out_y * plan.out_x
    low = _inside_from(plan)
    high = _inside_to(plan)
    for p in range(start, stop):
        _plane_sums(at(x, p * plane), at(out, p * outputs), plan, low, high)


@kernel
def _spread_planes(g: reals, out: reals, plan: Windows, start: i64, stop: i64) -> None:
    """The adjoint of `_sum_planes`."""
    plane = plan.size_z * plan.size_y * plan.size_x
    outputs = plan.out_z * plan.out_y * plan.out_x
    low = _inside_from(plan)
    high = _inside_to(plan)
    for p in range(start, stop):
        target = at(out, p * plane)
        for j in range(plane):
            target[j] = 0.0
        _plane_spread(at(g, p * outputs), target, plan, low, high)


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
def _windows(size: Shape, kernel: Shape, out: Shape, geometry: Geometry) -> Windows:
    """The windows of a pooling of any rank."""
    lows = [low for low, _ in geometry.padding]
    axes = zip(size, out, kernel, geometry.stride, lows, geometry.dilation, strict=True)
    zyx = [(1, 1, 1, 1, 0, 1)] * (3 - len(size)) + list(axes)
    sizes, outs, taps, strides, padding, dilation = zip(*zyx, strict=True)
    return Windows(
        **by_axis(
            size=sizes, out=outs, taps=taps, stride=strides, padding=padding, dilation=dilation
        )
    )


def _share(size: Shape) -> int:
    return max(1, CHUNK // prod(size))


def _variant(dtype: np.dtype[Any]) -> str:
    return "f64" if dtype == np.float64 else "f32"


def _summable(x: np.ndarray) -> bool:
    """Whether kernels add elements; few of float64 are not worth a compilation."""
    return usable(x) or (x.dtype == np.float64 and x.size >= LARGE and real_of(x) is not None)


def call_max_planes(
    caller: Caller, x: Any, values: Any, where: Any, kernel: Shape, out: Shape, geometry: Geometry
) -> None:
    """Compute the maxima of windows and their positions in the planes."""
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    plan = _windows(size, kernel, out, geometry)
    run = getattr(_max_planes, stored_for(x.dtype) or "f32")
    caller.call(run, x, values, where, plan, total=prod(lead), chunk=_share(size))


def call_add_planes(caller: Caller, g: Any, where: Any, out: Any, rank: int) -> None:
    """Add gradients at the positions of maxima, in planes of so many dimensions."""
    lead, size, outputs = out.shape[:-rank], out.shape[-rank:], prod(g.shape[-rank:])
    caller.call(
        _add_planes.f32, g, where, out, outputs, prod(size), total=prod(lead), chunk=_share(size)
    )


def call_sum_planes(
    caller: Caller, x: Any, sums: Any, kernel: Shape, out: Shape, geometry: Geometry
) -> None:
    """Compute the sum of each window."""
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    runs, variant = runs_of(size, kernel, out, geometry), _variant(x.dtype)
    if runs is not None:
        run, (windows, width) = getattr(_whole_sums, variant), runs
        caller.call(run, x, sums, width, total=prod(lead) * windows, chunk=_share((width,)))
        return
    plan = _windows(size, kernel, out, geometry)
    caller.call(getattr(_sum_planes, variant), x, sums, plan, total=prod(lead), chunk=_share(size))


def call_spread_planes(
    caller: Caller, g: Any, total: Any, kernel: Shape, size: Shape, geometry: Geometry
) -> None:
    """Compute the adjoint of `call_sum_planes`."""
    lead, out = g.shape[: -len(kernel)], g.shape[-len(kernel) :]
    runs, variant = runs_of(size, kernel, out, geometry), _variant(g.dtype)
    if runs is not None:
        run, (windows, width) = getattr(_whole_spread, variant), runs
        caller.call(run, g, total, width, total=prod(lead) * windows, chunk=_share((width,)))
        return
    plan = _windows(size, kernel, out, geometry)
    caller.call(
        getattr(_spread_planes, variant), g, total, plan, total=prod(lead), chunk=_share(size)
    )


def max_planes(
    x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray] | None:
    """The maxima of windows and their positions in the planes; None if NumPy has to do it.

    Of float32, or of halves as they lie.
    """
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    if x.dtype == np.float64 or stored_of(x) is None or prod(size) >= 1 << 31:
        return None
    values, where = np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int32)
    call_max_planes(at_once, x, values, where, kernel, out, geometry)
    return values, where


def add_planes(g: np.ndarray, where: np.ndarray, size: Shape) -> np.ndarray | None:
    """Zeros of that size with `g` added at the positions from `max_planes`."""
    if where.dtype != np.int32 or not where.flags.c_contiguous or not usable(g):
        return None
    lead = g.shape[: -len(size)]
    out = np.empty((*lead, *size), g.dtype)
    call_add_planes(at_once, g, where, out, len(size))
    return out


def sum_planes(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray | None:
    """The sum of each window; None if NumPy has to do it."""
    if not _summable(x):
        return None
    sums = np.empty((*x.shape[: -len(kernel)], *out), x.dtype)
    call_sum_planes(at_once, x, sums, kernel, out, geometry)
    return sums


def spread_planes(
    g: np.ndarray, kernel: Shape, size: Shape, geometry: Geometry
) -> np.ndarray | None:
    """The adjoint of `sum_planes`."""
    if not _summable(g):
        return None
    total = np.empty((*g.shape[: -len(kernel)], *size), g.dtype)
    call_spread_planes(at_once, g, total, kernel, size, geometry)
    return total
