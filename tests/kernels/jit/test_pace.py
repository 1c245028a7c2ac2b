"""Who makes room for others, and when."""

from __future__ import annotations

from typing import Any

import pytest

from wengert.core.forks import compile_lock
from wengert.kernels.jit import pace as module
from wengert.kernels.jit.pace import EndedError, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which rests move on; they are noted behind it."""
    times = [0.0]

    def sleep(seconds: float) -> None:
        times[0] += seconds
        times.append(seconds)

    monkeypatch.setattr(module, "perf_counter", lambda: times[0])
    monkeypatch.setattr(module, "sleep", sleep)
    return times


def test_one_thread_rests_in_proportion_to_its_work(clock: list[float]) -> None:
    pace = Pace()
    clock[0] += 1
    pace.breathe()  # it is not the thread
    pace.begin()
    for work in (1e-4, 1e-4, 4e-4, 1.0):
        clock[0] += work
        pace.breathe()
    assert clock[1:] == pytest.approx([24e-4, 5e-3])  # the rest after LLVM is no longer than that
    pace.end()
    clock[0] += 1
    pace.breathe()
    assert len(clock) == 3


def test_nobody_waits_for_a_lock_meanwhile(clock: list[float]) -> None:
    pace = Pace()
    pace.begin()
    clock[0] += 1
    with compile_lock:
        pace.breathe()
    assert len(clock) == 1
    pace.breathe()
    assert len(clock) == 2


def test_items_come_in_order_and_end_with_the_process(clock: list[float]) -> None:
    pace, seen = Pace(), list[int]()
    pace.begin()

    def items() -> Any:
        for k in range(100):
            clock[0] += 1e-4
            yield k

    assert [*pace.over(items())] == [*range(100)]
    assert 1 < len(clock) < 10

    def end() -> None:
        for k in pace.over(range(100)):
            seen.append(k)
            pace.ended = True

    with pytest.raises(EndedError):
        end()
    assert seen == [*range(16)]
