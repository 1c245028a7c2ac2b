"""What the engine tells its observers of walks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert
from wengert.autograd.engine import observers


@pytest.fixture
def events() -> Iterator[list[Any]]:
    """What is told, with the number of nodes that the walk was to pass."""
    told: list[Any] = []

    def observe(walk: Any, when: str) -> None:
        told.append((when, walk.nodes))

    observers.append(observe)
    try:
        yield told
    finally:
        observers.remove(observe)


@pytest.fixture
def x() -> Any:
    return wengert.ones(2, requires_grad=True)


def test_walks_begin_and_end(events: list[Any], x: Any) -> None:
    x.exp().sum().backward()
    wengert.autograd.grad(x.sum(), x)
    assert events == [("before", 3), ("after", 3), ("before", 2), ("after", 2)]


def test_walks_may_fail(events: list[Any], x: Any) -> None:
    y = x.exp()
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert events == [("before", 3), ("raised", 3)]


def test_a_second_backward_is_refused(events: list[Any], x: Any) -> None:
    loss = (x * x).sum()
    loss.backward()
    del events[:]
    with pytest.raises(wengert.autograd.GraphReleasedError):
        loss.backward()
    assert events == [("refused", 1)]  # what is below was let go


def test_overwritten_values_are_refused(events: list[Any], x: Any) -> None:
    y = x.exp()
    loss = y.sum()
    y.data.zero_()
    with pytest.raises(wengert.autograd.SavedTensorOverwrittenError):
        loss.backward()
    assert events == [("refused", 3)]


def test_unused_inputs_are_refused(events: list[Any], x: Any) -> None:
    with pytest.raises(wengert.autograd.UnusedInputError):
        wengert.autograd.grad(x.sum(), wengert.ones(1, requires_grad=True))
    assert events == [("refused", 2)]


def test_an_observer_may_walk_when_one_is_refused(x: Any) -> None:
    def observe(walk: Any, when: str) -> None:
        if when == "refused":
            (x * 3).sum().backward()

    loss = x.exp().sum()
    loss.backward()
    x.grad = None
    observers.append(observe)
    try:
        with pytest.raises(wengert.autograd.GraphReleasedError):
            loss.backward()
    finally:
        observers.remove(observe)
    assert x.grad.tolist() == [3.0, 3.0]
