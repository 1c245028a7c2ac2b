"""Which calls are recorded of functions that take a way of their own at most calls."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert import compiler
from wengert.replay.record import Record
from wengert.replay.sparing import Sparing


def runs(sparing: Sparing, record: Record, calls: int, size: int, deferred: int) -> int:
    """How many of some calls are runs, each of which adds to the record."""
    found = 0
    for _ in range(calls):
        if not sparing.spares(record):
            found += 1
            record.size += size
            record.deferred += deferred
    return found


def test_fewer_and_fewer_calls_are_recorded_whose_ways_do_not_repeat() -> None:
    sparing, record = Sparing(), Record()
    counts = [runs(sparing, record, 64, 10, 2) for _ in range(16)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 16
    assert counts[-1] == 1
    # Ways repeat from now on.
    assert [runs(sparing, record, 256, 0, 10) for _ in range(2)][-1] > 200
    assert runs(sparing, record, 64, 0, 10) == 64


def test_all_calls_are_runs_whose_ways_repeat_sooner_or_later() -> None:
    sparing, record = Sparing(), Record()
    assert runs(sparing, record, 1, 100, 0) == 1  # the first begins the record
    assert runs(sparing, record, 3, 10, 0) == 3
    assert runs(sparing, record, 100, 0, 10) == 100
    record = Record()
    assert runs(Sparing(), record, 100, 0, 0) == 100  # nobody reads its results


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_function_of_growing_length_is_recorded_at_few_calls(fullgraph: bool) -> None:
    def longer(x: Any) -> Any:
        return wengert.cat([x, (x * 2).tanh()[-1:] + 1])

    step = compiler.compile(longer, fullgraph=fullgraph)
    x, expected = wengert.ones(1), wengert.ones(1)
    for _ in range(80):
        x, expected = step(x), longer(expected)
        wengert.testing.assert_close(x, expected)
    assert step.compiled.continues
    # Reading outside of the function is no error, and recording no choice.
    assert (step.compiled.record.size > 300) is fullgraph
