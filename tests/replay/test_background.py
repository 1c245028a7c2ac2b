"""Steps do not wait for kernels; work that fails does not stop what comes after it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from wengert import compiler
from wengert.replay import settling
from wengert.replay.background import Background, background
from wengert.replay.fusion import FusedLoop


def test_passes_and_kernels_of_loops_are_made_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Callable[[], None]] = []
    monkeypatch.setattr(background, "submit", waiting.append)
    monkeypatch.setattr(settling, "natively", lambda *_: None)

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


def test_work_that_fails_is_reported_and_the_next_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda report: reported.append(report.exc_value))
    own, done = Background(), threading.Event()

    def fail() -> None:
        raise ValueError("broken")

    own.submit(fail)
    own.submit(done.set)
    assert done.wait(10)
    assert [str(error) for error in reported] == ["broken"]
    own.stop()
