"""Which rows of packed sequences belong together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from wengert.kernels.recurrent.steps import Steps

SIZES = [[1], [3], [2, 2, 2], [3, 2, 2, 1], [4, 1, 1], [3, 3, 1]]


def rows(chosen: Any, count: int) -> list[int]:
    """A slice or indices, as indices."""
    return np.arange(count)[chosen].tolist()


def sequences(sizes: list[int]) -> list[list[int]]:
    """The rows of each sequence, as a packed sequence has them."""
    starts = [0, *itertools.accumulate(sizes)]
    return [[starts[t] + k for t, n in enumerate(sizes) if k < n] for k in range(sizes[0])]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
class TestSteps:
    def test_every_row_is_in_one_step(self, sizes: list[int], reverse: bool) -> None:
        steps = Steps(sizes, reverse)
        assert steps.rows == sum(sizes)
        assert steps.batch == sizes[0]
        visited = [r for chosen, _ in steps.order for r in rows(chosen, steps.rows)]
        assert sorted(visited) == [*range(sum(sizes))]
        assert [n for _, n in steps.order] == (sizes[::-1] if reverse else sizes)

    def test_the_table_says_the_same(self, sizes: list[int], reverse: bool) -> None:
        steps = Steps(sizes, reverse)
        firsts, counts = steps.table
        assert firsts.dtype == counts.dtype == np.int64
        assert firsts.tolist() == [chosen.start for chosen, _ in steps.order]
        assert counts.tolist() == [n for _, n in steps.order]

    def test_the_ends(self, sizes: list[int], reverse: bool) -> None:
        steps = Steps(sizes, reverse)
        paths = [path[::-1] if reverse else path for path in sequences(sizes)]
        assert rows(steps.begin, steps.rows) == [path[0] for path in paths]
        assert rows(steps.end, steps.rows) == [path[-1] for path in paths]

    def test_each_row_is_linked_to_the_one_before(self, sizes: list[int], reverse: bool) -> None:
        steps = Steps(sizes, reverse)
        paths = [path[::-1] if reverse else path for path in sequences(sizes)]
        expected = {pair for path in paths for pair in itertools.pairwise(path)}
        to, from_ = (rows(chosen, steps.rows) for chosen in steps.links)
        assert {*zip(from_, to, strict=True)} == expected
        assert len(to) == len(expected)

    def test_a_row_comes_after_what_it_starts_from(self, sizes: list[int], reverse: bool) -> None:
        steps = Steps(sizes, reverse)
        step_of = {
            r: t for t, (chosen, _) in enumerate(steps.order) for r in rows(chosen, steps.rows)
        }
        to, from_ = (rows(chosen, steps.rows) for chosen in steps.links)
        assert all(step_of[a] < step_of[b] for a, b in zip(from_, to, strict=True))


def test_even_sequences_are_slices() -> None:
    """Which NumPy reads without a copy."""
    for reverse in (False, True):
        steps = Steps([3, 3, 3], reverse)
        assert all(type(chosen) is slice for chosen in (steps.begin, steps.end, *steps.links))
    assert type(Steps([3, 2], False).end) is np.ndarray
