"""Convolution of many small images: vectors of samples, and only what windows really meet.

The same three maps as in `conv`, for float32. Lines of small images are shorter than vectors and
much of their windows lies in the padding. So a task copies some samples side by side, until
they fill vectors: then an output is a sum over a list, which has a place of the kernel and a
position of the input for each of what it meets. Strides, dilations, padding and the adjoint
differ in their lists alone.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wengert.kernels.conv.direct import packed_weights
from wengert.kernels.conv.plan import Ints, pack, window_axes
from wengert.kernels.jit import get_threads, kernel
from wengert.kernels.jit.builtins import at, f32s, given, i64, i64s, inline
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import (
    lanes,
    listed_dots,
    listed_product,
    tiles,
    transposed,
)

if TYPE_CHECKING:
    from wengert.kernels.geometry import Geometry

Shape = tuple[int, ...]

# The largest images, and floats of the outputs of a task.
_POSITIONS, _OUTPUTS = 256, 1 << 19
# Floats of the input that are copied at a time, for the second cache; those that sums of weights
# go through, for the first.
_INPUT, _FACTORS = 48 << 10, 8 << 10
# How much less there must be to multiply than without lists.
_BETTER = 1.15
# The most vectors of samples of a block in sums of weights.
_DEEP = 8
# Multiplications of a chunk of tasks for one thread; how many tasks there are at least where
# there is enough to do; rows of tiles that are worth another copy of the input.
_CHUNK, _TASKS, _PANELS = 1 << 21, 8, 8
# Floats of the sums over parts of a batch.
_PARTIAL = 1 << 20


class BatchedPlan(NamedTuple):
    """The integers that a kernel is given, and its lists."""

    batch: int
    groups: int
    channels: int  # of a group
    inputs: int  # positions
    outs: int
    outputs: int
    taps: int
    samples: int  # of a block
    block: int  # channels that are copied at a time
    shares: int
    parts: int
    lanes: int
    panel: int
    widest: int
    scratch: int  # floats that a thread needs
    starts: np.ndarray
    places: np.ndarray
    sources: np.ndarray
    tasks: int
    chunk: int
    packs: list[tuple[Ints, Ints]]

    @property
    def given(self) -> Ints:
        """The arguments of a kernel behind the arrays and the memory."""
        return self[:-1]

    def memory(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Memory for each of the threads, their slots, and how many there are."""
        slots = min(get_threads(), self.tasks)
        return np.empty(slots * self.scratch, np.float32), np.zeros(slots, np.int64), slots


@inline
def _turn(to: f32s, to_pitch: i64, source: f32s, pitch: i64, rows: i64, columns: i64) -> None:
    """A transposed matrix."""
    high = rows // 8 * 8
    wide = columns // 8 * 8
    for i in range(0, high, 8):
        for j in range(0, wide, 8):
            transposed(at(to, j * to_pitch + i), to_pitch, at(source, i * pitch + j), pitch)
        for j in range(wide, columns):
            for k in range(i, i + 8):
                to[j * to_pitch + k] = source[k * pitch + j]
    for i in range(high, rows):
        for j in range(columns):
            to[j * to_pitch + i] = source[i * pitch + j]


@inline
def _copy(
    to: f32s, source: f32s, pitch: i64, count: i64, channels: i64, positions: i64, n: i64
) -> None:
    """Copy channels of samples: by position, channel and sample."""
    for c in range(channels):
        _turn(at(to, c * n), channels * n, at(source, c * positions), pitch, count, positions)


@kernel
def _sums(
    x: f32s, packed: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64,
    batch: i64, groups: i64, channels: i64, inputs: i64, outs: i64, outputs: i64, taps: i64,
    samples: i64, block: i64, shares: i64, parts: i64, lane: i64, panel: i64, widest: i64,
    space: i64, starts: i64s, places: i64s, sources: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Outputs of the samples, the group and the share of channels that a task stands for."""
    slot = take(busy, slots)
    copied = at(scratch, slot * space)
    sums = at(copied, block * inputs * samples)
    panels = (outs + panel - 1) // panel
    for task in range(start, stop):
        share = task % shares
        group = task // shares % groups
        sample = task // shares // groups * samples
        count = min(samples, batch - sample)
        vectors = (count + lane - 1) // lane
        n = vectors * lane
        low = share * panels // shares * panel
        high = min((share + 1) * panels // shares * panel, outs)
        more = 0
        if given(bias):
            more = 1
            for k in range(low, high):
                for i in range(outputs * n):
                    sums[(k - low) * outputs * n + i] = bias[group * outs + k]
        for first in range(0, channels, block):
            width = min(block, channels - first)
            source = at(x, ((sample * groups + group) * channels + first) * inputs)
            _copy(copied, source, groups * channels * inputs, count, width, inputs, n)
            for m in range(low, high, panel):
                rows = min(panel, high - m)
                weights = at(packed, (group * outs + m) * channels * taps + first * rows)
                for p in range(outputs):
                    listed_product(
                        rows, vectors, weights, at(places, starts[p]), channels * rows, copied,
                        at(sources, starts[p]), width * n, starts[p + 1] - starts[p], n, width,
                        at(sums, ((m - low) * outputs + p) * n), outputs * n, more,
                    )  # fmt: skip
            more = 1
        to = at(out, ((sample * groups + group) * outs + low) * outputs)
        _turn(to, groups * outs * outputs, sums, n, (high - low) * outputs, count)
    leave(busy, slot)


@kernel
def _inner_products(
    g: f32s, x: f32s, partial: f32s, scratch: f32s, busy: i64s, slots: i64,
    batch: i64, groups: i64, channels: i64, inputs: i64, outs: i64, outputs: i64, taps: i64,
    samples: i64, block: i64, shares: i64, parts: i64, lane: i64, panel: i64, widest: i64,
    space: i64, starts: i64s, places: i64s, sources: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Sums over a part of the samples, for a share of the channels of the output."""
    slot = take(busy, slots)
    copied = at(scratch, slot * space)
    grad = at(copied, block * inputs * samples)
    panels = (outs + panel - 1) // panel
    blocks = (batch + samples - 1) // samples
    for task in range(start, stop):
        share = task % shares
        group = task // shares % groups
        part = task // shares // groups
        low = share * panels // shares * panel
        high = min((share + 1) * panels // shares * panel, outs)
        begin = part * blocks // parts
        for b in range(begin, (part + 1) * blocks // parts):
            sample = b * samples
            count = min(samples, batch - sample)
            vectors = (count + lane - 1) // lane
            n = vectors * lane
            if count < n:
                for i in range(block * inputs * n):
                    copied[i] = 0.0
                for i in range((high - low) * outputs * n):
                    grad[i] = 0.0
            source = at(g, ((sample * groups + group) * outs + low) * outputs)
            _turn(grad, n, source, groups * outs * outputs, count, (high - low) * outputs)
            for first in range(0, channels, block):
                width = min(block, channels - first)
                source = at(x, ((sample * groups + group) * channels + first) * inputs)
                _turn(copied, n, source, groups * channels * inputs, count, width * inputs)
                for m in range(low, high, panel):
                    rows = min(panel, high - m)
                    row = ((part * groups + group) * outs + m) * channels + first
                    for c in range(0, width, widest):
                        for t in range(taps):
                            listed_dots(
                                rows, min(widest, width - c), at(grad, (m - low) * outputs * n),
                                outputs * n, at(places, starts[t]), n, at(copied, c * inputs * n),
                                inputs * n, at(sources, starts[t]), n, starts[t + 1] - starts[t],
                                vectors, at(partial, (row + c) * taps + t), channels * taps,
                                taps, i64(b > begin),
                            )  # fmt: skip
    leave(busy, slot)


def _lists(
    size: Shape, kernel: Shape, out: Shape, geometry: Geometry
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What meets: positions of the input, places in the kernel, and windows."""
    inputs = places = windows = np.zeros(1, np.int64)
    for n, k, m, stride, (low, _), gap in zip(
        size, kernel, out, geometry.stride, geometry.padding, geometry.dilation, strict=True
    ):
        window, place = (a.ravel() for a in np.indices((m, k)))
        at = window * stride + place * gap - low
        window, place, at = (a[(at >= 0) & (at < n)] for a in (window, place, at))
        inputs = np.add.outer(inputs * n, at).ravel()
        places = np.add.outer(places * k, place).ravel()
        windows = np.add.outer(windows * m, window).ravel()
    return inputs, places, windows


@lru_cache(maxsize=256)
def fits(x: Shape, weight: Shape, size: Shape, geometry: Geometry) -> bool:
    """Whether that is the better way: there are vectors of samples, and enough to leave out."""
    outputs, batch = prod(size), x[0]
    if max(outputs, prod(x[2:])) > _POSITIONS or batch < lanes():
        return False
    if weight[0] // geometry.groups * outputs * lanes() > _OUTPUTS:
        return False
    met = len(_lists(x[2:], weight[2:], size, geometry)[0]) * -(-batch // lanes()) * lanes()
    runs = prod(a.pitch for a in window_axes(x[2:], weight[2:], size, geometry))
    return met * _BETTER < runs * prod(weight[2:]) * batch


@lru_cache(maxsize=256)
def _plan(x: Shape, weight: Shape, size: Shape, geometry: Geometry, way: str) -> BatchedPlan:
    """The plan of a map: "convolve", "spread" or "correlate"."""
    batch, groups = x[0], geometry.groups
    inputs, outputs, taps = prod(x[2:]), prod(size), prod(weight[2:])
    channels, outs = weight[1], weight[0] // groups
    met, places, windows = _lists(x[2:], weight[2:], size, geometry)
    keys, count, first, second = windows, outputs, places, met
    if way == "spread":
        keys, count, second = met, inputs, windows
        inputs, outputs, channels, outs = outputs, inputs, outs, channels
    elif way == "correlate":
        keys, count, first = places, taps, windows
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(count + 1))

    panel, width = max(tiles()), lanes()
    widest = tiles()[panel]
    vectors = -(-batch // width)
    deep = min(widest, max(2, vectors // 4))
    if way == "correlate":
        deep = max(2, min(_DEEP, _FACTORS // ((panel * outputs + widest * inputs) * width)))
    samples = min(vectors, deep) * width
    parts = blocks = -(-batch // samples)
    work = batch * groups * channels * outs * len(keys)
    wanted, panels = min(_TASKS, work // _CHUNK), -(-outs // panel)
    if way == "correlate":
        parts = max(1, min(blocks, wanted, _PARTIAL // (groups * outs * channels * taps)))
    shares = min(-(-wanted // (parts * groups)), panels // _PANELS)
    shares = min(panels, max(1, shares, -(-outs * outputs * samples // _OUTPUTS)))
    block = max(1, min(channels, _INPUT // (inputs * samples)))
    block = -(-channels // -(-channels // block))
    scratch = (block * inputs + -(-panels // shares) * panel * outputs) * samples
    tasks = parts * groups * shares
    chunk = min(tasks, -(-_CHUNK * tasks // max(1, work)))
    return BatchedPlan(
        batch, groups, channels, inputs, outs, outputs, taps, samples, block, shares, parts,
        width, panel, widest, -(-scratch // 16) * 16, starts, first[order], second[order],
        tasks, chunk, [pack(np.arange(taps), 0, channels, outs, groups, channels, 1)],
    )  # fmt: skip


def convolve(
    x: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each output is a window's product with the weights; there are `size` windows."""
    plan = _plan(x.shape, weight.shape, size, geometry, "convolve")
    out = np.empty((len(x), len(weight), *size), np.float32)
    return _run(x, weight, bias, out, plan, False)


def spread(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each value is added, times the weights, to its window in an array of that size."""
    shape = (len(g), geometry.groups * weight.shape[1], *size)
    plan = _plan(shape, weight.shape, g.shape[2:], geometry, "spread")
    return _run(g, weight, bias, np.empty(shape, np.float32), plan, True)


def _run(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, out: np.ndarray, plan: BatchedPlan,
    adjoint: bool,
) -> np.ndarray:  # fmt: skip
    x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    if bias is not None:
        bias = np.ascontiguousarray(bias, np.float32)
    packed = packed_weights(weight, plan.packs, plan.groups, adjoint)
    _sums.f32(x, packed, bias, out, *plan.memory(), *plan.given)
    return out


def correlate(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray:
    """Each weight is the product of the outputs with what its place in the kernel met."""
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    shape = (g.shape[1], x.shape[1] // geometry.groups, *kernel)
    plan = _plan(x.shape, shape, g.shape[2:], geometry, "correlate")
    partial = np.empty((plan.parts, *shape), np.float32)
    _inner_products.f32(g, x, partial, *plan.memory(), *plan.given)
    return partial[0] if plan.parts == 1 else partial.sum(0)
