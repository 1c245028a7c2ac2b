"""The maxima of windows and where they are, compiled: over planes, a row of outputs at a time."""

from __future__ import annotations

import math

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f64, i32, i32s, i64, inline, of_doubles, storeds
from wengert.kernels.ordering import float_key
from wengert.kernels.pool.windows import Windows, first_tap, inside_from, inside_to, last_tap


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
        m = best[j]
        w = where[j]
        a = x[j]
        larger = a > m or a != a
        best[j] = a if larger else m
        where[j] = first + i32(j) if larger else w


@inline
def _max_of_two(
    x: storeds, step: i64, best: storeds, where: i32s, first: i32, count: i64
) -> None:  # fmt: skip
    """Two taps of windows of one element, `step` apart."""
    for j in range(count):
        m = best[j]
        w = where[j]
        k = first + i32(j)
        a = x[j]
        b = x[step + j]
        larger = a > m or a != a
        m = a if larger else m
        w = k if larger else w
        larger = b > m or b != b
        best[j] = b if larger else m
        where[j] = k + i32(step) if larger else w


@inline
def _max_of_three(
    x: storeds, step: i64, best: storeds, where: i32s, first: i32, count: i64
) -> None:  # fmt: skip
    """Three of them."""
    for j in range(count):
        m = best[j]
        w = where[j]
        k = first + i32(j)
        a = x[j]
        b = x[step + j]
        c = x[2 * step + j]
        larger = a > m or a != a
        m = a if larger else m
        w = k if larger else w
        larger = b > m or b != b
        m = b if larger else m
        w = k + i32(step) if larger else w
        larger = c > m or c != c
        best[j] = c if larger else m
        where[j] = k + 2 * i32(step) if larger else w


@inline
def _max_channels(
    x: storeds, best: storeds, where: i32s, plan: Windows, depth: i64, height: i64
) -> None:
    """A row of windows of one element in x, which lie beside one another: see `volumes`."""
    step = plan.dilation_y * plan.size_x
    last = last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y)
    for kd in range(
        first_tap(depth, plan.dilation_z),
        last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
    ):
        for kh in range(first_tap(height, plan.dilation_y), last, 3):
            place = (
                (depth + kd * plan.dilation_z) * plan.size_y + height + kh * plan.dilation_y
            ) * plan.size_x
            row = at(x, place)
            first = i32(place)
            if last - kh >= 3:
                _max_of_three(row, step, best, where, first, plan.out_x)
            elif last - kh == 2:
                _max_of_two(row, step, best, where, first, plan.out_x)
            else:
                _max_next(row, best, where, first, plan.out_x)


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
            first_tap(start, plan.dilation_x),
            last_tap(start, plan.dilation_x, plan.taps_x, plan.size_x),
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
def _has_none(plan: Windows) -> i64:
    return 0


@inline
def _no_key(value: f64, place: i64) -> i64:
    return place


@of_doubles(_has_none)
def _has_wide_windows(plan: Windows) -> i64:
    """Whether (1 or 0) windows are gone through as integers, which have no room for doubles."""
    return 1 if (plan.taps_x >= _WIDE and plan.dilation_x == 1 and plan.stride_x != 1) else 0


@of_doubles(_no_key)
def _key(value: f32, place: i64) -> i64:
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
            first_tap(depth, plan.dilation_z),
            last_tap(depth, plan.dilation_z, plan.taps_z, plan.size_z),
        ):
            for kh in range(
                first_tap(height, plan.dilation_y),
                last_tap(height, plan.dilation_y, plan.taps_y, plan.size_y),
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
    top = depth + first_tap(depth, plan.dilation_z) * plan.dilation_z
    left = (
        top * plan.size_y + height + first_tap(height, plan.dilation_y) * plan.dilation_y
    ) * plan.size_x
    for j in range(low):
        start = j * plan.stride_x - plan.padding_x
        where[j] = i32(left + start + first_tap(start, plan.dilation_x) * plan.dilation_x)
    for j in range(low, plan.out_x):
        where[j] = i32(left - plan.padding_x) + i32(j) * i32(plan.stride_x)
    for j in range(plan.out_x):
        best[j] = -math.inf
    wide = _has_wide_windows(plan)
    if wide != 0:
        _max_wide(x, best, where, plan, depth, height, low, high)
    if plan.taps_x == 1 and plan.stride_x == 1 and plan.padding_x == 0:
        _max_channels(x, best, where, plan, depth, height)
    else:
        _max_taps(x, best, where, plan, depth, height, low, high)


@inline
def _max_taps(
    x: storeds, best: storeds, where: i32s, plan: Windows, depth: i64, height: i64, low: i64,
    high: i64,
) -> None:  # fmt: skip
    """All taps of a row of windows, or those beyond the row if the others were taken."""
    wide = _has_wide_windows(plan)
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
            row = at(x, first)
            _max_any(row, best, where, plan, first, 0, low)
            if wide == 0:
                _max_inside(row, best, where, plan, first, low, high)
            _max_any(row, best, where, plan, first, high, plan.out_x)


@kernel
def max_planes(x: storeds, out: storeds, where: i32s, plan: Windows, start: i64, stop: i64) -> None:
    plane = plan.size_z * plan.size_y * plan.size_x
    low = inside_from(plan)
    high = inside_to(plan)
    for p in range(start, stop):
        for od in range(plan.out_z):
            for oh in range(plan.out_y):
                row = ((p * plan.out_z + od) * plan.out_y + oh) * plan.out_x
                _max_rows(
                    at(x, p * plane), at(out, row), at(where, row), plan,
                    od * plan.stride_z - plan.padding_z, oh * plan.stride_y - plan.padding_y,
                    low, high,
                )  # fmt: skip
