"""Calls that are noted, and made entries of the record later."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from threading import Event
from time import sleep
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import compiler, nn
from wengert.replay.background import background
from wengert.replay.noting import NotingRun
from wengert.replay.run import Run
from wengert.replay.state import active


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let entries be made in the background; wait for it."""
    monkeypatch.setattr(background, "at_once", False)

    def wait() -> None:
        for _ in range(2000):
            if not background.waiting:
                return
            sleep(0.005)
        raise AssertionError("the background is not done")

    return wait


def chain(x: Any, w: Any) -> Any:
    y = x
    for _ in range(4):
        y = (y @ w).tanh() * 0.5 + x
    return y.square().mean()


def backward(x: Any, w: Any) -> Any:
    w.grad = None
    loss = chain(x, w)
    loss.backward()
    return loss, w.grad


def views(x: Any, w: Any) -> Any:
    a, b = (x @ w).chunk(2, dim=1)
    wide = wengert.cat([a.t(), b.t()]).reshape(-1, 2)
    return wide.transpose(0, 1).sum(dim=1, keepdim=True), x.view(-1)[3:] * 2


def parameters(x: Any, w: Any) -> Any:
    low = nn.functional.leaky_relu(x, 0.1) + nn.functional.leaky_relu(x, 0.2)
    one = wengert.add(low, w, alpha=2)
    return nn.functional.layer_norm(one, (4,)) + (x > 0), one.clamp(min=0.5), one.clamp(max=0.5)


def classes(x: Any, w: Any) -> Any:
    target = wengert.tensor([0, 3, 1, 2])
    loss = nn.functional.cross_entropy(x @ w, target.reshape(-1))
    w.grad = None
    loss.backward()
    return loss, w.grad


def in_place(x: Any, w: Any) -> Any:
    y = (x @ w).exp()
    y += x
    y.mul_(2)
    return y.tanh() + y


def by_halves(x: Any, w: Any) -> Any:
    y = (x @ w).to(wengert.float16) * 2
    return y.to(wengert.float32).tanh() + x


def twice(x: Any, w: Any) -> Any:
    w.grad = None
    hidden = (x @ w).tanh()
    (hidden * 2).sum().backward(retain_graph=True)
    hidden.square().sum().backward()
    return hidden.detach() + 1, w.grad


# So many until all of them have all their programs.
CALLS = 8
FUNCTIONS = [chain, backward, views, parameters, classes, in_place, by_halves, twice]


def arguments() -> tuple[Any, Any]:
    wengert.manual_seed(3)
    return wengert.randn(4, 4), wengert.randn(4, 4, requires_grad=True)


def values(results: Any) -> list[Any]:
    results = results if type(results) is tuple else (results,)
    return [one._array.tolist() for one in results]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_entries_are_those_of_calls_that_are_recorded_at_once(
    function: Any, monkeypatch: pytest.MonkeyPatch, beside: Callable[[], None]
) -> None:
    monkeypatch.setattr("wengert.replay.record._OFTEN", CALLS * CALLS)  # no entry is let go of
    args = arguments()
    expected = values(function(*args))
    noted = compiler.compile(function)
    for _ in range(CALLS):
        for ours, eager in zip(values(noted(*args)), expected, strict=True):
            np.testing.assert_allclose(ours, eager, rtol=1e-5, atol=1e-6)
        beside()
    monkeypatch.setattr(Run, "noting", lambda run: None)
    recorded = compiler.compile(function)
    for _ in range(CALLS):
        values(recorded(*args))
        beside()
    assert noted.graph()
    assert {*noted.graph().split("\n\n")} == {*recorded.graph().split("\n\n")}
    assert noted.compiled.record.size == recorded.compiled.record.size


@pytest.mark.parametrize("function", [chain, backward, classes])
def test_no_call_waits_for_entries_or_for_a_plan(
    function: Any, beside: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    args, step = arguments(), compiler.compile(function)
    record = step.compiled.record
    values(step(*args))
    assert record.size == 1  # the first call, which tells that this is another way
    values(step(*args))
    beside()
    size = record.size
    assert size > 2
    assert len(record.foreseen) == 1
    assert not record.plans
    ((key, plan),) = record.foreseen.items()
    monkeypatch.setattr("wengert.replay.plans.Plan", None)
    values(step(*args))
    assert record.plans == {key: plan}
    assert not record.foreseen
    assert record.size == size
    beside()
    assert record.compiled


def test_a_program_that_many_calls_have_missed_is_compiled(beside: Callable[[], None]) -> None:
    args, step = arguments(), compiler.compile(backward)
    expected, record, go = values(backward(*args)), step.compiled.record, Event()
    step(*args)
    background.submit(lambda: None if go.wait(10) else pytest.fail("it was not let go"))
    for _ in range(4):
        assert values(step(*args)) == expected  # as it is
    go.set()
    beside()
    (plan,) = record.foreseen.values()
    assert plan.native is not None
    uses = plan.uses
    for ours, eager in zip(values(step(*args)), expected, strict=True):
        np.testing.assert_allclose(ours, eager, rtol=1e-5, atol=1e-6)
    assert [*record.plans.values()] == [plan]
    assert plan.uses == uses + 1


def test_notes_keep_nothing_alive(beside: Callable[[], None]) -> None:
    seen: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 2
        z = y + 1
        seen.extend([weakref.ref(y), weakref.ref(z._array)])
        del y
        assert seen[0]() is None
        return z.sum()

    gc.disable()
    try:
        result = compiler.compile(function)(wengert.ones(8))
        assert type(active.run) is NotingRun
        assert seen[1]() is None
        assert result.item() == 24
    finally:
        gc.enable()


def test_who_asks_what_was_recorded_gets_it(beside: Callable[[], None]) -> None:
    step = compiler.compile(chain)
    args = arguments()
    loss = step(*args)
    run: Any = active.run
    assert type(run) is NotingRun
    assert run.is_value(loss)
    assert not run.is_value(args[0])
    assert type(run) is NotingRun
    assert run.place_of(loss) == step.compiled.record.size - 1
    assert type(run) is Run
    assert [e.op.name for e in run.entry.path()[:4]] == ["matmul", "tanh", "mul", "_add"]


def test_a_question_may_be_asked_while_a_thread_makes_the_entries(
    beside: Callable[[], None],
) -> None:
    """Whoever is about to ask a run that notes asks an ordinary one then."""
    step, other, args = compiler.compile(chain), compiler.compile(chain), arguments()
    for _ in range(3):
        values(other(*args))
        beside()
    deferred = other(*args)
    step(*args)
    run: Any = active.run
    assert type(run) is NotingRun
    asked, placed = run.is_value, run.place_of
    run.catch_up()
    assert type(run) is Run
    assert not asked(deferred)
    assert placed(deferred) is None


def test_what_comes_after_the_function_is_noted_if_it_goes_on(beside: Callable[[], None]) -> None:
    step, (x, w) = compiler.compile(lambda x, w: (x @ w).tanh()), arguments()

    def train() -> Any:
        w.grad = None
        loss = (step(x, w) - 1).square().mean()
        wengert.ones(3).exp()  # no part of it
        loss.backward()
        return loss.item(), w.grad.tolist()

    expected = train()
    assert type(active.run) is NotingRun
    for _ in range(4):
        beside()
        np.testing.assert_allclose(train()[1], expected[1], rtol=1e-5)
    (plan,) = step.compiled.record.plans.values()
    assert len(plan.lowering.path) == 6
    assert not step.compiled.record.foreseen


def test_plans_that_nobody_needs_are_not_made_for_ever(beside: Callable[[], None]) -> None:
    step = compiler.compile(lambda x: (x * 2).exp() + 1)
    for n in range(1, 12):
        step(wengert.ones(n)).tolist()
        beside()
    assert len(step.compiled.record.foreseen) <= 4
