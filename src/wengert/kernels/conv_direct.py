"""Convolution without a matrix of columns: products of weights and rows of positions.

The same three maps as in `conv`, for float32. A task copies what a block of outputs needs of
the input into memory of its own, with zeros around it: then the positions of the outputs are
one long run, junk between lines included, and what one place of the kernel meets is the same
run at an offset. So

    out[k, p] = sum of weight[k, j] * input[p + offset[j]] over channels and places j

is a product of matrices whose right one is only a list of offsets. Lines share their zeros: the
ones before a line are those behind the line before. A stride takes the input apart: each of
its phases is a plane of its own, in which neighbours are what neighbouring windows meet. The
adjoint takes the output apart instead; each phase of it is met by some places of the kernel.

An infinity or NaN in the input can make `correlate` give NaN for weights that never met it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from wengert.kernels.conv_plan import (
    BATCH,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    BLOCKS,
    BLOCKS_X,
    BLOCKS_Y,
    BLOCKS_Z,
    CHANNELS,
    COUNT_X,
    COUNT_Y,
    COUNT_Z,
    DEPTH,
    FIRST_X,
    FIRST_Y,
    FIRST_Z,
    GROUPS,
    HIGH,
    INNER,
    INNER_STEP,
    LANES,
    LAYERS,
    LINES,
    LOW,
    OF_PHASE,
    OF_PLANE,
    OFFSETS,
    OUT_STEP_X,
    OUT_STEP_Y,
    OUT_STEP_Z,
    OUT_X,
    OUT_Y,
    OUT_Z,
    OUTS,
    PANEL,
    PARTS,
    PHASES,
    PITCH,
    PLANE,
    PLANES,
    RUN,
    SAMPLES,
    SCRATCH,
    SHARES,
    SIZE_X,
    SIZE_Y,
    SIZE_Z,
    SPACE,
    START_X,
    START_Y,
    START_Z,
    STEP_X,
    STEP_Y,
    STEP_Z,
    WEIGHTS,
    WIDTHS,
    Ints,
    Plan,
    Shape,
    adjoint_plan,
    window_plan,
)  # fmt: skip
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32s, given, i64, i64s, inline
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.microkernel import dots, gathered_product, shifted

if TYPE_CHECKING:
    from wengert.kernels.geometry import Geometry


@inline
def _copy_line(x: f32s, to: f32s, step: i64, start: i64, low: i64, high: i64) -> None:
    """Copy the elements that a plane has of a line."""
    if step == 1:
        shifted(at(to, low), at(x, start + low), high - low, -0.0)
    elif step == 2:
        for t in range(low, high):
            to[t] = x[start + 2 * t]
    else:
        for t in range(low, high):
            to[t] = x[start + step * t]


@inline
def _copy_input(
    x: f32s, space: f32s, plan: i64s, planes: i64s, sample: i64, count: i64, group: i64,
    z0: i64, y0: i64, x0: i64,
) -> None:  # fmt: skip
    """Copy what a block of outputs meets, with zeros around it."""
    size_z = plan[SIZE_Z]
    size_y = plan[SIZE_Y]
    size_x = plan[SIZE_X]
    channels = plan[CHANNELS]
    layers = plan[LAYERS]
    lines = plan[LINES]
    pitch = plan[PITCH]
    for c in range(channels):
        for q in range(plan[PLANES]):
            plane = at(space, (c * plan[PLANES] + q) * plan[PLANE])
            entry = at(planes, q * OF_PLANE)
            for t in range(plan[PLANE]):
                plane[t] = 0.0
            low = min(max(entry[LOW] - x0, 0), pitch)
            high = min(max(entry[HIGH] - x0, low), pitch)
            for s in range(count):
                image = ((sample + s) * plan[GROUPS] + group) * channels + c
                for i in range(layers):
                    z = (z0 + i) * plan[STEP_Z] + entry[START_Z]
                    for j in range(lines):
                        y = (y0 + j) * plan[STEP_Y] + entry[START_Y]
                        if z >= 0 and z < size_z and y >= 0 and y < size_y:
                            line = ((image * size_z + z) * size_y + y) * size_x
                            start = line + x0 * plan[STEP_X] + entry[START_X]
                            to = at(plane, ((s * layers + i) * lines + j) * pitch)
                            _copy_line(x, to, plan[STEP_X], start, low, high)


@inline
def _multiply(
    packed: f32s, space: f32s, offsets: i64s, run: f32s, plan: i64s, phase: i64s, rows: i64,
    length: i64,
) -> None:  # fmt: skip
    """Some channels of the run of a phase."""
    width = plan[LANES]
    widest = plan[WIDTHS + rows]
    p = 0
    while p < length:
        vectors = min(widest, (length - p + width - 1) // width)
        gathered_product(
            rows, vectors, packed, at(space, p), offsets, phase[INNER], phase[INNER_STEP],
            phase[DEPTH], at(run, p), plan[RUN], 0,
        )  # fmt: skip
        p = p + vectors * width


@inline
def _store(
    run: f32s, bias: f32s, out: f32s, plan: i64s, phase: i64s, rows: i64, channel: i64,
    sample: i64, count: i64, z0: i64, y0: i64, x0: i64, nz: i64, ny: i64, nx: i64,
) -> None:  # fmt: skip
    """Copy lines of the run to where they are in the output, without the junk between them."""
    channels = plan[GROUPS] * plan[OUTS]
    step = plan[OUT_STEP_X]
    for m in range(rows):
        shift = -0.0
        if given(bias):
            shift = bias[channel + m]
        for s in range(count):
            image = (sample + s) * channels + channel + m
            for i in range(nz):
                z = image * plan[OUT_Z] + phase[FIRST_Z] + (z0 + i) * plan[OUT_STEP_Z]
                for j in range(ny):
                    y = z * plan[OUT_Y] + phase[FIRST_Y] + (y0 + j) * plan[OUT_STEP_Y]
                    line = at(out, y * plan[OUT_X] + phase[FIRST_X] + x0 * step)
                    lines = (s * plan[LAYERS] + i) * plan[LINES] + j
                    sums = at(run, m * plan[RUN] + lines * plan[PITCH])
                    if step == 1:
                        shifted(line, sums, nx, shift)
                    else:
                        for t in range(nx):
                            line[t * step] = sums[t] + shift


@kernel
def _sums(
    x: f32s, packed: f32s, bias: f32s, out: f32s, scratch: f32s, busy: i64s, slots: i64,
    plan: i64s, planes: i64s, phases: i64s, offsets: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Outputs of the blocks, groups and shares of the channels that a task stands for."""
    slot = take(busy, slots)
    space = at(scratch, slot * plan[SCRATCH])
    run = at(space, plan[SPACE])
    panels = (plan[OUTS] + plan[PANEL] - 1) // plan[PANEL]
    for task in range(start, stop):
        share = task % plan[SHARES]
        group = task // plan[SHARES] % plan[GROUPS]
        block = task // plan[SHARES] // plan[GROUPS]
        x0 = block % plan[BLOCKS_X] * plan[BLOCK_X]
        y0 = block // plan[BLOCKS_X] % plan[BLOCKS_Y] * plan[BLOCK_Y]
        z0 = block // plan[BLOCKS_X] // plan[BLOCKS_Y] % plan[BLOCKS_Z] * plan[BLOCK_Z]
        sample = block // plan[BLOCKS_X] // plan[BLOCKS_Y] // plan[BLOCKS_Z] * plan[SAMPLES]
        count = min(plan[SAMPLES], plan[BATCH] - sample)
        _copy_input(x, space, plan, planes, sample, count, group, z0, y0, x0)
        for panel in range(share * panels // plan[SHARES], (share + 1) * panels // plan[SHARES]):
            first = panel * plan[PANEL]
            rows = min(plan[PANEL], plan[OUTS] - first)
            channel = group * plan[OUTS] + first
            for f in range(plan[PHASES]):
                phase = at(phases, f * OF_PHASE)
                nz = min(plan[BLOCK_Z], phase[COUNT_Z] - z0)
                ny = min(plan[BLOCK_Y], phase[COUNT_Y] - y0)
                nx = min(plan[BLOCK_X], phase[COUNT_X] - x0)
                if nz > 0 and ny > 0 and nx > 0:
                    lines = ((count - 1) * plan[LAYERS] + nz - 1) * plan[LINES] + ny - 1
                    weights = phase[WEIGHTS] + channel * phase[INNER] * phase[DEPTH]
                    _multiply(
                        at(packed, weights), space, at(offsets, phase[OFFSETS]), run, plan,
                        phase, rows, lines * plan[PITCH] + nx,
                    )  # fmt: skip
                    _store(
                        run, bias, out, plan, phase, rows, channel, sample, count,
                        z0, y0, x0, nz, ny, nx,
                    )  # fmt: skip
    leave(busy, slot)


@inline
def _copy_grad(
    g: f32s, line: f32s, plan: i64s, image: i64, count: i64, z0: i64, y0: i64, x0: i64,
    nz: i64, ny: i64, nx: i64, length: i64,
) -> None:  # fmt: skip
    """Copy a channel of a block of outputs as a run, with zeros for the junk between lines."""
    for t in range(length):
        line[t] = 0.0
    images = plan[GROUPS] * plan[OUTS]
    for s in range(count):
        for i in range(nz):
            z = (image + s * images) * plan[OUT_Z] + z0 + i
            for j in range(ny):
                y = z * plan[OUT_Y] + y0 + j
                lines = (s * plan[LAYERS] + i) * plan[LINES] + j
                source = at(g, y * plan[OUT_X] + x0)
                shifted(at(line, lines * plan[PITCH]), source, nx, -0.0)


@kernel
def _inner_products(
    g: f32s, x: f32s, partial: f32s, scratch: f32s, busy: i64s, slots: i64, plan: i64s,
    planes: i64s, offsets: i64s, columns: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Sums over a part of the blocks, for a share of the channels of the output."""
    panels = (plan[OUTS] + plan[PANEL] - 1) // plan[PANEL]
    slot = take(busy, slots)
    space = at(scratch, slot * plan[SCRATCH])
    grad = at(space, plan[SPACE])
    for task in range(start, stop):
        share = task % plan[SHARES]
        group = task // plan[SHARES] % plan[GROUPS]
        part = task // plan[SHARES] // plan[GROUPS]
        low = share * panels // plan[SHARES] * plan[PANEL]
        high = min((share + 1) * panels // plan[SHARES] * plan[PANEL], plan[OUTS])
        blocks = part * plan[BLOCKS] // plan[PARTS]
        for block in range(blocks, (part + 1) * plan[BLOCKS] // plan[PARTS]):
            x0 = block % plan[BLOCKS_X] * plan[BLOCK_X]
            y0 = block // plan[BLOCKS_X] % plan[BLOCKS_Y] * plan[BLOCK_Y]
            z0 = block // plan[BLOCKS_X] // plan[BLOCKS_Y] % plan[BLOCKS_Z] * plan[BLOCK_Z]
            sample = block // plan[BLOCKS_X] // plan[BLOCKS_Y] // plan[BLOCKS_Z] * plan[SAMPLES]
            count = min(plan[SAMPLES], plan[BATCH] - sample)
            _copy_input(x, space, plan, planes, sample, count, group, z0, y0, x0)
            nz = min(plan[BLOCK_Z], plan[OUT_Z] - z0)
            ny = min(plan[BLOCK_Y], plan[OUT_Y] - y0)
            nx = min(plan[BLOCK_X], plan[OUT_X] - x0)
            lines = ((count - 1) * plan[LAYERS] + nz - 1) * plan[LINES] + ny - 1
            steps = (lines * plan[PITCH] + nx + plan[LANES] - 1) // plan[LANES]
            for k in range(low, high):
                image = (sample * plan[GROUPS] + group) * plan[OUTS] + k
                line = at(grad, (k - low) * plan[RUN])
                length = steps * plan[LANES]
                _copy_grad(g, line, plan, image, count, z0, y0, x0, nz, ny, nx, length)
            for k in range(low, high, plan[PANEL]):
                rows = min(plan[PANEL], high - k)
                widest = plan[WIDTHS + rows]
                to = ((part * plan[GROUPS] + group) * plan[OUTS] + k) * columns
                column = 0
                while column < columns:
                    dots(
                        rows, min(widest, columns - column), at(grad, (k - low) * plan[RUN]),
                        plan[RUN], space, at(offsets, column), steps, at(partial, to + column),
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
    """The weights of a phase in the order in which tiles go through them."""
    panels = (outs + panel - 1) // panel
    for task in range(start, stop):
        group = task // panels
        out = task % panels * panel
        rows = min(panel, outs - out)
        to = at(packed, first + (group * outs + out) * channels * taps)
        for m in range(rows):
            for c in range(channels):
                row = group * group_step + (out + m) * out_step + c * channel_step
                for t in range(taps):
                    to[(c * channel_place + t * tap_place) * rows + m] = weight[row + places[t]]


def packed_weights(
    weight: np.ndarray, packs: list[tuple[Ints, Ints]], groups: int, adjoint: bool
) -> np.ndarray:
    """Weights in the order in which tiles go through them, for each of some phases."""
    packed = np.empty(weight.size, np.float32)
    row, place = prod(weight.shape[1:]), prod(weight.shape[2:])
    steps = (len(weight) // groups * row, *((place, row) if adjoint else (row, place)))
    for sizes, work in packs:
        _pack.f32(weight, packed, *sizes, *steps, *work)
    return packed


def _run(
    x: np.ndarray, packed: np.ndarray, bias: np.ndarray | None, out: np.ndarray, plan: Plan
) -> np.ndarray:
    if bias is not None:
        bias = np.ascontiguousarray(bias, np.float32)
    scratch, busy, slots = plan.memory()
    lists = (plan.plan, plan.planes, plan.phases, plan.offsets)
    _sums.f32(x, packed, bias, out, scratch, busy, slots, *lists, plan.tasks, plan.chunk)
    return out


def convolve(
    x: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each output is a window's product with the weights; there are `size` windows."""
    x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
    plan = window_plan(x.shape, weight.shape, size, geometry, False)
    packed = packed_weights(weight, plan.packs, geometry.groups, False)
    return _run(x, packed, bias, np.empty((len(x), len(weight), *size), np.float32), plan)


def spread(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Each value is added, times the weights, to its window in an array of that size."""
    g, weight = np.ascontiguousarray(g), np.ascontiguousarray(weight)
    plan = adjoint_plan(g.shape, weight.shape, size, geometry)
    packed = packed_weights(weight, plan.packs, geometry.groups, True)
    channels = geometry.groups * weight.shape[1]
    return _run(g, packed, bias, np.empty((len(g), channels, *size), np.float32), plan)


def correlate(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray:
    """Each weight is the product of the outputs with what its place in the kernel met."""
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    shape = (g.shape[1], x.shape[1] // geometry.groups, *kernel)
    plan = window_plan(x.shape, shape, g.shape[2:], geometry, True)
    parts, columns = plan.parts, prod(shape[1:])
    partial = np.empty((parts, *shape), np.float32)
    scratch, busy, slots = plan.memory()
    lists = (plan.plan, plan.planes, plan.offsets)
    _inner_products.f32(
        g, x, partial, scratch, busy, slots, *lists, columns, plan.tasks, plan.chunk
    )
    return partial[0] if parts == 1 else partial.sum(0)
