"""Windows over planes of three dimensions, and which of their taps are inside, for kernels."""

from __future__ import annotations

from wengert.kernels.jit.builtins import i64, inline
from wengert.kernels.jit.records import Record


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
def first_tap(start: i64, step: i64) -> i64:
    """The first tap of a window that is not before the input."""
    before = max(-start, 0)
    if step > 1:
        before = (before + step - 1) // step
    return before


@inline
def last_tap(start: i64, step: i64, taps: i64, size: i64) -> i64:
    """One past the last tap inside the input. The window starts inside it or before."""
    behind = size - 1 - start
    if step > 1:
        behind = behind // step
    return min(taps, behind + 1)


@inline
def inside_from(plan: Windows) -> i64:
    """The first output of a row whose whole window is inside the row (or none is)."""
    return min((plan.padding_x + plan.stride_x - 1) // plan.stride_x, plan.out_x)


@inline
def inside_to(plan: Windows) -> i64:
    """One past the last output whose whole window is inside the row."""
    room = plan.size_x - 1 - (plan.taps_x - 1) * plan.dilation_x + plan.padding_x
    return max(inside_from(plan), min(plan.out_x, room // plan.stride_x + 1 if room >= 0 else 0))
