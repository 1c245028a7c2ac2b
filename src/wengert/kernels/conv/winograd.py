"""Convolutions of 3x3 with fewer multiplications: F(2x2, 3x3) and F(4x4, 3x3) of Winograd.

Lavin and Gray, "Fast algorithms for convolutional neural networks" (2016). The output is computed
in tiles of `m` by `m`, each from `m + 2` by `m + 2` values: in the transformed domain tiles are
matrix products, one for each of `(m + 2)**2` places, of (outputs, channels) by (channels, tiles).
That is 4 multiplications per output and channel with F(2x2) and 2.25 with F(4x4), where plain
sums have 9.

A block of tiles goes through all steps before the next one, within a core's caches.

Errors relative to the largest output, over random data with 16 to 512 channels: F(2x2) up
to 1e-6, like plain sums in float32; F(4x4) up to 6e-6, and 2e-6 for the gradient of the
weights, where each is a sum over many tiles. An infinity or a NaN in the input reaches
all outputs of the tiles that read it, not only those of its windows.

Index layout of the transformed arrays, each plane being followed by 16 spare floats:

    values `v` (place, channel, pitch), where pitch is the tiles of a block, rounded up
    weights `u` (place, panel, channel, row), a panel being the `rows` outputs of a microkernel
    sums `s` (place, output, pitch), with outputs rounded up to whole panels

A run is `width` neighbouring tiles in a row of tiles; runs are numbered (sample, segment, line),
lines fastest, so that a run can reuse the rows it shares with the one above.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.calling import Caller
from wengert.kernels.conv.route import Direction, KernelRoute, Problem
from wengert.kernels.conv.winograd_transforms import (
    gradients_2,
    gradients_4,
    outputs_2,
    outputs_4,
    split_2,
    split_4,
    sums_2,
    sums_4,
    taps_2,
    taps_4,
    values_2,
    values_4,
)
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32, f32s, given, i64, i64s, inline, local
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import dots, lanes, product, tiles

Shape = tuple[int, ...]

# The maximum tiles per block: more do not fit the cache.
_MOST = 160
# The cost of the weights of a block, in tiles.
_BESIDE = 8
# Channels and outputs per block of products: tiles of that many channels fit the L1 cache, their
# weights the L2 cache.
CHANNELS, OUTPUTS = 256, 128
# Rows of an image held in phases at once.
ROWS = 32
# Tiles summed at once for the gradient of the weights, and the block of outputs and channels
# whose products share the L1 cache.
_SUMMED = 256
LEFT, RIGHT = 16, 12


@kernel
def _weights(
    weight: f32s, u: f32s, m: i64, first: i64, output: i64, channel: i64, tap: i64, outputs: i64,
    channels: i64, rows: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    plane = (outputs + rows - 1) // rows * rows * channels + 16
    for part in range(start, stop):
        k = part * rows
        out = at(u, k * channels)
        if m == 2:
            taps_2(weight, first, output, channel, tap, k, outputs - 1, out, plane, channels)
        else:
            taps_4(weight, first, output, channel, tap, k, outputs - 1, out, plane, channels)


@inline
def _split_row(
    x: f32s, first: i64, column: i64, wide: i64, row: f32s, phases: f32s, apart: i64, m: i64,
    width: i64,
) -> None:  # fmt: skip
    """Load a row of the image from a column, with zeros outside the image, split into phases."""
    count = m * (width + 1)
    low = min(max(0, -column), count)
    high = max(min(count, wide - column), low)
    for j in range(low):
        row[j] = 0.0
    for j in range(low, high):
        row[j] = x[first + column + j]
    for j in range(high, count):
        row[j] = 0.0
    if m == 2:
        split_2(row, phases, apart, width + 1)
    else:
        split_4(row, phases, apart, width + 1)


@inline
def _zero_row(phases: f32s, count: i64) -> None:
    for j in range(count):
        phases[j] = 0.0


@inline
def _transformed(
    x: f32s, out: f32s, scratch: f32s, m: i64, reach: i64, first: i64, count: i64, lines: i64,
    segments: i64, width: i64, apart: i64, channels: i64, c: i64, high: i64, wide: i64, top: i64,
    left: i64, plane: i64,
) -> None:  # fmt: skip
    """The transformed tiles of `count` runs of a channel: one plane per place.

    Tiles have `reach` rows: `m + 2` of an image, or the `m` of a gradient of outputs.
    """
    phases = at(scratch, m * (apart + apart))
    line = first % lines
    segment = first // lines % segments
    sample = first // (lines * segments)
    base = 0
    for r in range(count):
        # The last rows of the tile above are the first ones here: keep them in the ring of phases.
        fresh = r == 0 or line == 0 or reach == m or base + m + reach > ROWS
        base = 0 if fresh else base + m
        for a in range(0 if fresh else 2, reach):
            h = line * m - top + a
            into = at(phases, (base + a) * m * apart)
            if h >= 0 and h < high:
                begin = ((sample * channels + c) * high + h) * wide
                column = segment * width * m - left
                _split_row(x, begin, column, wide, scratch, into, apart, m, width)
            else:
                _zero_row(into, m * apart)
        rows = at(phases, base * m * apart)
        to = at(out, r * width)
        if reach > m:
            if m == 2:
                values_2(rows, m * apart, apart, to, plane, width)
            else:
                values_4(rows, m * apart, apart, to, plane, width)
        else:
            if m == 2:
                gradients_2(rows, m * apart, apart, to, plane, width)
            else:
                gradients_4(rows, m * apart, apart, to, plane, width)
        line += 1
        if line == lines:
            line = 0
            segment += 1
            if segment == segments:
                segment = 0
                sample += 1


@inline
def _outputs(
    s: f32s, bias: f32s, out: f32s, scratch: f32s, m: i64, first: i64, count: i64, lines: i64,
    segments: i64, width: i64, apart: i64, outputs: i64, high: i64, wide: i64, pitch: i64,
    plane: i64,
) -> None:  # fmt: skip
    """The outputs of a block, from its sums."""
    for k in range(outputs):
        shift = -0.0
        if given(bias):
            shift = bias[k]
        line = first % lines
        segment = first // lines % segments
        sample = first // (lines * segments)
        for r in range(count):
            sums = at(s, k * pitch + r * width)
            if m == 2:
                outputs_2(sums, plane, scratch, m * apart, width)
            else:
                outputs_4(sums, plane, scratch, m * apart, width)
            column = segment * width * m
            for a in range(min(m, high - line * m)):
                begin = ((sample * outputs + k) * high + line * m + a) * wide + column
                for j in range(min(m * width, wide - column)):
                    out[begin + j] = scratch[a * m * apart + j] + shift
            line += 1
            if line == lines:
                line = 0
                segment += 1
                if segment == segments:
                    segment = 0
                    sample += 1


@inline
def _products(
    u: f32s, v: f32s, s: f32s, places: i64, channels: i64, outputs: i64, used: i64, pitch: i64,
    rows: i64, vectors: i64, size: i64,
) -> None:  # fmt: skip
    """The sums over channels, for each place."""
    padded = (outputs + rows - 1) // rows * rows
    step = vectors * size
    for place in range(places):
        weights = at(u, place * (padded * channels + 16))
        values = at(v, place * (channels * pitch + 16))
        sums = at(s, place * (padded * pitch + 16))
        for k0 in range(0, outputs, OUTPUTS):
            for c in range(0, channels, CHANNELS):
                depth = min(CHANNELS, channels - c)
                for t in range(0, used, step):
                    some = min(vectors, (used - t + size - 1) // size)
                    for k in range(k0, min(k0 + OUTPUTS, outputs), rows):
                        product(
                            rows, some, at(weights, k * channels + c * rows),
                            at(values, c * pitch + t), pitch, depth, at(sums, k * pitch + t),
                            pitch, 1 if c > 0 else 0,
                        )  # fmt: skip


@kernel
def _convolve(
    x: f32s, u: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64, m: i64,
    runs: i64, per: i64, lines: i64, segments: i64, width: i64, apart: i64, pitch: i64, room: i64,
    channels: i64, outputs: i64, high: i64, wide: i64, top: i64, left: i64, out_high: i64,
    out_wide: i64, rows: i64, vectors: i64, size: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """A convolution, in blocks of `per` runs."""
    slot = take(busy, slots)
    places = (m + 2) * (m + 2)
    padded = (outputs + rows - 1) // rows * rows
    v = at(scratch, slot * room)
    s = at(v, places * (channels * pitch + 16))
    rest = at(s, places * (padded * pitch + 16))
    for block in range(start, stop):
        first = block * per
        count = min(per, runs - first)
        for c in range(channels):
            _transformed(
                x, at(v, c * pitch), rest, m, m + 2, first, count, lines, segments, width, apart,
                channels, c, high, wide, top, left, channels * pitch + 16,
            )  # fmt: skip
        used = count * width
        _products(u, v, s, places, channels, outputs, used, pitch, rows, vectors, size)
        _outputs(
            s, bias, out, rest, m, first, count, lines, segments, width, apart, outputs, out_high,
            out_wide, pitch, padded * pitch + 16,
        )  # fmt: skip
    leave(busy, slot)


@kernel
def _tiles(
    x: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64, m: i64, reach: i64, first: i64,
    count: i64, lines: i64, segments: i64, width: i64, apart: i64, pitch: i64, channels: i64,
    high: i64, wide: i64, top: i64, left: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The transformed tiles of `count` runs, and zeros up to the pitch."""
    slot = take(busy, slots)
    own = at(scratch, slot * m * apart * (ROWS + 2))
    plane = channels * pitch + 16
    for c in range(start, stop):
        row = at(out, c * pitch)
        _transformed(
            x, row, own, m, reach, first, count, lines, segments, width, apart, channels, c, high,
            wide, top, left, plane,
        )  # fmt: skip
        for place in range((m + 2) * (m + 2)):
            for t in range(count * width, pitch):
                row[place * plane + t] = 0.0
    leave(busy, slot)


@kernel
def _inner_products(
    z: f32s, v: f32s, offsets: i64s, out: f32s, outputs: i64, channels: i64, pitch: i64,
    steps: i64, rows: i64, columns: i64, add: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """For each place, the sums over tiles of products of output and channel."""
    parts = (outputs + LEFT - 1) // LEFT
    for part in range(start, stop):
        place = part // parts
        k0 = part % parts * LEFT
        gradients = at(z, place * (outputs * pitch + 16))
        values = at(v, place * (channels * pitch + 16))
        sums = at(out, place * (outputs * channels + 16))
        for c0 in range(0, channels, RIGHT):
            for k in range(k0, min(k0 + LEFT, outputs), rows):
                for c in range(c0, min(c0 + RIGHT, channels), columns):
                    dots(
                        min(rows, outputs - k), min(columns, channels - c),
                        at(gradients, k * pitch), pitch, at(values, c * pitch), offsets, steps,
                        at(sums, k * channels + c), channels, add,
                    )  # fmt: skip


@kernel
def _weight_sums(
    sums: f32s, out: f32s, m: i64, outputs: i64, channels: i64, start: i64, stop: i64
) -> None:
    """The gradients of the weights of some outputs."""
    planes = local(f32, 9 * 64)
    plane = outputs * channels + 16
    for k in range(start, stop):
        for c in range(0, channels, 64):
            count = min(64, channels - c)
            if m == 2:
                sums_2(at(sums, k * channels + c), plane, planes, 64, count)
            else:
                sums_4(at(sums, k * channels + c), plane, planes, 64, count)
            for i in range(count):
                for q in range(9):
                    out[(k * channels + c + i) * 9 + q] = planes[q * 64 + i]


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _runs(samples: int, size: Sequence[int], m: int) -> tuple[int, int, int, int]:
    """How outputs of that size are divided: rows of tiles per sample, runs per row, tiles per run,
    runs in total."""
    lines, across = (-(-n // m) for n in size)
    segments = -(-across // _MOST)
    return lines, segments, -(-across // segments), samples * lines * segments


def _block(runs: int, width: int, threads: int) -> int:
    """The number of runs per block."""

    def cost(per: int) -> float:
        """The cost of the products in tiles, including the overhead of a block."""
        return -(-runs // (per * threads)) * (_up(per * width, 2 * lanes()) + _BESIDE)

    most = max(1, min(_MOST // width, -(-runs // threads)))
    return min(range(1, most + 1), key=cost)


# Measured nanoseconds: per multiplication of plain sums, and of sums over channels or tiles; per
# transform of a tile's values and outputs and of a weight, by tile size; the overhead of a
# sum over tiles, and of the calls for each part of it.
_PLAIN, _SUMMED_UP = 0.025, 0.025
_VALUES, _OUTPUTS, _TAPS = {2: 4.5, 4: 20.0}, {2: 5.0, 4: 17.0}, {2: 5.0, 4: 15.0}
_SUM, _CALLS = 1.5, 30e3
# The estimate for the gradient of the weights is less certain.
_SLOWER = 1.15


def tile_size(
    samples: int, channels: int, outputs: int, size: Shape, weights: bool, asked: str
) -> int:
    """The tile size for outputs of that size, or 0 where plain sums are no slower.

    With `weights` it is for the gradient of the weights.
    """
    # Plain sums can skip the padding in windows.
    met, pairs = samples * prod(3 * n - 2 for n in size), channels * outputs
    costs = {0: met * pairs * _PLAIN}
    sizes: dict[str, Shape] = {"off": (), "f2": (2,), "f4": (4,), "auto": (2, 4)[: 1 + weights]}
    for m in sizes[asked]:
        _, _, width, runs = _runs(samples, size, m)
        places, second = (m + 2) ** 2, (_VALUES if weights else _OUTPUTS)[m]
        costs[m] = runs * width * places * pairs * _SUMMED_UP + pairs * _TAPS[m]
        costs[m] += runs * _up(width, lanes()) * (channels * _VALUES[m] + outputs * second)
        if weights:
            parts = -(-runs * width // _SUMMED)
            costs[m] = _SLOWER * (costs[m] + parts * (places * pairs * _SUM + _CALLS))
    return min(costs, key=costs.__getitem__)


class OutputPlan(NamedTuple):
    """The plan for computing outputs in tiles."""

    transformed: int  # floats of the transformed weights
    weights: tuple[int, ...]  # arguments for transforming them, after the arrays
    slots: int
    scratch: int  # scratch floats per thread
    phases: int  # the number of these, at the end, to clear
    sizes: tuple[int, ...]  # kernel arguments after the arrays and the memory
    blocks: int


@kernel
def _clear(scratch: f32s, size: i64, phases: i64, start: i64, stop: i64) -> None:
    """The last floats of each slot."""
    for slot in range(start, stop):
        for j in range(size - phases, size):
            scratch[slot * size + j] = 0.0


def _cleared(caller: Caller, slots: int, size: int, phases: int) -> tuple[Any, np.ndarray, int]:
    """Scratch floats for each slot, the slots, and the number of slots.

    The end of each thread's memory, past the rows of an image, is cleared: transforms read it
    (and ignore the result), and subnormal numbers make them ten times slower on Intel
    processors.
    """
    scratch = caller.temporary([slots * size])
    caller.call(_clear.f32, scratch, size, phases, total=slots, chunk=slots)
    return scratch, np.zeros(slots, np.int64), slots


def output_plan(problem: Problem, m: int, mirrored: bool = False) -> OutputPlan:
    """The plan of a convolution of 3x3 in tiles of `m` by `m`.

    With `mirrored` its weights come as those of the convolution whose adjoint it is:
    (in channel, out channel, 3, 3).
    """
    samples, channels, high, wide = problem.x
    outputs, (top, _), (left, _) = problem.weight[0], *problem.geometry.padding
    rows, size = max(tiles()), lanes()
    places, padded = (m + 2) ** 2, _up(outputs, rows)
    order = (8, 9, 9 * outputs, -1) if mirrored else (0, 9 * channels, 9, 1)
    weights = (m, *order, outputs, channels, rows, padded // rows, max(1, 256 // channels))

    lines, segments, width, runs = _runs(samples, problem.out, m)
    slots = min(problem.threads, runs)
    per = _block(runs, width, slots)
    # An odd number of cache lines spreads rows of tiles over all cache sets.
    pitch, apart = _up(per * width, 32) + 16, _up(width + 1, size) + size
    phases = m * apart * (ROWS + 2)
    room = places * ((channels + padded) * pitch + 32) + phases
    sizes = (
        m, runs, per, lines, segments, width, apart, pitch, room, channels, outputs, high, wide,
        top, left, *problem.out, rows, 2, size,
    )  # fmt: skip
    transformed = places * (padded * channels + 16)
    blocks = -(-runs // per)
    return OutputPlan(transformed, weights, slots, room, phases, sizes, blocks)


def tile_outputs(
    caller: Caller, x: Any, weight: Any, bias: Any, out: Any, plan: OutputPlan
) -> None:
    """Compute the outputs of a convolution as a plan says."""

    def fill(u: Any) -> None:
        _call(caller, _weights, weight, u, *plan.weights)

    u = caller.derived(weight, (Winograd, plan.weights), plan.transformed, fill)
    memory = _cleared(caller, plan.slots, plan.scratch, plan.phases)
    _call(caller, _convolve, x, u, bias, out, *memory, *plan.sizes, plan.blocks, 1)


def _call(caller: Caller, kernel: Any, *arguments: Any) -> None:
    """Call a kernel; its count and chunk come last."""
    *others, total, chunk = arguments
    caller.call(kernel.f32, *others, total=total, chunk=chunk)


class _Pass(NamedTuple):
    """Some runs: arguments of kernels for the tiles of the input, those of the gradient, and the
    sums over both, behind the arrays and the memory."""

    values: tuple[int, ...]
    gradients: tuple[int, ...]
    sums: tuple[int, ...]


class WeightPlan(NamedTuple):
    """The plan for computing the gradient of weights in tiles."""

    values: int  # floats of the transformed input, and of the gradient of the output
    gradients: int
    sums: int
    slots: int
    phases: int  # scratch floats per thread
    offsets: np.ndarray
    passes: list[_Pass]
    sizes: tuple[int, ...]  # arguments for transforming the sums into weights, after the arrays


def weight_plan(problem: Problem, m: int) -> WeightPlan:
    """The plan of the gradient of 3x3 weights in tiles of `m` by `m`."""
    samples, channels, high, wide = problem.x
    outputs, (top, _), (left, _) = problem.weight[0], *problem.geometry.padding
    places, rows, size = (m + 2) ** 2, max(tiles()), lanes()
    columns = tiles()[rows]
    lines, segments, width, runs = _runs(samples, problem.out, m)
    per = max(1, min(runs, _SUMMED // width))
    # An odd number of cache lines, with room for a vector past the last tile.
    pitch, apart = _up(per * width + size - 16, 32) + 16, _up(width + 1, size) + size
    passes = []
    for first in range(0, runs, per):
        count = min(per, runs - first)
        cut, chunk = (first, count, lines, segments, width, apart, pitch), 4096 // (count * width)
        passes.append(
            _Pass(
                (m, m + 2, *cut, channels, high, wide, top, left, channels, max(1, chunk)),
                (m, m, *cut, outputs, *problem.out, 0, 0, outputs, max(1, chunk)),
                (outputs, channels, pitch, -(-count * width // size), rows, columns,
                 int(first > 0), places * -(-outputs // LEFT), 1),
            )
        )  # fmt: skip
    return WeightPlan(
        places * (channels * pitch + 16), places * (outputs * pitch + 16),
        places * (outputs * channels + 16) + size, problem.threads, m * apart * (ROWS + 2),
        np.arange(columns) * pitch, passes, (m, outputs, channels, outputs,
        max(1, 4096 // channels)),
    )  # fmt: skip


def tile_weights(caller: Caller, g: Any, x: Any, out: Any, plan: WeightPlan) -> None:
    """Compute the gradient of weights as a plan says, from that of the outputs."""
    memory = _cleared(caller, plan.slots, plan.phases, plan.phases)
    v, z = caller.temporary([plan.values]), caller.temporary([plan.gradients])
    sums = caller.temporary([plan.sums])
    for values, gradients, products in plan.passes:
        _call(caller, _tiles, x, v, *memory, *values)
        _call(caller, _tiles, g, z, *memory, *gradients)
        _call(caller, _inner_products, z, v, plan.offsets, sums, *products)
    _call(caller, _weight_sums, sums, out, *plan.sizes)


class Winograd(KernelRoute):
    """Winograd tiles, for 3x3 kernels and many channels."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether there are tiles for it, and they are faster than plain sums."""
        stride, _, dilation, groups = problem.geometry
        if problem.kernel != (3, 3) or groups != 1 or not stride == dilation == (1, 1):
            return False
        tiled = problem.adjoint if direction == "grad_input" else problem
        return tiled is not None and _tile_size(tiled, direction == "grad_weight") > 0

    @cached_property
    def _forward_plan(self) -> OutputPlan:
        return output_plan(self.problem, _tile_size(self.problem, False))

    @cached_property
    def _grad_input_plan(self) -> OutputPlan:
        adjoint = self.problem.adjoint
        assert adjoint is not None
        return output_plan(adjoint, _tile_size(adjoint, False), mirrored=True)

    @cached_property
    def _grad_weight_plan(self) -> WeightPlan:
        return weight_plan(self.problem, _tile_size(self.problem, True))

    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""
        tile_outputs(caller, x, weight, bias, out, self._forward_plan)

    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""
        tile_outputs(caller, g, weight, bias, out, self._grad_input_plan)

    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""
        tile_weights(caller, g, x, out, self._grad_weight_plan)


def _tile_size(problem: Problem, weights: bool) -> int:
    outputs, channels, *_ = problem.weight
    return tile_size(problem.x[0], channels, outputs, problem.out, weights, problem.winograd)
