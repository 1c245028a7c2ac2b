"""Plans of the direct route: axes, blocks, tasks, and the order of weights."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.kernels.conv.cases import CASES, Case, case_of
from wengert.kernels.conv import plan
from wengert.kernels.conv.plan import direct_plan, weight_steps
from wengert.kernels.conv.route import Direction
from wengert.kernels.jit import available

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

DIRECTIONS: tuple[Direction, ...] = ("forward", "grad_input", "grad_weight")


def met(size: int, kernel: int, out: int, stride: int, low: int, gap: int) -> set[tuple[int, ...]]:
    """Which input (position), place and output go together, by the definition."""
    return {
        (o * stride + k * gap - low, k, o)
        for o, k in product(range(out), range(kernel))
        if 0 <= o * stride + k * gap - low < size
    }


def listed(axis: plan._Axis) -> set[tuple[int, ...]]:
    """The same as an axis says it."""
    return {
        (at, tap.place, phase.first + i * axis.out_step)
        for phase in axis.phases
        for i, tap in product(range(phase.length), phase.taps)
        if 0 <= (at := (i + tap.shift) * axis.step + tap.plane - axis.lead) < axis.size
    }


GEOMETRIES = [
    sizes
    for sizes in product((1, 5, 9), (1, 2, 3), (1, 2, 3), (0, 1, 4), (1, 2, 3))
    if sizes[0] + 2 * sizes[3] > sizes[4] * (sizes[1] - 1)
]


@pytest.mark.parametrize("sizes", GEOMETRIES, ids=str)
def test_axes_list_what_windows_meet(sizes: tuple[int, ...]) -> None:
    size, kernel, stride, low, gap = sizes
    out = (size + 2 * low - gap * (kernel - 1) - 1) // stride + 1
    expected = met(size, kernel, out, stride, low, gap)
    assert listed(plan._window_axis(size, kernel, out, stride, low, gap)) == expected
    adjoint = plan._adjoint_axis(out, kernel, size, stride, low, gap)
    assert {(at, place, o) for o, place, at in listed(adjoint)} == expected


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(tuple(case)[:5]))
def test_blocks_cover_all_outputs(case: Case, direction: Direction) -> None:
    sizes = direct_plan(case.problem, direction).sizes
    axes = plan._map_axes(case.problem, direction)
    assert sizes.samples * -(-case.batch // sizes.samples) >= case.batch
    blocks = (sizes.blocks_z, sizes.blocks_y, sizes.blocks_x)
    block = (sizes.block_z, sizes.block_y, sizes.block_x)
    for axis, count, length in zip(axes, blocks, block, strict=True):
        assert (count - 1) * length < axis.run <= count * length
    assert sizes.blocks == -(-case.batch // sizes.samples) * np.prod(blocks)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(tuple(case)[:5]))
def test_a_run_fits_into_the_memory_of_a_thread(case: Case, direction: Direction) -> None:
    made = direct_plan(case.problem, direction)
    rows = made.scratch - made.sizes.space_size
    assert rows >= min(made.sizes.panel, made.sizes.out_channels) * made.sizes.run_size
    assert made.sizes.run_size % made.sizes.lanes == 0
    assert made.sizes.scratch_size == made.scratch
    assert 1 <= made.chunk <= made.tasks


def test_cuts_leave_little_of_vectors_and_copies_unused() -> None:
    """Of equal cuts the one whose runs are the shortest in all, with their ends and copies."""
    axes = plan._map_axes(case_of(1, 1, (33, 33), 1, (3, 3), padding=(12, 12), dilation=12).problem,
                          "forward")  # fmt: skip
    limits = plan._Limits(512, 128, wanted=0, ends=0, copying=0.0, width=16)

    def vectors(lines: int) -> int:
        """Those of all blocks; zeros are behind all lines of a block but the last."""
        return -(-33 // lines) * -(-((lines - 1) * 45 + 33) // 16)

    _, (_, lines, _), _ = plan._cut(axes, 1, limits)
    assert vectors(lines) == min(map(vectors, range(1, 12)))  # more do not fit
    assert plan._cut(axes, 1, limits._replace(ends=10_000))[1] == (1, 11, 33)
    assert plan._cut(axes, 1, limits._replace(copying=100.0))[1] == (1, 11, 33)


def test_runs_of_weight_sums_are_long() -> None:
    """Sums at the end of a run take as long as some vectors, however many channels there are."""
    for channels in (1, 64, 512):
        sizes = direct_plan(case_of(4, channels, (28, 28), 64, (3, 3)).problem, "grad_weight").sizes
        assert sizes.run_size >= plan._DOTS_SHORTEST
    small = direct_plan(case_of(64, 64, (9, 9), 64, (3, 3)).problem, "grad_weight").sizes
    assert small.run_size >= plan._DOTS_SHORTEST


def test_little_work_is_one_task_and_much_work_is_several() -> None:
    assert direct_plan(case_of(1, 3, (8, 8), 8, (3, 3)).problem, "forward").tasks == 1
    large = case_of(1, 64, (64, 64), 64, (3, 3), padding=(1, 1)).problem
    for direction in DIRECTIONS:
        assert direct_plan(large, direction).tasks >= 4


def test_only_sums_of_weights_are_cut_into_parts() -> None:
    problem = case_of(64, 32, (30, 30), 32, (3, 3)).problem
    assert direct_plan(problem, "grad_weight").parts > 1
    made = direct_plan(problem, "forward")
    assert made.parts == made.sizes.blocks


def test_a_stride_takes_input_or_output_apart() -> None:
    problem = case_of(1, 2, (9, 9), 3, (3, 3), stride=2).problem
    forward, adjoint = direct_plan(problem, "forward"), direct_plan(problem, "grad_input")
    assert (forward.sizes.planes, forward.sizes.phases) == (4, 1)
    assert (adjoint.sizes.planes, adjoint.sizes.phases) == (1, 4)


@pytest.mark.parametrize("groups", [1, 2])
def test_steps_through_weights(groups: int) -> None:
    """From a group, an output and a channel to the next, in elements of the array."""
    outs, channels = 3 * groups, 5
    weight = np.empty((outs, channels, 2, 4), np.float32)
    out, channel = (s // weight.itemsize for s in weight.strides[:2])
    group = outs // groups * out
    assert weight_steps(channels, outs // groups, 8, "forward") == (group, out, channel)
    assert weight_steps(outs // groups, channels, 8, "grad_input") == (group, channel, out)


def test_threads_share_the_outputs_of_a_block_and_one_alone_copies_it_once() -> None:
    problem = case_of(1, 64, (16, 16), 256, (3, 3), padding=(1, 1)).problem
    for direction in DIRECTIONS:
        sizes = [direct_plan(problem._replace(threads=n), direction).sizes for n in (1, 2, 3)]
        assert sizes[0].shares == 1
        assert len({made.parts for made in sizes}) == 1  # which digits depend on
        for made, threads in zip(sizes[1:], (2, 3), strict=True):
            assert made.parts * made.shares >= threads
