"""Plans for the kernels of the direct route.

`direct` describes the method. Everything that depends only on sizes is computed here, once per
problem, and passed to the kernels as lists of integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product as pairs
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wengert.kernels.calling import Caller
from wengert.kernels.jit.builtins import i64, i64s
from wengert.kernels.jit.records import Record, by_axis
from wengert.kernels.products.microkernel import lanes, tiles
from wengert.kernels.products.packed import caches

if TYPE_CHECKING:
    from wengert.kernels.conv.route import Direction, Problem
    from wengert.kernels.geometry import Geometry

Shape = tuple[int, ...]
Ints = tuple[Any, ...]  # integers, and arrays of them

# Positions of a run, so that the sums of some rows fit the L1 cache, and for weight sums the
# factors of some rows; the fewest that leave little of the last tile unused, and that leave the
# ends of weight sums a small part.
_RUN, _DOTS_RUN, _SHORTEST, _DOTS_SHORTEST = 1536, 1024, 128, 512
# Input floats copied per task for weight sums. They may exceed the L2 cache: long runs matter more.
_DOTS_INPUT = 1 << 20
# Vectors of positions in the time in which a run begins and ends, and the sums of a vector that
# are weight sums; multiplications in the time of copying an element; cuts that are compared.
_ENDS, _DOTS_ENDS, _COPYING, _CUTS = 1, 5, 16, 16
# Multiplications per chunk of tasks for one thread, and the minimum number of tasks if there
# is enough work: of parts of sums, and for each thread.
_CHUNK, _TASKS, _PER_THREAD = 1 << 21, 8, 2
# Floats of the partial sums over a batch.
_PARTIAL = 1 << 20
# The minimum number of offsets in the innermost loop.
_INNER = 16
# Weights packed per thread at a time.
_PACKED = 1 << 15


class _Tap(NamedTuple):
    """A kernel tap along an axis, and the inputs it reads."""

    place: int
    plane: int
    shift: int


class _Phase(NamedTuple):
    """The outputs of one phase along an axis, and the taps they sum over."""

    first: int
    length: int
    taps: tuple[_Tap, ...]


class _Axis(NamedTuple):
    """A dimension: output i of a phase is a sum over taps of the input at
    `(i + shift) * step + plane - lead`, where there is one."""

    size: int
    kernel: int
    step: int
    lead: int
    out: int
    out_step: int
    phases: tuple[_Phase, ...]

    @property
    def run(self) -> int:
        """The most outputs of a phase."""
        return max(p.length for p in self.phases)

    @property
    def reach(self) -> int:
        """The largest shift."""
        return max((t.shift for p in self.phases for t in p.taps), default=0)

    @property
    def planes(self) -> list[int]:
        """The planes that have taps."""
        return sorted({t.plane for p in self.phases for t in p.taps})

    def filled(self, plane: int) -> tuple[int, int]:
        """The range of a whole line of that plane that is inside the input."""
        low = max(0, -((plane - self.lead) // self.step))
        high = max(0, -((plane - self.lead - self.size) // self.step))
        length = self.run + self.reach
        return min(low, length), max(min(low, length), min(high, length))

    @property
    def pitch(self) -> int:
        """The distance between lines, which share zeros."""
        length, shared = self.run + self.reach, []
        for plane in self.planes:
            low, high = self.filled(plane)
            shared.append(length - min(low, length - high))
        return max([self.run, *shared])


def _window_axis(size: int, kernel: int, out: int, stride: int, lead: int, gap: int) -> _Axis:
    """The axis of windows over an input."""
    taps = tuple(_Tap(r, r * gap % stride, r * gap // stride) for r in range(kernel))
    return _Axis(size, kernel, stride, lead, out, 1, (_Phase(0, out, taps),))


def _adjoint_axis(size: int, kernel: int, out: int, stride: int, lead: int, gap: int) -> _Axis:
    """The axis of the adjoint: each of `out` elements sums over the `size` windows."""
    met = [
        [(r, (a + lead - r * gap) // stride) for r in range(kernel)
         if (a + lead - r * gap) % stride == 0]
        for a in range(min(stride, out))
    ]  # fmt: skip
    before = -min((shift for taps in met for _, shift in taps), default=0)
    phases = tuple(
        _Phase(a, -((a - out) // stride), tuple(_Tap(r, 0, s + before) for r, s in taps))
        for a, taps in enumerate(met)
    )
    return _Axis(size, kernel, 1, before, out, stride, phases)


class PlanSizes(Record):
    """The numbers of a plan."""

    # The input: samples, groups, their channels (words of so many `joined` of the `inputs`), sizes,
    # and strides.
    batch: i64
    groups: i64
    channels: i64
    inputs: i64
    joined: i64
    size_z: i64
    size_y: i64
    size_x: i64
    step_z: i64
    step_y: i64
    step_x: i64
    # The work of a task: samples and outputs of a phase, and the number of such blocks.
    samples: i64
    block_z: i64
    block_y: i64
    block_x: i64
    blocks_z: i64
    blocks_y: i64
    blocks_x: i64
    blocks: i64
    # Its copy: planes per channel, layers per sample, lines per layer, and floats per line, plane,
    # all planes, run, and in total per thread.
    planes: i64
    layers: i64
    lines: i64
    pitch: i64
    plane_size: i64
    space_size: i64
    run_size: i64
    scratch_size: i64
    # The output: channels per group, sizes, and steps between elements of a phase.
    out_channels: i64
    out_z: i64
    out_y: i64
    out_x: i64
    out_step_z: i64
    out_step_y: i64
    out_step_x: i64
    phases: i64
    # Tasks for shares of its channels, and of the blocks; floats per vector, rows per tile, and
    # vectors per tile by its rows.
    shares: i64
    parts: i64
    lanes: i64
    panel: i64
    widths: i64s


class PlaneEntry(Record):
    """The input coordinates of a plane's start, and the range of a line inside the input."""

    start_z: i64
    start_y: i64
    start_x: i64
    low: i64
    high: i64


class PhaseEntry(Record):
    """The first output of a phase, and how many there are; where its lists of offsets and of
    weights begin; and the loops of the product: offsets, times, and floats between those."""

    first_z: i64
    first_y: i64
    first_x: i64
    count_z: i64
    count_y: i64
    count_x: i64
    offsets: i64
    weights: i64
    inner: i64
    depth: i64
    inner_step: i64


class Packing(NamedTuple):
    """How weights are packed: for each phase the arguments, and what is equal for equal ones."""

    phases: list[Ints]
    key: Ints


def packing(phases: list[Ints]) -> Packing:
    """How the weights of phases are packed by such arguments, each with its list of places."""
    return Packing(phases, tuple((places.tobytes(), *numbers) for places, *numbers in phases))


class DirectPlan(NamedTuple):
    """The plan of a convolution for arrays of given sizes."""

    sizes: PlanSizes
    planes: PlaneEntry
    phases: PhaseEntry
    offsets: np.ndarray
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


def _array(numbers: Sequence[int]) -> np.ndarray:
    return np.array(numbers, np.int64).ravel()


Axes = tuple[_Axis, _Axis, _Axis]


def _up(n: int, to: int) -> int:
    return -(-n // to) * to


class _Limits(NamedTuple):
    """The most positions of a block and the fewest if there are as many, how many blocks are
    wanted, and in positions the cost of a run and of copying an element of the input; and the
    elements of a vector."""

    most: int
    fewest: int
    wanted: int
    ends: int
    copying: float
    width: int


def _cut(axes: Axes, batch: int, limits: _Limits) -> tuple[int, Shape, Shape]:
    """Blocks of positions: samples, outputs along each axis, and what is copied of the input for
    them. Several small images are one block, if enough blocks are left."""
    whole, runs = tuple(a.pitch for a in axes), tuple(a.run for a in axes)
    size, most = prod(whole), limits.most
    if size <= most:
        fair = max(batch // max(1, limits.wanted), -(-limits.fewest // size))
        samples = max(1, min(batch, most // size, fair))
        return -(-batch // -(-batch // samples)), runs, whole
    axis = 0
    while axis < 2 and size // whole[axis] > most:
        size //= whole[axis]
        axis += 1
    fewest = -(-runs[axis] // max(1, most // (size // whole[axis])))

    def cost(blocks: int) -> float:
        block, copied = cuts[blocks]
        run = _up(_run(block, copied), limits.width) + limits.ends
        return -(-runs[axis] // block[axis]) * (run + limits.copying * prod(copied))

    cuts = {}
    for blocks in range(fewest, min(fewest + _CUTS, runs[axis] + 1)):
        block = (*(1,) * axis, -(-runs[axis] // blocks), *runs[axis + 1 :])
        both = zip(axes, block, strict=True)
        cuts[blocks] = block, tuple(a.pitch if n == a.run else n + a.reach for a, n in both)
    return 1, *cuts[min(cuts, key=cost)]


def _run(block: Shape, copied: Shape, samples: int = 1) -> int:
    """The positions from the first output of a block to its last one."""
    (bz, by, bx), (layers, lines, pitch) = block, copied
    return (((samples - 1) * layers + bz - 1) * lines + by - 1) * pitch + bx


def _limits(summed: bool, inputs: int, wanted: int, copies: float, width: int) -> _Limits:
    """The limits of blocks: `inputs` floats are copied for a position, and `copies` is how many
    are for each multiplication."""
    if summed:
        most = max(_SHORTEST, min(_DOTS_RUN, _DOTS_INPUT // max(1, inputs)))
        return _Limits(most, _DOTS_SHORTEST, wanted, _DOTS_ENDS * width, _COPYING * copies, width)
    room = caches()[1] // 8  # half of the L2 cache: weights pass through the other half
    most = max(_SHORTEST, min(_RUN, room // max(1, inputs)))
    return _Limits(most, _SHORTEST, wanted, _ENDS * width, _COPYING * copies, width)


def _busy(wanted: int, threads: int) -> int:
    """Tasks that keep threads busy. Each share of outputs copies the input again, and no sum
    depends on how many there are."""
    return 1 if threads == 1 else min(wanted, _PER_THREAD * threads)


def direct_plan(problem: Problem, direction: Direction, pairs_of: int = 1) -> DirectPlan:
    """The plan of a map; of `pairs_of` 2 for bfloat16, in words of two.

    Words have two channels of a position, or for weight sums two positions of a channel.
    """
    batch, groups, summed = problem.x[0], problem.geometry.groups, direction == "grad_weight"
    channels, outs = problem.weight[1], problem.weight[0] // groups
    if direction == "grad_input":
        channels, outs = outs, channels
    inputs, joined = channels, 1 if summed else pairs_of
    channels = -(-channels // joined)
    axes = _map_axes(problem, direction)
    panel, width = max(tiles()), lanes() * (pairs_of if summed else 1)
    planes = list(pairs(*(a.planes for a in axes)))
    phases = list(pairs(*(a.phases for a in axes)))
    terms = sum(prod(len(p.taps) * p.length for p in phase) for phase in phases)
    work = batch * groups * channels * outs * terms
    wanted = min(_TASKS, work // _CHUNK)

    taps = sum(prod(len(p.taps) for p in phase) for phase in phases)
    copies = len(planes) / max(1, taps * outs)
    limits = _limits(summed, channels * len(planes), wanted, copies, width)
    samples, block, copied = _cut(axes, batch, limits)
    layers, lines, pitch = copied
    over = [n + a.reach - m for a, n, m in zip(axes, block, copied, strict=True)]
    plane = samples * prod(copied) + (over[0] * lines + over[1]) * pitch + over[2] + width
    run = _up(_run(block, copied, samples), width)
    space = _up(channels * len(planes) * plane, 16)

    cuts = [-(-a.run // n) for a, n in zip(axes, block, strict=True)]
    blocks = -(-batch // samples) * prod(cuts)
    panels, parts = -(-outs // panel), blocks
    if summed:
        weights = groups * outs * channels * prod(a.kernel for a in axes)
        parts = max(1, min(blocks, wanted, _PARTIAL // weights))
    shares = max(1, min(panels, -(-_busy(wanted, problem.threads) // (parts * groups))))
    tasks = parts * groups * shares
    rows = -(-panels // shares) * panel if summed else panel
    scratch = space + _up(rows * run, 16)

    entries, offsets, packs = _phases(
        axes, planes, plane, copied, direction, (groups, outs, channels, inputs)
    )
    sizes = PlanSizes(
        batch=batch, groups=groups, channels=channels, inputs=inputs, joined=joined,
        samples=samples, blocks=blocks,
        planes=len(planes), layers=layers, lines=lines, pitch=pitch, plane_size=plane,
        space_size=space, run_size=run, scratch_size=scratch, out_channels=outs,
        phases=len(phases), shares=shares, parts=parts, lanes=width, panel=panel,
        widths=(0, *tiles().values()),
        **by_axis(
            size=[a.size for a in axes], step=[a.step for a in axes], block=block, blocks=cuts,
            out=[a.out for a in axes], out_step=[a.out_step for a in axes],
        ),
    )  # fmt: skip
    chunk = min(tasks, -(-_CHUNK * tasks // max(1, work)))
    return DirectPlan(
        sizes, _plane_entries(axes, planes), entries, offsets, packing(packs), parts, tasks, chunk,
        min(problem.threads, tasks), scratch,
    )  # fmt: skip


def _plane_entries(axes: Axes, planes: list[Shape]) -> PlaneEntry:
    entries = []
    for plane in planes:
        low, high = axes[2].filled(plane[2])
        start = [first - a.lead for a, first in zip(axes, plane, strict=True)]
        entries.append(PlaneEntry(**by_axis(start=start), low=low, high=high))
    return PlaneEntry.array(entries)


def _phases(
    axes: Axes, planes: list[Shape], plane: int, copied: Shape, direction: Direction, sizes: Shape
) -> tuple[PhaseEntry, np.ndarray, list[Ints]]:
    """The entries of phases, their lists of offsets, and what puts their weights in order.

    `sizes` are the numbers of groups, and of outputs, channels and `inputs` of each.
    """
    groups, outs, channels, inputs = sizes
    kz, ky, kx = (a.kernel for a in axes)
    _, lines, pitch = copied
    offsets: list[int] = []
    entries: list[PhaseEntry] = []
    packs: list[Ints] = []
    weights, step = 0, len(planes) * plane
    for phase in pairs(*(a.phases for a in axes)):
        taps = list(pairs(*(p.taps for p in phase)))
        inner = channels if direction == "grad_weight" else _inner(channels, len(taps))
        entries.append(
            PhaseEntry(
                **by_axis(first=[p.first for p in phase], count=[p.length for p in phase]),
                offsets=len(offsets),
                weights=weights,
                inner=inner * len(taps),
                depth=channels // inner if taps else 0,
                inner_step=inner * step,
            )
        )
        tap_offsets = [
            planes.index((a.plane, b.plane, c.plane)) * plane
            + (a.shift * lines + b.shift) * pitch + c.shift
            for a, b, c in taps
        ]  # fmt: skip
        offsets += [c * step + offset for c in range(inner) for offset in tap_offsets]
        places = _array([(a.place * ky + b.place) * kx + c.place for a, b, c in taps])
        steps = weight_steps(inputs, outs, kz * ky * kx, direction)
        packs.append(pack(places, weights, channels, outs, groups, (1, len(taps)), steps))
        weights += groups * outs * channels * len(taps)
    return PhaseEntry.array(entries), _array(offsets), packs


def weight_steps(channels: int, outs: int, taps: int, direction: Direction) -> Shape:
    """The strides of weights by group, output and input channel, as a map sees these."""
    across = (taps, outs * taps) if direction == "grad_input" else (channels * taps, taps)
    return (outs * channels * taps, *across)


def pack(
    places: np.ndarray, first: int, channels: int, outs: int, groups: int, packed_steps: Shape,
    steps: Shape,
) -> Ints:  # fmt: skip
    """The arguments for packing weights, after the arrays.

    `packed_steps` are the strides of tap and channel in the packed weights, `steps` are
    `weight_steps`.
    """
    panel = max(tiles())
    chunk = 1 + _PACKED // (1 + len(places) * channels * panel)
    sizes = (places, first, len(places), channels, outs, panel)
    return (*sizes, *packed_steps, *steps, groups * -(-outs // panel), chunk)


def _inner(channels: int, taps: int) -> int:
    """The number of channels the list of offsets covers: a divisor of all."""
    enough = (n for n in range(1, channels) if channels % n == 0 and n * taps >= _INNER)
    return next(enough, channels)


def _axes(
    make: Callable[..., _Axis], size: Shape, kernel: Shape, out: Shape, geometry: Geometry
) -> Axes:
    """Three axes, whatever the rank."""
    axes = [
        make(n, k, m, stride, low, gap)
        for n, k, m, stride, (low, _), gap in zip(
            size, kernel, out, geometry.stride, geometry.padding, geometry.dilation, strict=True
        )
    ]
    x, y, z = (axes[::-1] + [make(1, 1, 1, 1, 0, 1)] * 2)[:3]
    return z, y, x


def window_axes(problem: Problem) -> Axes:
    """The axes of windows over the input."""
    return _axes(_window_axis, problem.space, problem.kernel, problem.out, problem.geometry)


def _map_axes(problem: Problem, direction: Direction) -> Axes:
    """The axes of a map: from the input to outputs, or back."""
    if direction != "grad_input":
        return window_axes(problem)
    return _axes(_adjoint_axis, problem.out, problem.kernel, problem.space, problem.geometry)
