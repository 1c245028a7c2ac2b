"""Who makes room for others, and when."""

from __future__ import annotations

import threading
from time import sleep
from typing import Any

import pytest

from wengert.core.forks import compile_lock
from wengert.kernels.jit import pace as module
from wengert.kernels.jit.pace import EndedError, Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which rests move on; they are noted behind it."""
    times = [0.0]

    def rest(_: Pace, seconds: float) -> None:
        times[0] += seconds
        times.append(seconds)

    monkeypatch.setattr(module, "perf_counter", lambda: times[0])
    monkeypatch.setattr(Pace, "_rest", rest)
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
    assert 1 < len(clock) < 25

    def end() -> None:
        for k in pace.over(range(100)):
            seen.append(k)
            pace.ended = True

    with pytest.raises(EndedError):
        end()
    assert seen == [*range(4)]


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pace, its clock, what its thread has to do, an item a turn, and what it has done."""
    pace, now, work, done = Pace(), [100.0], [*range(1000)], list[int]()
    monkeypatch.setattr(module, "perf_counter", lambda: now[0])
    monkeypatch.setattr(module, "_WAIT", 60.0)
    monkeypatch.setattr(module, "_PART", 0.15)
    monkeypatch.setattr(module, "_MOST", 60.0)
    monkeypatch.setattr(module, "_PATIENCE", 1e5)
    pace._step = 60.0

    def take() -> None:
        pace.begin()
        while work:
            done.append(work.pop())
            now[0] += 16
            pace.breathe()
        pace.end()

    thread = threading.Thread(target=take)
    thread.start()
    _until_it_waits(pace)
    yield pace, now, work, done
    work.clear()
    for _ in range(2):
        now[0] += 1000
        pace.step()
    thread.join(10)
    assert not thread.is_alive()


def _until_it_waits(pace: Pace) -> None:
    while not pace._waiting:
        sleep(1e-3)


def test_a_step_gives_a_turn_and_waits_until_it_is_over(beside: Any) -> None:
    pace, now, _, done = beside
    assert len(done) == 1
    pace.step()  # nobody knows how long it takes
    assert len(done) == 1
    for k in range(2, 5):
        now[0] += 100
        pace.step()
        assert len(done) == k
        _until_it_waits(pace)
    now[0] += 19  # a seventh of it is less than turns were too long
    pace.step()
    assert len(done) == 4
    now[0] += 19
    pace.step()
    assert len(done) == 5


def test_no_step_waits_for_a_thread_that_comes_to_its_end(beside: Any) -> None:
    pace, now, work, done = beside
    pace.step()
    work.clear()
    for _ in range(2):
        now[0] += 100
        pace.step()
    assert len(done) == 1
    assert not pace._waiting
