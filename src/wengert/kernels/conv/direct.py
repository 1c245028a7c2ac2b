"""Convolution without a matrix of columns: products of weights and rows of positions.

For float32. A task copies the input that a block of outputs
needs into scratch memory, with zeros around it: then the output positions form one long run,
including junk between lines, and the inputs of one kernel tap are the same run at an offset.
So

    out[k, p] = sum of weight[k, j] * input[p + offset[j]] over channels and places j

is a matrix product whose right factor is just a list of offsets. Lines share their zeros: those
before a line are those after the previous line. A stride splits the input into phases: each is
a separate plane, in which neighbours are the inputs of neighbouring windows. The adjoint splits
the output instead; only some kernel taps contribute to each of its phases.

An infinity or NaN in the input can make `grad_weight` give NaN for weights that never met it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from wengert.core.forks import cached_property
from wengert.kernels.calling import Caller
from wengert.kernels.conv.plan import (
    DirectPlan,
    Packing,
    PhaseEntry,
    PlaneEntry,
    PlanSizes,
    direct_plan,
)
from wengert.kernels.conv.route import Direction, KernelRoute, Problem, add_parts
from wengert.kernels.conv.shifting import copied, halved, shifted
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32s, given, i64, i64s, inline, storeds
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import dots, gathered_product
from wengert.kernels.products.packing import column

# Channels whose weights are packed together: whatever the strides, the lines of a cache in which
# they lie do not displace one another, for its sets have about as many.
_NEAR = 8


@inline
def clear(space: storeds, start: i64, stop: i64) -> None:
    """Zeros, before a plane is copied."""
    for t in range(start, stop):
        space[t] = 0.0


@inline
def copy_line(
    x: storeds, space: storeds, line: i64, step: i64, start: i64, low: i64, high: i64, apart: i64
) -> None:
    """Copy the elements of a line that belong to a plane.

    `apart` is how far behind them those of a second channel are; of these there are none.
    """
    if step == 1:
        copied(at(space, line + low), at(x, start + low), high - low)
    elif step == 2:
        halved(at(space, line + low), at(x, start + 2 * low), high - low)
    else:
        for t in range(low, high):
            space[line + t] = x[start + step * t]


@inline
def _copy_input(
    x: storeds, space: storeds, plan: PlanSizes, planes: PlaneEntry, sample: i64, count: i64,
    group: i64, z0: i64, y0: i64, x0: i64,
) -> None:  # fmt: skip
    """Copy the input of a block of outputs, with zeros around it.

    Only `clear` and `copy_line` know the elements of `space`, and take its places as numbers.
    """
    # x is (sample, group, channel, z, y, x). Its copy is (channel, plane, sample, layer, line,
    # pitch): `planes` are the phases of the input's stride, z and y are input coordinates.
    size_z = plan.size_z
    size_y = plan.size_y
    size_x = plan.size_x
    channels = plan.channels
    layers = plan.layers
    lines = plan.lines
    pitch = plan.pitch
    for c in range(channels):
        second = min(plan.inputs - 1, c * plan.joined + plan.joined - 1)
        apart = (second - c * plan.joined) * size_z * size_y * size_x
        for q in range(plan.planes):
            plane = (c * plan.planes + q) * plan.plane_size
            entry = at(planes, q)
            clear(space, plane, plane + plan.plane_size)
            low = min(max(entry.low - x0, 0), pitch)
            high = min(max(entry.high - x0, low), pitch)
            for s in range(count):
                image = ((sample + s) * plan.groups + group) * plan.inputs + c * plan.joined
                for i in range(layers):
                    z = (z0 + i) * plan.step_z + entry.start_z
                    for j in range(lines):
                        y = (y0 + j) * plan.step_y + entry.start_y
                        if z >= 0 and z < size_z and y >= 0 and y < size_y:
                            line = ((image * size_z + z) * size_y + y) * size_x
                            start = line + x0 * plan.step_x + entry.start_x
                            to = plane + ((s * layers + i) * lines + j) * pitch
                            copy_line(x, space, to, plan.step_x, start, low, high, apart)


@inline
def _multiply(
    packed: f32s, space: f32s, offsets: i64s, run: f32s, plan: PlanSizes, phase: PhaseEntry,
    rows: i64, length: i64,
) -> None:  # fmt: skip
    """Compute `rows` output channels of the run of a phase."""
    width = plan.lanes
    widest = plan.widths[rows]
    p = 0
    while p < length:
        vectors = min(widest, (length - p + width - 1) // width)
        gathered_product(
            rows, vectors, packed, at(space, p), offsets, phase.inner, phase.inner_step,
            phase.depth, at(run, p), plan.run_size, 0,
        )  # fmt: skip
        p = p + vectors * width


@inline
def _store(
    run: f32s, bias: f32s, out: storeds, plan: PlanSizes, phase: PhaseEntry, rows: i64,
    channel: i64, sample: i64, count: i64, z0: i64, y0: i64, x0: i64, nz: i64, ny: i64, nx: i64,
) -> None:  # fmt: skip
    """Copy lines of the run to the output, dropping the junk between them."""
    # The run is (row, sample, layer, line, pitch), out (sample, channel, z, y, x): z and y below
    # number the layers and lines of all samples and channels.
    channels = plan.groups * plan.out_channels
    step = plan.out_step_x
    for m in range(rows):
        shift = -0.0
        if given(bias):
            shift = bias[channel + m]
        for s in range(count):
            image = (sample + s) * channels + channel + m
            for i in range(nz):
                z = image * plan.out_z + phase.first_z + (z0 + i) * plan.out_step_z
                for j in range(ny):
                    y = z * plan.out_y + phase.first_y + (y0 + j) * plan.out_step_y
                    line = at(out, y * plan.out_x + phase.first_x + x0 * step)
                    lines = (s * plan.layers + i) * plan.lines + j
                    sums = at(run, m * plan.run_size + lines * plan.pitch)
                    if step == 1:
                        shifted(line, sums, nx, shift)
                    else:
                        for t in range(nx):
                            line[t * step] = sums[t] + shift


@kernel
def sums(
    x: storeds, packed: f32s, bias: f32s, out: storeds, scratch: f32s, busy: i64s, slots: i64,
    plan: PlanSizes, planes: PlaneEntry, phases: PhaseEntry, offsets: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The outputs of each task: a block, a group, and a share of its channels."""
    # task = (block, group, share); block = (samples, z, y, x), x varying fastest.
    slot = take(busy, slots)
    space = at(scratch, slot * plan.scratch_size)
    run = at(space, plan.space_size)
    panels = (plan.out_channels + plan.panel - 1) // plan.panel
    for task in range(start, stop):
        share = task % plan.shares
        group = task // plan.shares % plan.groups
        block = task // plan.shares // plan.groups
        x0 = block % plan.blocks_x * plan.block_x
        y0 = block // plan.blocks_x % plan.blocks_y * plan.block_y
        z0 = block // plan.blocks_x // plan.blocks_y % plan.blocks_z * plan.block_z
        sample = block // plan.blocks_x // plan.blocks_y // plan.blocks_z * plan.samples
        count = min(plan.samples, plan.batch - sample)
        _copy_input(x, space, plan, planes, sample, count, group, z0, y0, x0)
        for panel in range(share * panels // plan.shares, (share + 1) * panels // plan.shares):
            first = panel * plan.panel
            rows = min(plan.panel, plan.out_channels - first)
            channel = group * plan.out_channels + first
            for f in range(plan.phases):
                phase = at(phases, f)
                nz = min(plan.block_z, phase.count_z - z0)
                ny = min(plan.block_y, phase.count_y - y0)
                nx = min(plan.block_x, phase.count_x - x0)
                if nz > 0 and ny > 0 and nx > 0:
                    lines = ((count - 1) * plan.layers + nz - 1) * plan.lines + ny - 1
                    weights = phase.weights + channel * phase.inner * phase.depth
                    _multiply(
                        at(packed, weights), space, at(offsets, phase.offsets), run, plan,
                        phase, rows, lines * plan.pitch + nx,
                    )  # fmt: skip
                    _store(
                        run, bias, out, plan, phase, rows, channel, sample, count,
                        z0, y0, x0, nz, ny, nx,
                    )  # fmt: skip
    leave(busy, slot)


@inline
def _copy_grad(
    g: storeds, line: storeds, plan: PlanSizes, image: i64, count: i64, z0: i64, y0: i64, x0: i64,
    nz: i64, ny: i64, nx: i64, length: i64,
) -> None:  # fmt: skip
    """Copy a channel of a block of outputs as a run, with zeros instead of junk between lines."""
    clear(line, 0, length)
    images = plan.groups * plan.out_channels
    for s in range(count):
        for i in range(nz):
            z = (image + s * images) * plan.out_z + z0 + i
            for j in range(ny):
                y = z * plan.out_y + y0 + j
                lines = (s * plan.layers + i) * plan.lines + j
                copied(at(line, lines * plan.pitch), at(g, y * plan.out_x + x0), nx)


@kernel
def inner_products(
    g: storeds, x: storeds, partial: f32s, scratch: storeds, busy: i64s, slots: i64,
    plan: PlanSizes, planes: PlaneEntry, offsets: i64s, columns: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Weight sums over part of the blocks, for a share of the output channels."""
    # task = (part, group, share); `partial` is (part, group, output channel, column), a column is
    # an input channel and a tap: the inner product of a gradient run and the input at an offset.
    panels = (plan.out_channels + plan.panel - 1) // plan.panel
    slot = take(busy, slots)
    space = at(scratch, slot * plan.scratch_size)
    grad = at(space, plan.space_size)
    for task in range(start, stop):
        share = task % plan.shares
        group = task // plan.shares % plan.groups
        part = task // plan.shares // plan.groups
        low = share * panels // plan.shares * plan.panel
        high = min((share + 1) * panels // plan.shares * plan.panel, plan.out_channels)
        blocks = part * plan.blocks // plan.parts
        for block in range(blocks, (part + 1) * plan.blocks // plan.parts):
            x0 = block % plan.blocks_x * plan.block_x
            y0 = block // plan.blocks_x % plan.blocks_y * plan.block_y
            z0 = block // plan.blocks_x // plan.blocks_y % plan.blocks_z * plan.block_z
            sample = block // plan.blocks_x // plan.blocks_y // plan.blocks_z * plan.samples
            count = min(plan.samples, plan.batch - sample)
            _copy_input(x, space, plan, planes, sample, count, group, z0, y0, x0)
            nz = min(plan.block_z, plan.out_z - z0)
            ny = min(plan.block_y, plan.out_y - y0)
            nx = min(plan.block_x, plan.out_x - x0)
            lines = ((count - 1) * plan.layers + nz - 1) * plan.lines + ny - 1
            steps = (lines * plan.pitch + nx + plan.lanes - 1) // plan.lanes
            for k in range(low, high):
                image = (sample * plan.groups + group) * plan.out_channels + k
                line = at(grad, (k - low) * plan.run_size)
                length = steps * plan.lanes
                _copy_grad(g, line, plan, image, count, z0, y0, x0, nz, ny, nx, length)
            for k in range(low, high, plan.panel):
                rows = min(plan.panel, high - k)
                widest = plan.widths[rows]
                to = ((part * plan.groups + group) * plan.out_channels + k) * columns
                column = 0
                while column < columns:
                    dots(
                        rows, min(widest, columns - column), at(grad, (k - low) * plan.run_size),
                        plan.run_size, space, at(offsets, column), steps, at(partial, to + column),
                        columns, i64(block > blocks),
                    )  # fmt: skip
                    column = column + widest
    leave(busy, slot)


@kernel
def _pack(
    weight: f32s, packed: f32s, places: i64s, first: i64, taps: i64, channels: i64, outs: i64,
    panel: i64, tap_place: i64, channel_place: i64, group_step: i64, out_step: i64,
    channel_step: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The weights of a phase, packed in the order tiles read them."""
    panels = (outs + panel - 1) // panel
    for task in range(start, stop):
        group = task // panels
        out = task % panels * panel
        rows = min(panel, outs - out)
        to = at(packed, first + (group * outs + out) * channels * taps)
        first_row = at(weight, group * group_step + out * out_step)
        for some in range(0, channels, _NEAR):
            for t in range(taps):
                for c in range(some, min(some + _NEAR, channels)):
                    source = at(first_row, c * channel_step + places[t])
                    packed_row = at(to, (c * channel_place + t * tap_place) * rows)
                    if rows == panel:
                        column(packed_row, source, out_step)
                    else:
                        for m in range(rows):
                            packed_row[m] = source[m * out_step]


def packed_weights(caller: Caller, weight: Any, packing: Packing) -> Any:
    """The weights of all phases, packed in the order tiles read them."""

    def fill(packed: Any) -> None:
        for *arguments, total, chunk in packing.phases:
            caller.call(_pack.f32, weight, packed, *arguments, total=total, chunk=chunk)

    return caller.derived(weight, packing.key, prod(weight.shape), fill)


def _sum(caller: Caller, x: Any, weight: Any, bias: Any, out: Any, plan: DirectPlan) -> None:
    """Compute the output as its plan says."""
    packed = packed_weights(caller, weight, plan.packing)
    caller.call(
        sums.f32, x, packed, bias, out, *plan.memory(caller), plan.sizes, plan.planes,
        plan.phases, plan.offsets, total=plan.tasks, chunk=plan.chunk,
    )  # fmt: skip


class Direct(KernelRoute):
    """Products of weights and rows of positions, for every problem."""

    @staticmethod
    def fits(problem: Problem, direction: Direction) -> bool:
        """Always."""
        return True

    @cached_property
    def _forward_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "forward")

    @cached_property
    def _grad_input_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "grad_input")

    @cached_property
    def _grad_weight_plan(self) -> DirectPlan:
        return direct_plan(self.problem, "grad_weight")

    def call_forward(self, caller: Caller, x: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `forward`."""
        _sum(caller, x, weight, bias, out, self._forward_plan)

    def call_grad_input(self, caller: Caller, g: Any, weight: Any, bias: Any, out: Any) -> None:
        """Make the calls of `grad_input`."""
        _sum(caller, g, weight, bias, out, self._grad_input_plan)

    def call_grad_weight(self, caller: Caller, g: Any, x: Any, out: Any) -> None:
        """Make the calls of `grad_weight`."""
        plan, shape = self._grad_weight_plan, self.problem.weight
        partial = out if plan.parts == 1 else caller.temporary((plan.parts, *shape))
        caller.call(
            inner_products.f32, g, x, partial, *plan.memory(caller), plan.sizes, plan.planes,
            plan.offsets, prod(shape[1:]), total=plan.tasks, chunk=plan.chunk,
        )  # fmt: skip
        if plan.parts > 1:
            add_parts(caller, partial, out, plan.parts)
