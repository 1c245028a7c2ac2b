"""Convolution of bfloat16 by the direct route, added in float32 and rounded once.

A word of the copied input has two channels of a position, and one of the packed weights has the
two numbers they meet. Sums over positions take two neighbours at a time, which lie side by side as
they are. Where the processor multiplies pairs by one instruction, that doubles what it does at a
time.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from wengert.core.forks import cached_property
from wengert.kernels.calling import at_once
from wengert.kernels.conv.batched import saves
from wengert.kernels.conv.depthwise import Depthwise
from wengert.kernels.conv.direct import clear, copy_line, inner_products, sums
from wengert.kernels.conv.plan import DirectPlan, Packing, direct_plan
from wengert.kernels.conv.route import Direction, Problem, Route, add_parts, dense, dense_bias
from wengert.kernels.conv.shifting import (
    copied,
    copied_brains,
    halved,
    halved_brains,
    rounded_sums,
    shifted,
    woven,
    woven_halved,
)
from wengert.kernels.conv.winograd import Winograd
from wengert.kernels.derived import derived
from wengert.kernels.jit import Kernel, kernel
from wengert.kernels.jit.builtins import at, f32s, from_bits, i32, i64, i64s, inline, storeds, u16s
from wengert.kernels.precision import converted
from wengert.kernels.products.microkernel import dots, gathered_product
from wengert.kernels.products.pairs import (
    dots_of_brains,
    dotted_dots_of_brains,
    dotted_gathered_pairs,
    gathered_pairs,
    has_pair_dots,
)

_BRAIN = np.dtype(ml_dtypes.bfloat16)
# How many times as fast sums are by the instruction for pairs: their terms go twice as fast, what
# begins and ends them does not.
_DOTTED = 1.6


@inline
def _clear_words(space: f32s, start: i64, stop: i64) -> None:
    """`direct.clear` for words."""
    for t in range(start, stop):
        space[t] = 0.0


@inline
def _weave_line(
    x: storeds, space: f32s, line: i64, step: i64, start: i64, low: i64, high: i64, apart: i64
) -> None:
    """`direct.copy_line` for a pair of channels, or the last one alone."""
    both = 0 if apart == 0 else -1
    to = at(space, line)
    if step == 1:
        first = start + low
        woven(at(to, low), at(x, first), at(x, first + apart), high - low, both)
    elif step == 2:
        first = start + 2 * low
        woven_halved(at(to, low), at(x, first), at(x, first + apart), high - low, both)
    else:
        for t in range(low, high):
            first = start + step * t
            woven(at(to, t), at(x, first), at(x, first + apart), 1, both)


@kernel
def _pack(
    weight: u16s, packed: f32s, places: i64s, first: i64, taps: i64, channels: i64, outs: i64,
    panel: i64, tap_place: i64, channel_place: i64, group_step: i64, out_step: i64,
    channel_step: i64, inputs: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The weights of a phase, packed in the order tiles read them: two channels in a word."""
    panels = (outs + panel - 1) // panel
    for task in range(start, stop):
        group = task // panels
        out = task % panels * panel
        rows = min(panel, outs - out)
        to = at(packed, first + (group * outs + out) * channels * taps)
        for m in range(rows):
            for c in range(channels):
                row = group * group_step + (out + m) * out_step + 2 * c * channel_step
                behind = channel_step if 2 * c + 1 < inputs else 0
                mask = 0 if behind == 0 else -1
                for t in range(taps):
                    low = i32(weight[row + places[t]])
                    high = (i32(weight[row + behind + places[t]]) << 16) & i32(mask)
                    to[(c * channel_place + t * tap_place) * rows + m] = from_bits(low | high)


def _packed(weight: np.ndarray, packing: Packing, inputs: int) -> np.ndarray:
    """The weights of all phases in words."""

    def make() -> np.ndarray:
        # Of an odd number of channels the last words are half full.
        packed = np.empty(prod(weight.shape) // inputs * -(-inputs // 2), np.float32)
        for *arguments, total, chunk in packing.phases:
            _pack.f32(weight, packed, *arguments, inputs, total, chunk)
        return packed

    return derived(weight, ("pairs", packing.key), make)


class _Kernels(NamedTuple):
    """The kernels of `direct` for bfloat16."""

    sums: Kernel
    inner_products: Kernel


@cache
def _kernels(dotted: bool) -> _Kernels:
    """Those by the processor's instruction for pairs, or without."""
    each: dict[Any, Any] = {
        clear: _clear_words, copy_line: _weave_line, shifted: rounded_sums,
        gathered_product: dotted_gathered_pairs if dotted else gathered_pairs,
    }  # fmt: skip
    summed: dict[Any, Any] = {
        copied: copied_brains, halved: halved_brains,
        dots: dotted_dots_of_brains if dotted else dots_of_brains,
    }  # fmt: skip
    return _Kernels(
        Kernel(sums.python, instead=each, stored="brain"),
        Kernel(inner_products.python, instead=summed, stored="brain"),
    )


class Pairs(Route):
    """The direct route for bfloat16."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Whether channels have others to be paired with, and routes for float32 save less."""
        dotted = has_pair_dots()
        if Depthwise.fits(problem, direction) or saves(problem, _DOTTED if dotted else 1):
            return False
        return dotted or not Winograd.fits(problem, direction)

    @cached_property
    def _forward_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "forward", 2)

    @cached_property
    def _grad_input_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "grad_input", 2)

    @cached_property
    def _grad_weight_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "grad_weight", 2)

    def _sum(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, out: np.ndarray,
        plan: DirectPlan,
    ) -> np.ndarray:  # fmt: skip
        packed = _packed(dense(weight), plan.packing, int(plan.sizes.inputs))
        _kernels(has_pair_dots()).sums.f32(
            dense(x), packed, dense_bias(bias), out, *plan.memory(at_once), plan.sizes,
            plan.planes, plan.phases, plan.offsets, plan.tasks, plan.chunk,
        )  # fmt: skip
        return out

    def forward(
        self, x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.forward`."""
        out = np.empty((len(x), len(weight), *self.problem.out), _BRAIN)
        return self._sum(x, weight, bias, out, self._forward_plan)

    def grad_input(
        self, g: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
    ) -> np.ndarray:
        """`Route.grad_input`."""
        out = np.empty(self.problem.x, _BRAIN)
        return self._sum(g, weight, bias, out, self._grad_input_plan)

    def grad_weight(self, g: np.ndarray, x: np.ndarray) -> np.ndarray:
        """`Route.grad_weight`."""
        plan, shape = self._grad_weight_plan, self.problem.weight
        out = np.empty(shape, np.float32)
        partial = out if plan.parts == 1 else np.empty((plan.parts, *shape), np.float32)
        scratch = np.empty(plan.slots * plan.scratch, _BRAIN)
        busy = np.zeros(plan.slots, np.int64)
        _kernels(has_pair_dots()).inner_products.f32(
            dense(g), dense(x), partial, scratch, busy, plan.slots, plan.sizes, plan.planes,
            plan.offsets, prod(shape[1:]), plan.tasks, plan.chunk,
        )  # fmt: skip
        if plan.parts > 1:
            add_parts(at_once, partial, out, plan.parts)
        return converted(out, _BRAIN)
