"""Convolution of many small images: vectors over samples, skipping padding.

For float32. Lines of small images are shorter than vectors, and a
large part of their windows is padding. So a task interleaves enough samples to fill
vectors: then an output is a sum over a list of (kernel tap, input position) pairs that
excludes the padding. Strides, dilations, padding and the adjoint differ only in their
lists.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.calling import Caller
from wengert.kernels.conv.direct import packed_weights
from wengert.kernels.conv.plan import Ints, Packing, pack, packing, weight_steps, window_axes
from wengert.kernels.conv.route import Direction, KernelRoute, Problem, add_parts
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32s, given, i64, i64s, inline
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import (
    lanes,
    listed_dots,
    listed_product,
    tiles,
    transposed,
)

# The largest images, and the output floats of a task.
_POSITIONS, _OUTPUTS = 256, 1 << 19
# Input floats copied at a time, to fit the L2 cache; those that weight sums go through, to fit
# the L1 cache.
_INPUT, _FACTORS = 48 << 10, 8 << 10
# The fraction of multiplications that lists must save.
_BETTER = 1.15
# The maximum sample vectors per block in weight sums.
_DEEP = 8
# Multiplications per chunk of tasks for one thread; the minimum number of tasks if there is
# enough work; rows of tiles that justify another copy of the input.
_CHUNK, _TASKS, _PANELS = 1 << 21, 8, 8
# Floats of the partial sums over a batch.
_PARTIAL = 1 << 20


class BatchedPlan(NamedTuple):
    """The kernel arguments for a problem."""

    sizes: Ints  # kernel arguments after the arrays and the memory
    packing: Packing
    parts: int
    tasks: int
    chunk: int
    slots: int
    scratch: int  # scratch floats per slot

    def memory(self, caller: Caller) -> tuple[Any, np.ndarray, int]:
        """Scratch memory for all slots, who has them, and their number."""
        return (
            caller.temporary([self.slots * self.scratch]),
            np.zeros(self.slots, np.int64),
            self.slots,
        )


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
    """Copy channels of samples into the order (position, channel, sample)."""
    for c in range(channels):
        _turn(at(to, c * n), channels * n, at(source, c * positions), pitch, count, positions)


@kernel
def _sums(
    x: f32s, packed: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64,
    batch: i64, groups: i64, channels: i64, inputs: i64, outs: i64, outputs: i64, taps: i64,
    samples: i64, block: i64, shares: i64, parts: i64, lane: i64, panel: i64, widest: i64,
    space: i64, starts: i64s, places: i64s, sources: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The outputs of each task: some samples, a group, and a share of its channels."""
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
    """Weight sums over part of the samples, for a share of the output channels."""
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


def _lists(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matching input positions, kernel taps and windows."""
    inputs = places = windows = np.zeros(1, np.int64)
    stride, padding, dilation, _ = problem.geometry
    for n, k, m, step, (low, _), gap in zip(
        problem.space, problem.kernel, problem.out, stride, padding, dilation, strict=True
    ):
        window, place = (a.ravel() for a in np.indices((m, k)))
        at = window * step + place * gap - low
        window, place, at = (a[(at >= 0) & (at < n)] for a in (window, place, at))
        inputs = np.add.outer(inputs * n, at).ravel()
        places = np.add.outer(places * k, place).ravel()
        windows = np.add.outer(windows * m, window).ravel()
    return inputs, places, windows


def batched_plan(problem: Problem, direction: Direction) -> BatchedPlan:
    """The plan of a map."""
    batch, groups = problem.x[0], problem.geometry.groups
    inputs, outputs, taps = prod(problem.space), prod(problem.out), prod(problem.kernel)
    channels, outs = problem.weight[1], problem.weight[0] // groups
    met, places, windows = _lists(problem)
    keys, count, first, second = windows, outputs, places, met
    if direction == "grad_input":
        keys, count, second = met, inputs, windows
        inputs, outputs, channels, outs = outputs, inputs, outs, channels
    elif direction == "grad_weight":
        keys, count, first = places, taps, windows
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(count + 1))

    panel, width = max(tiles()), lanes()
    widest = tiles()[panel]
    vectors = -(-batch // width)
    deep = min(widest, max(2, vectors // 4))
    if direction == "grad_weight":
        deep = max(2, min(_DEEP, _FACTORS // ((panel * outputs + widest * inputs) * width)))
    samples = min(vectors, deep) * width
    parts = blocks = -(-batch // samples)
    work = batch * groups * channels * outs * len(keys)
    wanted, panels = min(_TASKS, work // _CHUNK), -(-outs // panel)
    if direction == "grad_weight":
        parts = max(1, min(blocks, wanted, _PARTIAL // (groups * outs * channels * taps)))
    shares = min(-(-wanted // (parts * groups)), panels // _PANELS)
    # However often the input is copied, no thread is without work.
    busy = -(-min(wanted, problem.threads) // (parts * groups))
    shares = min(panels, max(1, shares, busy, -(-outs * outputs * samples // _OUTPUTS)))
    block = max(1, min(channels, _INPUT // (inputs * samples)))
    block = -(-channels // -(-channels // block))
    scratch = (block * inputs + -(-panels // shares) * panel * outputs) * samples
    scratch = -(-scratch // 16) * 16
    tasks = parts * groups * shares
    chunk = min(tasks, -(-_CHUNK * tasks // max(1, work)))
    sizes = (
        batch, groups, channels, inputs, outs, outputs, taps, samples, block, shares, parts,
        width, panel, widest, scratch, starts, first[order], second[order],
    )  # fmt: skip
    steps = weight_steps(channels, outs, taps, direction)
    phase = pack(np.arange(taps), 0, channels, outs, groups, (channels, 1), steps)
    slots = min(problem.threads, tasks)
    return BatchedPlan(sizes, packing([phase]), parts, tasks, chunk, slots, scratch)


def _sum(caller: Caller, x: Any, weight: Any, bias: Any, out: Any, plan: BatchedPlan) -> None:
    """Compute the output as its plan says."""
    packed = packed_weights(caller, weight, plan.packing)
    caller.call(
        _sums.f32, x, packed, bias, out, *plan.memory(caller), *plan.sizes, total=plan.tasks,
        chunk=plan.chunk,
    )  # fmt: skip


@lru_cache(maxsize=256)  # The answer is the same for all three maps.
def _leaves_out_enough(problem: Problem, faster: float) -> bool:
    """Whether enough of what windows cover is padding, or the end of a line.

    Plain sums over all of it are so many times as fast as those that leave it out.
    """
    batch = problem.x[0]
    met = len(_lists(problem)[0]) * -(-batch // lanes()) * lanes()
    runs = prod(a.pitch for a in window_axes(problem))
    return met * _BETTER * faster < runs * prod(problem.kernel) * batch


def saves(problem: Problem, faster: float = 1) -> bool:
    """Whether samples fill vectors, and enough can be skipped beside sums that are so fast."""
    outputs, batch = prod(problem.out), problem.x[0]
    if max(outputs, prod(problem.space)) > _POSITIONS or batch < lanes():
        return False
    if problem.weight[0] // problem.geometry.groups * outputs * lanes() > _OUTPUTS:
        return False
    return _leaves_out_enough(problem, faster)


class Batched(KernelRoute):
    """Vectors of samples, for batches of small images with much padding."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether it `saves` enough."""
        return saves(problem)

    @cached_property
    def _forward_plan(self) -> BatchedPlan:
        return batched_plan(self.problem, "forward")

    @cached_property
    def _grad_input_plan(self) -> BatchedPlan:
        return batched_plan(self.problem, "grad_input")

    @cached_property
    def _grad_weight_plan(self) -> BatchedPlan:
        return batched_plan(self.problem, "grad_weight")

    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""
        _sum(caller, x, weight, bias, out, self._forward_plan)

    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""
        _sum(caller, g, weight, bias, out, self._grad_input_plan)

    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""
        plan = self._grad_weight_plan
        partial = out
        if plan.parts > 1:
            partial = caller.temporary((plan.parts, *self.problem.weight))
        caller.call(
            _inner_products.f32, g, x, partial, *plan.memory(caller), *plan.sizes,
            total=plan.tasks, chunk=plan.chunk,
        )  # fmt: skip
        if plan.parts > 1:
            add_parts(caller, partial, out, plan.parts)
