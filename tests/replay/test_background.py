"""Steps do not wait for kernels; work that fails does not stop what comes after it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import compiler
from wengert.kernels.jit.pace import pace
from wengert.replay import plans, trial
from wengert.replay.background import Background, background
from wengert.replay.fusion import FusedLoop


def test_passes_and_kernels_of_loops_are_made_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Callable[[], None]] = []
    monkeypatch.setattr(background, "submit", lambda work, owner=None: waiting.append(work))
    monkeypatch.setattr(plans, "natively", lambda *_: None)

    def function(x: Any) -> Any:
        return ((x * 2).tanh() + x).exp()

    step, x = compiler.compile(function), wengert.randn(64, 64)

    def run() -> None:
        wengert.testing.assert_close(step(x), function(x), rtol=0, atol=0)

    run()
    run()
    (plan,) = step.compiled.record.plans.values()
    assert not plan.optimised
    assert len(plan.program.instructions) == 4
    waiting.pop()()
    (loop,) = [i.compute for i in plan.program.instructions if isinstance(i.compute, FusedLoop)]
    run()
    assert [*loop.plans.values()] == [None]
    for work in waiting:
        work()
    assert None not in loop.plans.values()
    wengert.testing.assert_close(step(x), function(x))


def test_calls_run_as_they_are_while_programs_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "submit", lambda *_: None)
    seen = set[Any]()

    def function(x: Any) -> Any:
        y = (x * 2).tanh() + x
        seen.add(type(y))
        return y.exp()

    step, other = compiler.compile(function), compiler.compile(function)
    x = wengert.randn(8, 8)
    expected = function(x)
    for _ in range(3):
        wengert.testing.assert_close(step(x), expected, rtol=0, atol=0)

    def runs(step: Any) -> bool:
        seen.clear()
        wengert.testing.assert_close(step(x), expected)
        return any(one is not wengert.Tensor for one in seen)

    record = step.compiled.record
    assert runs(step)
    monkeypatch.setitem(background.making, record, 1)
    assert not runs(step)
    other.compiled.continues = True  # it was part of the program that is made
    assert not runs(other)
    assert not other.compiled.record.size
    other.compiled.continues = False
    assert not runs(other)  # it is recorded
    assert runs(other)
    assert compiler.explain(step)(x).operations == 4  # it waits for nobody
    assert not runs(step)
    del background.making[record]
    assert runs(step)


def test_the_trial_is_of_runs_and_not_of_calls_that_run_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(background, "submit", lambda *_: None)
    step, x = compiler.compile(lambda x: (x * 2).tanh() + x), wengert.randn(8, 8)
    record, times = step.compiled.record, step.compiled.trial
    while times.calls < trial.AS_RUNS.start + 1:
        step(x).tolist()
    step(x).tolist()
    ((plain, runs),) = times.periods.values()
    assert (len(plain), len(runs)) == (6, 1)
    with monkeypatch.context() as making:
        making.setitem(background.making, record, 1)
        for _ in range(3):
            step(x).tolist()
    assert len(runs) == 2  # that of the last run
    step(x).tolist()
    assert len(runs) == 2
    step(x).tolist()
    assert len(runs) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a platform without forks")
def test_a_child_waits_for_no_program_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    step, x = compiler.compile(lambda x: (x * 2).tanh() + x), wengert.randn(8, 8)
    monkeypatch.setattr(background, "submit", lambda *_: None)
    expected = [step(x).tolist() for _ in range(4)]
    (plan,) = step.compiled.record.plans.values()
    assert plan.native is None
    monkeypatch.undo()
    monkeypatch.setitem(background.making, step.compiled.record, 1)
    child = os.fork()
    if not child:
        background.at_once = True
        right = not background.making and step(x).tolist()[0] == pytest.approx(expected[0][0])
        os._exit(0 if right and plan.native is not None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_work_that_fails_is_reported_and_the_next_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda report: reported.append(report.exc_value))
    own, done = Background(), threading.Event()

    def fail() -> None:
        raise ValueError("broken")

    own.submit(fail, "owner")
    own.submit(done.set)
    assert done.wait(10)
    assert [str(error) for error in reported] == ["broken"]
    own.stop()
    assert not own.making
    assert not own.waiting


def test_work_ends_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)
    own, begun = Background(), threading.Event()

    def work() -> None:
        begun.set()
        while True:
            pace.breathe()

    own.submit(work)
    assert begun.wait(10)
    own.stop()
    assert not own.waiting
    assert not reported
