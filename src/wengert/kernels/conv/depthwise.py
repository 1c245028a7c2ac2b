"""Depthwise convolutions of images: 3x3, 5x5 and 7x7.

For float32, and strides of 1 and 2. The planes of samples and channels are
independent. A few lines of a plane at a time are copied to a zero-padded buffer, over which the
loops of `depthwise_loops` run.

An infinity or NaN in the input can make `grad_weight` give NaN for weights that never met it.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.calling import Caller
from wengert.kernels.conv.depthwise_loops import (
    KERNELS,
    LINES,
    STRIDES,
    adjoints,
    form_of,
    places,
    windows,
)
from wengert.kernels.conv.route import Direction, KernelRoute, Problem
from wengert.kernels.conv.shifting import shifted
from wengert.kernels.conv.winograd_transforms import split_2
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f32s, f64, given, i64, i64s, inline, local
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import lanes
from wengert.kernels.reduction.native import DEEP

Shape = tuple[int, ...]

# Floats of the lines that are copied at once, and of a chunk for one thread.
_NEAR, _CHUNK = 4096, 1 << 15


@inline
def _fill(
    x: f32s, high: i64, wide: i64, first: i64, count: i64, left: i64, to: f32s, pitch: i64
) -> None:
    """Copy lines of a plane from line `first`, which may be before the plane, with zeros around.

    The margins left and right of the plane are zero already.
    """
    some = min(wide, pitch - left)
    for n in range(count):
        row = at(to, n * pitch)
        if first + n < 0 or first + n >= high:
            for j in range(pitch):
                row[j] = 0.0
        else:
            shifted(at(row, left), at(x, (first + n) * wide), some, -0.0)


@inline
def _fill_phases(
    x: f32s, high: i64, wide: i64, first: i64, count: i64, left: i64, stride: i64, whole: f32s,
    to: f32s, pitch: i64, apart: i64,
) -> None:  # fmt: skip
    """As `_fill`, split into phases, via whole lines."""
    if stride == 1:
        _fill(x, high, wide, first, count, left, to, pitch)
    else:
        _fill(x, high, wide, first, count, left, whole, 2 * pitch)
        split_2(whole, to, apart, count * pitch)


@kernel
def _mirror(x: f32s, out: f32s, places: i64, start: i64, stop: i64) -> None:
    """The places of each kernel in reverse order."""
    for c in range(start, stop):
        for j in range(places):
            out[c * places + j] = x[(c + 1) * places - 1 - j]


@kernel
def _convolve(
    x: f32s, weight: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64, k: i64,
    stride: i64, form: i64, channels: i64, high: i64, wide: i64, top: i64, left: i64,
    out_high: i64, out_wide: i64, lines: i64, pitch: i64, apart: i64, room: i64, size: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    slot = take(busy, slots)
    short = at(scratch, slot * room)
    rows = at(short, LINES * size)
    whole = at(rows, stride * apart)
    for j in range(room):
        short[j] = 0.0
    for plane in range(start, stop):
        weights = at(weight, plane % channels * k * k)
        shift = 0.0
        if given(bias):
            shift = bias[plane % channels]
        for first in range(0, out_high, lines):
            count = min(lines, out_high - first)
            _fill_phases(
                at(x, plane * high * wide), high, wide, first * stride - top,
                (count - 1) * stride + k, left, stride, whole, rows, pitch, apart,
            )  # fmt: skip
            together = LINES if count >= LINES else 1
            for i in range(0, count, together):
                n = min(i, count - together)
                to = at(out, (plane * out_high + first + n) * out_wide)
                read = at(rows, n * stride * pitch)
                if out_wide >= size:
                    windows(
                        form + together, read, pitch, apart, weights, shift, to, out_wide, out_wide
                    )
                else:
                    windows(form + together, read, pitch, apart, weights, shift, short, size, size)
                    for j in range(together):
                        shifted(at(to, j * out_wide), at(short, j * size), out_wide, -0.0)
    leave(busy, slot)


@kernel
def _spread(
    g: f32s, weight: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64, k: i64,
    form: i64, channels: i64, high: i64, wide: i64, top: i64, left: i64, out_high: i64,
    out_wide: i64, lines: i64, pitch: i64, room: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The adjoint of a convolution with a stride of 2: lines in pairs."""
    slot = take(busy, slots)
    pair = at(scratch, slot * room)
    rows = at(pair, 4 * pitch)
    before = k // 2
    for j in range(room):
        pair[j] = 0.0
    for plane in range(start, stop):
        weights = at(weight, plane % channels * k * k)
        shift = -0.0
        if given(bias):
            shift = bias[plane % channels]
        pairs = (out_high + top + 1) // 2
        for first in range(top // 2, pairs, lines):
            count = min(lines, pairs - first)
            _fill(
                at(g, plane * high * wide), high, wide, first - before, count + before, before,
                rows, pitch,
            )  # fmt: skip
            for n in range(count):
                at_first = (n + before) * pitch + before
                windows_wide = (out_wide + left + 1) // 2
                adjoints(form + 1, rows, at_first, pitch, weights, pair, 2 * pitch, windows_wide)
                for u in range(2):
                    h = 2 * (first + n) + u - top
                    if h >= 0 and h < out_high:
                        to = at(out, (plane * out_high + h) * out_wide)
                        shifted(to, at(pair, u * 2 * pitch + left), out_wide, shift)
    leave(busy, slot)


@inline
def _add_places(
    g: f32s, x: f32s, sums: f32s, whole: f32s, near: f32s, rows: f32s, k: i64, stride: i64,
    form: i64, high: i64, wide: i64, top: i64, left: i64, out_high: i64, out_wide: i64,
    lines: i64, pitch: i64, apart: i64, g_pitch: i64,
) -> None:  # fmt: skip
    """Add the products of a plane to the vectors of the places of the kernel."""
    for first in range(0, out_high, lines):
        # Zeros follow the last line.
        count = (min(lines, out_high - first) + LINES - 1) // LINES * LINES
        _fill_phases(
            x, high, wide, first * stride - top, (count - 1) * stride + k, left, stride, whole,
            rows, pitch, apart,
        )  # fmt: skip
        _fill(g, out_high, out_wide, first, count, 0, near, g_pitch)
        for n in range(0, count, LINES):
            places(
                form + LINES, at(rows, n * stride * pitch), pitch, apart, at(near, n * g_pitch),
                g_pitch, sums, out_wide,
            )  # fmt: skip


@kernel
def _correlate(
    g: f32s, x: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64, k: i64, stride: i64,
    form: i64, samples: i64, channels: i64, high: i64, wide: i64, top: i64, left: i64,
    out_high: i64, out_wide: i64, lines: i64, pitch: i64, apart: i64, g_pitch: i64, room: i64,
    size: i64, together: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Inner products, in float32 over as many samples as are done `together`."""
    slot = take(busy, slots)
    sums = at(scratch, slot * room)
    near = at(sums, k * k * size)
    rows = at(near, lines * g_pitch)
    whole = at(rows, stride * apart)
    totals = local(f64, 49)
    for j in range(room):
        sums[j] = 0.0
    for c in range(start, stop):
        for j in range(k * k):
            totals[j] = f64(0.0)
        for first in range(0, samples, together):
            for j in range(k * k * size):
                sums[j] = 0.0
            for sample in range(first, min(first + together, samples)):
                plane = sample * channels + c
                _add_places(
                    at(g, plane * out_high * out_wide), at(x, plane * high * wide), sums, whole,
                    near, rows, k, stride, form, high, wide, top, left, out_high, out_wide, lines,
                    pitch, apart, g_pitch,
                )  # fmt: skip
            for j in range(k * k):
                total = 0.0
                for i in range(size):
                    total += sums[j * size + i]
                totals[j] = totals[j] + f64(total)
        for j in range(k * k):
            out[c * k * k + j] = f32(totals[j])
    leave(busy, slot)


class DepthwisePlan(NamedTuple):
    """How a kernel goes about a problem."""

    slots: int
    scratch: int  # scratch floats per slot
    sizes: tuple[int, ...]  # arguments of the kernel after the arrays and the memory
    total: int
    chunk: int

    def memory(self, caller: Caller) -> tuple[Any, np.ndarray, int]:
        """Memory for all slots, who has them, and their number."""
        return (
            caller.temporary([self.slots * self.scratch]),
            np.zeros(self.slots, np.int64),
            self.slots,
        )


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _lines(out_high: int, k: int, stride: int, pitch: int) -> int:
    """The number of output lines computed from the lines copied at once."""
    fitting = (_NEAR // pitch - k) // stride + 1
    return min(max(LINES, fitting // LINES * LINES), _up(out_high, LINES))


def _window_sizes(size: Shape, k: int, stride: int) -> tuple[int, int, int, int]:
    """Lines of outputs that are made at once, the floats of a line of a phase and of a phase, and
    those of all lines, in phases and whole."""
    pitch = _up(_up(size[1], lanes()) + (k - 1) // stride, lanes())
    lines = _lines(size[0], k, stride, pitch * stride)
    apart = ((lines - 1) * stride + k) * pitch
    # One vector past the last column is read.
    return lines, pitch, apart, apart * (1 if stride == 1 else 4) + 2 * lanes()


def _forward_plan(problem: Problem) -> DepthwisePlan:
    samples, channels, high, wide = problem.x
    k, stride, ((top, _), (left, _)), *_ = problem.kernel[0], *problem.geometry
    lines, pitch, apart, room = _window_sizes(problem.out, k, stride[0])
    room += LINES * lanes()
    sizes = (
        k, stride[0], form_of(k, stride[0]), channels, high, wide, top, left, *problem.out, lines,
        pitch, apart, room, lanes(),
    )  # fmt: skip
    chunk = max(1, _CHUNK // (high * wide))
    return DepthwisePlan(problem.threads, room, sizes, samples * channels, chunk)


def _pairs_plan(problem: Problem) -> DepthwisePlan:
    """The plan of the gradient of the input for a stride of 2."""
    samples, channels, *size = problem.x
    k, stride, ((top, _), (left, _)), *_ = problem.kernel[0], *problem.geometry
    pitch = _up(_up((size[1] + left + 1) // 2, lanes()) + k // 2, lanes())
    lines = _lines((size[0] + top + 1) // 2, k, 1, pitch)
    room = (lines + k + 4) * pitch
    sizes = (
        k, form_of(k, stride[0]), channels, *problem.out, top, left, *size, lines, pitch, room,
    )  # fmt: skip
    chunk = max(1, _CHUNK // (size[0] * size[1]))
    return DepthwisePlan(problem.threads, room, sizes, samples * channels, chunk)


def _together(size: Shape) -> int:
    """Samples whose terms are few enough for sums in float32."""
    terms = size[0] * -(-size[1] // lanes())
    return max(1, DEEP // max(1, terms))


def _weight_plan(problem: Problem) -> DepthwisePlan:
    samples, channels, high, wide = problem.x
    k, stride, ((top, _), (left, _)), *_ = problem.kernel[0], *problem.geometry
    lines, pitch, apart, room = _window_sizes(problem.out, k, stride[0])
    g_pitch = _up(problem.out[1], lanes())
    room += k * k * lanes() + lines * g_pitch
    sizes = (
        k, stride[0], form_of(k, stride[0]), samples, channels, high, wide, top, left,
        *problem.out, lines, pitch, apart, g_pitch, room, lanes(), _together(problem.out),
    )  # fmt: skip
    chunk = max(1, _CHUNK // max(1, samples * high * wide))
    return DepthwisePlan(problem.threads, room, sizes, channels, chunk)


def _call(caller: Caller, kernel: Any, plan: DepthwisePlan, *arrays: Any) -> None:
    """Call a kernel as its plan says."""
    caller.call(
        kernel.f32, *arrays, *plan.memory(caller), *plan.sizes, total=plan.total, chunk=plan.chunk
    )


class Depthwise(KernelRoute):
    """Loops over the planes of depthwise convolutions."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether there are loops for it."""
        (outputs, each, *kernel), (stride, _, dilation, groups) = problem.weight, problem.geometry
        return (
            groups == outputs
            and each == 1
            and len(kernel) == 2
            and kernel[0] == kernel[1]
            and kernel[0] in KERNELS
            and dilation == (1, 1)
            and stride in [(s, s) for s in STRIDES]
            and (direction != "grad_input" or stride == (2, 2) or problem.adjoint is not None)
        )

    @cached_property
    def _forward_plan(self) -> DepthwisePlan:
        return _forward_plan(self.problem)

    @cached_property
    def _grad_input_plan(self) -> DepthwisePlan:
        adjoint = self.problem.adjoint
        return _pairs_plan(self.problem) if adjoint is None else _forward_plan(adjoint)

    @cached_property
    def _grad_weight_plan(self) -> DepthwisePlan:
        return _weight_plan(self.problem)

    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""
        _call(caller, _convolve, self._forward_plan, x, weight, bias, out)

    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""
        plan = self._grad_input_plan
        if self.problem.geometry.stride == (2, 2):
            _call(caller, _spread, plan, g, weight, bias, out)
            return
        channels, _, *size = shape = self.problem.weight
        mirrored = caller.temporary(shape)
        places = prod(size)
        caller.call(_mirror.f32, weight, mirrored, places, total=channels, chunk=_CHUNK // places)
        _call(caller, _convolve, plan, g, mirrored, bias, out)

    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""
        _call(caller, _correlate, self._grad_weight_plan, g, x, out)
