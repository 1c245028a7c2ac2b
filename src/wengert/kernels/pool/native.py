"""Pooling, compiled: over planes, a row of outputs at a time.

All planes have three dimensions here; the leading ones of lines and images are 1. Arrays are
(plane, z, y, x) with planes over batch and channel; a position in a plane is ``(z * size_y + y) *
size_x + x``.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.calling import Caller, at_once
from wengert.kernels.chunks import real_of, stored_for, stored_of
from wengert.kernels.geometry import Geometry, Shape, runs_of
from wengert.kernels.jit import CHUNK, LARGE, kernel, loaded
from wengert.kernels.jit.builtins import at, i32s, i64, inline, reals
from wengert.kernels.jit.records import by_axis
from wengert.kernels.pool import maxima
from wengert.kernels.pool.windows import Windows, first_tap, inside_from, inside_to, last_tap


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
            first_tap(start, plan.dilation_x),
            last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
        ):
            out[j] = out[j] + x[start + k * plan.dilation_x]


@inline
def _edge_spread(g: reals, out: reals, plan: Windows, first: i64, stop: i64) -> None:
    for j in range(first, stop):
        start = j * plan.stride_x - plan.padding_x
        for k in range(
            first_tap(start, plan.dilation_x),
            last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
        ):
            out[start + k * plan.dilation_x] = out[start + k * plan.dilation_x] + g[j]


@inline
def _has_wide_steps(plan: Windows) -> i64:
    """Whether (1 or 0) taps that are neighbours are taken together, not windows that are."""
    return 1 if (plan.taps_x >= 4 and plan.dilation_x == 1 and plan.stride_x > 2) else 0


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
        if _has_wide_steps(plan) != 0:
            for j in range(low, high):
                total = out[j]
                window = at(x, j * plan.stride_x - plan.padding_x)
                for k in range(plan.taps_x):
                    total += window[k]
                out[j] = total
        else:
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
        if _has_wide_steps(plan) != 0:
            for j in range(low, high):
                window = at(out, j * plan.stride_x - plan.padding_x)
                for k in range(plan.taps_x):
                    window[k] = window[k] + g[j]
        else:
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
            first_tap(depth, plan.dilation_z),
            last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                first_tap(height, plan.dilation_y),
                last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
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
            first_tap(depth, plan.dilation_z),
            last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                first_tap(height, plan.dilation_y),
                last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
            ):
                first = (
                    (depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y
                ) * plan.size_x
                _row_spread(source, at(out, first), plan, low, high)


@kernel
def _sum_planes(x: reals, out: reals, plan: Windows, start: i64, stop: i64) -> None:
    plane = plan.size_z * plan.size_y * plan.size_x
    outputs = plan.out_z * plan.out_y * plan.out_x
    low = inside_from(plan)
    high = inside_to(plan)
    for p in range(start, stop):
        _plane_sums(at(x, p * plane), at(out, p * outputs), plan, low, high)


@kernel
def _spread_planes(g: reals, out: reals, plan: Windows, start: i64, stop: i64) -> None:
    """The adjoint of `_sum_planes`."""
    plane = plan.size_z * plan.size_y * plan.size_x
    outputs = plan.out_z * plan.out_y * plan.out_x
    low = inside_from(plan)
    high = inside_to(plan)
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


def _many(x: np.ndarray, work: int) -> bool:
    """Whether a kernel is worth it: few elements of float64 are not worth a compilation."""
    return work >= LARGE or x.dtype != np.float64 or loaded()


def _summable(x: np.ndarray, work: int) -> bool:
    """Whether kernels add elements, or spread them over so many."""
    return real_of(x) is not None and _many(x, work)


def call_max_planes(
    caller: Caller, x: Any, values: Any, where: Any, kernel: Shape, out: Shape, geometry: Geometry
) -> None:
    """Compute the maxima of windows and their positions in the planes."""
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    plan = _windows(size, kernel, out, geometry)
    run = getattr(maxima.max_planes, stored_for(x.dtype) or "f32")
    caller.call(run, x, values, where, plan, total=prod(lead), chunk=_share(size))


def call_add_planes(caller: Caller, g: Any, where: Any, out: Any, rank: int) -> None:
    """Add gradients at the positions of maxima, in planes of so many dimensions."""
    lead, size, outputs = out.shape[:-rank], out.shape[-rank:], prod(g.shape[-rank:])
    run = getattr(_add_planes, _variant(out.dtype))
    caller.call(run, g, where, out, outputs, prod(size), total=prod(lead), chunk=_share(size))


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

    Few of float64 are not worth a compilation.
    """
    lead, size = x.shape[: -len(kernel)], x.shape[-len(kernel) :]
    if stored_of(x) is None or prod(size) >= 1 << 31 or not _many(x, x.size):
        return None
    values, where = np.empty((*lead, *out), x.dtype), np.empty((*lead, *out), np.int32)
    call_max_planes(at_once, x, values, where, kernel, out, geometry)
    return values, where


def add_planes(g: np.ndarray, where: np.ndarray, size: Shape) -> np.ndarray | None:
    """Zeros of that size with `g` added at the positions from `max_planes`."""
    lead = g.shape[: -len(size)]
    if where.dtype != np.int32 or not where.flags.c_contiguous:
        return None
    if real_of(g) is None or not _many(g, prod(lead) * prod(size)):
        return None
    out = np.empty((*lead, *size), g.dtype)
    call_add_planes(at_once, g, where, out, len(size))
    return out


def sum_planes(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray | None:
    """The sum of each window; None if NumPy has to do it."""
    if not _summable(x, x.size):
        return None
    sums = np.empty((*x.shape[: -len(kernel)], *out), x.dtype)
    call_sum_planes(at_once, x, sums, kernel, out, geometry)
    return sums


def spread_planes(
    g: np.ndarray, kernel: Shape, size: Shape, geometry: Geometry
) -> np.ndarray | None:
    """The adjoint of `sum_planes`."""
    if not _summable(g, prod(g.shape[: -len(size)]) * prod(size)):
        return None
    total = np.empty((*g.shape[: -len(kernel)], *size), g.dtype)
    call_spread_planes(at_once, g, total, kernel, size, geometry)
    return total
