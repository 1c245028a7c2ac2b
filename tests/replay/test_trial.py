"""Which calls a compiled function's trial compares."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.replay import trial
from wengert.replay.trial import Trial


def times_of(calls: Any, seconds: Any) -> Trial:
    """The trial of a function whose calls are `calls(k)`, each of which takes `seconds(k)`."""
    times, now = Trial(), 0.0
    for k in range(trial.AS_RUNS.stop + 1):
        function, grad, *args = calls(k)
        with wengert.set_grad_enabled(grad):
            times.begins(now, function, args)
        times.calls += 1
        now += seconds(k)
    return times


def as_run(k: int) -> bool:
    return k in trial.AS_RUNS


def test_runs_that_take_longer_are_slower() -> None:
    for factor in (0.5, 2.0):
        times = times_of(lambda k: (len, True), lambda k, f=factor: f if as_run(k) else 1.0)
        assert [*map(len, *times.periods.values())] == [6, 10]
        assert times.is_slower() is (factor > 1)


def of_module(training: bool) -> nn.Module:
    return nn.Linear(2, 2).train(training)


@pytest.mark.parametrize("call", [
    lambda small: (len, not small),
    lambda small: (of_module(not small), True),
    lambda small: (of_module(not small).forward, True),
    lambda small: (len, True, of_module(not small)),
    lambda small: (len, True, small),
    lambda small: (len, True, wengert.ones(2 if small else 64)),
], ids=["grad mode", "module", "method", "argument", "flag", "shape"])  # fmt: skip
def test_calls_of_different_kinds_are_not_compared(call: Any) -> None:
    """All calls that are timed as they are take a tenth of the time: they have less to do."""

    def small(k: int) -> bool:
        return k in trial.AS_IT_IS

    times = times_of(lambda k: call(small(k)), lambda k: 0.1 if small(k) else 1.0)
    assert len(times.periods) == 2
    assert not times.is_slower()
    assert times_of(lambda k: call(True), lambda k: 0.1 if small(k) else 1.0).is_slower()


def test_one_kind_that_loses_much_outweighs_one_that_gains_little() -> None:
    def seconds(k: int) -> float:
        if k % 2:
            return 0.9 if as_run(k) else 1.0
        return 2.0 if as_run(k) else 1.0

    assert times_of(lambda k: (len, True, k % 2 == 0), seconds).is_slower()


class Computing:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"there is no {name}")


@pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")
@pytest.mark.parametrize("given", [
    SimpleNamespace(training={"epochs": 3}),
    SimpleNamespace(training=wengert.ones(2)),
    Computing(),
    wengert.nested.nested_tensor([wengert.ones(2), wengert.ones(3)]),
], ids=["settings", "tensor", "computing", "nested"])  # fmt: skip
def test_whatever_calls_are_given(given: Any) -> None:
    assert times_of(lambda k: (len, True, given), lambda k: 1.0).calls == trial.AS_RUNS.stop + 1
    step = wengert.compiler.compile(lambda x, given: (x * 2).tanh().sum())
    x = wengert.ones(3, requires_grad=True)
    for _ in range(trial.AS_RUNS.stop + 1):
        step(x, given).backward()
