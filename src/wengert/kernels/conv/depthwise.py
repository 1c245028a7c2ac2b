"""Convolutions of images with a kernel of its own for each channel: 3x3, 5x5 and 7x7.

The same three maps as in `conv`, for strides of 1 and 2. The planes of samples and channels are
independent. Some lines of a plane at a time are copied to where they have zeros around them,
and the loops of `depthwise_loops` go over these.

An infinity or NaN in the input can make `correlate` give NaN for weights that never met it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wengert.kernels.conv.depthwise_loops import (
    KERNELS,
    LINES,
    STRIDES,
    adjoints,
    form_of,
    places,
    windows,
)
from wengert.kernels.conv.winograd_transforms import split_2
from wengert.kernels.jit import get_threads, kernel
from wengert.kernels.jit.builtins import at, f32, f32s, f64, given, i64, i64s, inline, local
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import lanes, shifted

if TYPE_CHECKING:
    from wengert.kernels.geometry import Geometry

Shape = tuple[int, ...]

# Floats of the lines that are copied at once, and of a chunk for one thread.
_NEAR, _CHUNK = 4096, 1 << 15


@inline
def _fill(
    x: f32s, high: i64, wide: i64, first: i64, count: i64, left: i64, to: f32s, pitch: i64
) -> None:
    """Lines of a plane, from line `first` on, which may be before the plane, with zeros around.

    What is left and right of the plane is zero already.
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
    """The same in phases, by way of whole lines."""
    if stride == 1:
        _fill(x, high, wide, first, count, left, to, pitch)
    else:
        _fill(x, high, wide, first, count, left, whole, 2 * pitch)
        split_2(whole, to, apart, count * pitch)


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
        # Behind the last line are zeros.
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
    size: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
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
        for sample in range(samples):
            plane = sample * channels + c
            for j in range(k * k * size):
                sums[j] = 0.0
            _add_places(
                at(g, plane * out_high * out_wide), at(x, plane * high * wide), sums, whole, near,
                rows, k, stride, form, high, wide, top, left, out_high, out_wide, lines, pitch,
                apart, g_pitch,
            )  # fmt: skip
            for j in range(k * k):
                total = 0.0
                for i in range(size):
                    total += sums[j * size + i]
                totals[j] = totals[j] + f64(total)
        for j in range(k * k):
            out[c * k * k + j] = f32(totals[j])
    leave(busy, slot)


def _fits(channels: int, weight: Shape, geometry: Geometry) -> bool:
    """Whether there are loops for it."""
    outputs, each, *kernel = weight
    return (
        geometry.groups == channels == outputs
        and each == 1
        and len(kernel) == 2
        and kernel[0] == kernel[1]
        and kernel[0] in KERNELS
        and geometry.dilation == (1, 1)
        and geometry.stride in [(s, s) for s in STRIDES]
    )


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _lines(out_high: int, k: int, stride: int, pitch: int) -> int:
    """How many lines of outputs are made from lines that are copied at once."""
    fitting = (_NEAR // pitch - k) // stride + 1
    return min(max(LINES, fitting // LINES * LINES), _up(out_high, LINES))


def _memory(room: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Room for each thread, which of it is taken, and for how many there is."""
    slots = get_threads()
    return np.empty(slots * room, np.float32), np.zeros(slots, np.int64), slots


def _window_plan(size: Shape, k: int, stride: int) -> tuple[int, int, int, int]:
    """Lines of outputs that are made at once, the floats of a line of a phase and of a phase, and
    those of all lines, in phases and whole."""
    pitch = _up(_up(size[1], lanes()) + (k - 1) // stride, lanes())
    lines = _lines(size[0], k, stride, pitch * stride)
    apart = ((lines - 1) * stride + k) * pitch
    # A vector behind the last column is read.
    return lines, pitch, apart, apart * (1 if stride == 1 else 4) + 2 * lanes()


def convolve(
    x: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray | None:  # fmt: skip
    """`conv.convolve`, or None where it is not for this."""
    if not _fits(x.shape[1], weight.shape, geometry):
        return None
    return _convolution(x, weight, size, geometry, bias)


def _convolution(
    x: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry, bias: np.ndarray | None
) -> np.ndarray:
    x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    if bias is not None:
        bias = np.ascontiguousarray(bias, np.float32)
    samples, channels, high, wide = x.shape
    k, stride, ((top, _), (left, _)) = weight.shape[-1], geometry.stride[0], geometry.padding
    lines, pitch, apart, room = _window_plan(size, k, stride)
    room += LINES * lanes()
    out = np.empty((samples, channels, *size), np.float32)
    _convolve.f32(
        x, weight, bias, out, *_memory(room), k, stride, form_of(k, stride), channels, high, wide,
        top, left, *size, lines, pitch, apart, room, lanes(), samples * channels,
        max(1, _CHUNK // (high * wide)),
    )  # fmt: skip
    return out


def spread(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray | None:  # fmt: skip
    """`conv.spread`, or None where it is not for this."""
    if not _fits(g.shape[1], weight.shape, geometry):
        return None
    k, stride, ((top, _), (left, _)) = weight.shape[-1], geometry.stride[0], geometry.padding
    samples, channels, high, wide = g.shape
    if stride == 1:
        before, behind = (k - 1 - top, k - 1 - left), (size[0] + top - high, size[1] + left - wide)
        if min(*before, *behind) < 0:
            return None
        around = geometry._replace(padding=tuple(zip(before, behind, strict=True)))
        return _convolution(g, weight[:, :, ::-1, ::-1], size, around, bias)
    g, weight = np.ascontiguousarray(g), np.ascontiguousarray(weight)
    if bias is not None:
        bias = np.ascontiguousarray(bias, np.float32)
    pitch = _up(_up((size[1] + left + 1) // 2, lanes()) + k // 2, lanes())
    lines = _lines((size[0] + top + 1) // 2, k, 1, pitch)
    room = (lines + k + 4) * pitch
    out = np.empty((samples, channels, *size), np.float32)
    _spread.f32(
        g, weight, bias, out, *_memory(room), k, form_of(k, stride), channels, high, wide, top,
        left, *size, lines, pitch, room, samples * channels, max(1, _CHUNK // (size[0] * size[1])),
    )  # fmt: skip
    return out


def correlate(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray | None:
    """`conv.correlate`, or None where it is not for this."""
    shape = (g.shape[1], x.shape[1] // geometry.groups, *kernel)
    if not _fits(x.shape[1], shape, geometry):
        return None
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    samples, channels, high, wide = x.shape
    k, stride, ((top, _), (left, _)) = kernel[0], geometry.stride[0], geometry.padding
    size = g.shape[2:]
    lines, pitch, apart, room = _window_plan(size, k, stride)
    g_pitch = _up(size[1], lanes())
    room += k * k * lanes() + lines * g_pitch
    out = np.empty(shape, np.float32)
    _correlate.f32(
        g, x, out, *_memory(room), k, stride, form_of(k, stride), samples, channels, high, wide,
        top, left, *size, lines, pitch, apart, g_pitch, room, lanes(), channels,
        max(1, _CHUNK // max(1, samples * high * wide)),
    )  # fmt: skip
    return out
