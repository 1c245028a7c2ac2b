"""The graphs that a run's report shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import wengert
from wengert.autograd import engine
from wengert.graph.captures import Captures


@pytest.fixture
def captures() -> Iterator[Captures]:
    found = Captures(lines=2)

    def observe(walk: Any, when: str) -> None:
        if when == "before":
            found.before(walk)
        elif when == "refused":
            found.refused(walk)

    engine.observers.append(observe)
    try:
        yield found
    finally:
        engine.observers.remove(observe)


def twice(loss: Any) -> None:
    loss.backward()
    with pytest.raises(wengert.autograd.GraphReleasedError):
        loss.backward()


def test_of_each_line_the_first_graph(captures: Captures) -> None:
    x = wengert.ones(2, requires_grad=True)
    for _ in range(3):
        x.exp().sum().backward()
    x.sum().backward()
    x.sin().sum().backward()
    seen = [(c.call, c.nodes, c.text, c.refused) for c in captures.found]
    assert seen == [(1, 3, "x.exp().sum().backward()", False), (4, 2, "x.sum().backward()", False)]


def test_and_of_the_first_call_that_was_refused(captures: Captures) -> None:
    x = wengert.ones(2, requires_grad=True)
    x.sum().backward()
    y = (x * 2).exp()
    y.mean().backward()
    with pytest.raises(wengert.autograd.GraphReleasedError):
        (y * y).sum().backward()
    twice(x.cos().sum())
    first, second, refused = captures.found
    assert [first.refused, second.refused] == [False, False]
    assert (refused.refused, refused.call, refused.text) == (True, 3, "(y * y).sum().backward()")
    assert refused.graph is not None
    assert [node.op for node in refused.graph.nodes] == ["exp", "mul", "sum"]
    assert refused.graph.nodes[0].state.startswith("released by backward()")
