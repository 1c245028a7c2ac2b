"""Which convolutions go side by side, and how they are cut."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.conv.cases import case_of, floats
from wengert.kernels.conv.batched import _INPUT, _OUTPUTS, Batched, batched_plan
from wengert.kernels.conv.route import Direction
from wengert.kernels.jit import available
from wengert.kernels.products.microkernel import lanes, tiles

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")

SMALL_IMAGES = case_of(64, 32, (4, 4), 64, (3, 3), padding=(1, 1))


def test_many_small_images_go_side_by_side() -> None:
    assert Batched.fits(SMALL_IMAGES.problem, "forward")


def test_few_or_large_images_do_not() -> None:
    for case in (
        SMALL_IMAGES._replace(batch=lanes() - 1),
        SMALL_IMAGES._replace(size=(28, 28)),
        SMALL_IMAGES._replace(outs=_OUTPUTS),
    ):
        assert not Batched.fits(case.problem, "forward")


def test_images_that_leave_nothing_out_do_not() -> None:
    """Windows of one element meet no padding, and lines have no ends that they cannot meet."""
    assert not Batched.fits(case_of(64, 8, (4, 4), 8, (1, 1)).problem, "forward")


@pytest.mark.parametrize("direction", ["forward", "grad_input", "grad_weight"])
def test_blocks_stay_in_the_caches(direction: Direction) -> None:
    case = case_of(300, 100, (9, 9), 200, (3, 3), padding=(1, 1))
    plan = batched_plan(case.problem, direction)
    batch, _, channels, inputs, outs, _, _, samples, block, shares, *_ = plan.sizes
    assert (batch, samples % lanes()) == (300, 0)
    assert block <= channels
    assert block * inputs * samples <= _INPUT + inputs * samples
    assert 1 <= shares <= outs


def test_the_adjoint_exchanges_input_and_output() -> None:
    case = case_of(32, 3, (5, 6), 7, (3, 2), padding=(1, 0))
    there = batched_plan(case.problem, "forward").sizes
    back = batched_plan(case.problem, "grad_input").sizes
    # batch, groups, channels, positions of the input, channels and positions of the output
    assert there[:6] == (32, 1, 3, 30, 7, 24)
    assert back[:6] == (32, 1, 7, 24, 3, 30)


def test_lists_have_what_meets_and_no_padding() -> None:
    """A window in the corner meets four of nine places, one at an edge six."""
    plan = batched_plan(case_of(16, 1, (4, 4), 1, (3, 3), padding=(1, 1)).problem, "forward")
    starts = plan.sizes[15]
    counts = np.diff(starts).reshape(4, 4)
    np.testing.assert_array_equal(counts, np.outer([2, 3, 3, 2], [2, 3, 3, 2]))


@pytest.mark.parametrize("direction", ["forward", "grad_input", "grad_weight"])
def test_each_thread_has_a_task_whatever_the_batch(direction: Direction) -> None:
    case = case_of(16, 64, (8, 8), 64, (3, 3), padding=(1, 1))
    for threads in (1, 2, 3, 8):
        plan = batched_plan(case.problem._replace(threads=threads), direction)
        assert plan.tasks >= min(threads, -(-64 // max(tiles())))


def test_results_do_not_depend_on_the_number_of_tasks() -> None:
    case = case_of(lanes() + 3, 24, (7, 8), 40, (3, 3), padding=(1, 1))
    x, weight, g, bias = case.arrays(floats)
    results = []
    for threads in (1, 2, 5):
        route = Batched(case.problem._replace(threads=threads))
        results.append(
            (route.forward(x, weight, bias), route.grad_input(g, weight), route.grad_weight(g, x))
        )
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
