"""Random programs of operations, writes, detachments and backward calls, in both libraries.

Under the torch alias whatever PyTorch computes is computed here, with the same gradients.
Natively a backward through a released graph fails, every time, and changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wengert
from wengert.autograd import GraphReleasedError
from wengert.autograd.engine import compatibility

UNARY = {
    "tanh": lambda a: a.tanh(),
    "exp": lambda a: (a * 0.1).exp(),
    "neg": lambda a: -a,
    "twice": lambda a: a * 2,
    "shift": lambda a: a + 1.5,
    "flip": lambda a: a[[2, 1, 0]],
    "view": lambda a: a.view(1, 3)[0],
    "rest": lambda a: a.sum() + a,
    "detach": lambda a: a.detach(),
    "clone": lambda a: a.clone(),
}
BINARY = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "sub": lambda a, b: a - b}
WRITES = {
    "mul_": lambda a, b: a.mul_(0.5),
    "add_": lambda a, b: a.add_(b),
    "set": lambda a, b: a.__setitem__(1, b[0]),
}

index = st.integers(0, 1_000)
step = st.one_of(
    st.tuples(st.sampled_from(sorted(UNARY)), index),
    st.tuples(st.sampled_from(sorted(BINARY)), index, index),
    st.tuples(st.sampled_from(sorted(WRITES)), index, index),
    st.tuples(st.just("backward"), index, st.booleans()),
)
programs = st.lists(step, min_size=1, max_size=20)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Run:
    """A program, step by step, in one library."""

    def __init__(self, library: Any) -> None:
        rng = np.random.default_rng(0)
        self.library = library
        self.leaves = [
            library.from_numpy(rng.standard_normal(3)).requires_grad_() for _ in range(2)
        ]
        self.pool = list(self.leaves)

    def step(self, step: tuple[Any, ...]) -> str:
        """Take one step; what came of it."""
        name, *where = step
        inner = self.pool[len(self.leaves) :]
        if name in WRITES and not inner:
            return "ok"  # leaves refuse writes, which other tests look at
        among = inner if name in WRITES else self.pool
        a = among[where[0] % len(among)]
        try:
            if name in UNARY:
                self.pool.append(UNARY[name](a))
            elif name in BINARY:
                self.pool.append(BINARY[name](a, self.pool[where[1] % len(self.pool)]))
            elif name in WRITES:
                WRITES[name](a, self.pool[where[1] % len(self.pool)])
            else:
                a.sum().backward(retain_graph=where[1])
        except RuntimeError as error:
            return type(error).__name__
        return "ok"

    def state(self) -> list[Any]:
        """All values, and the gradients of the leaves."""
        grads = [None if x.grad is None else x.grad.numpy().copy() for x in self.leaves]
        return [t.detach().numpy().copy() for t in self.pool] + grads


def same(a: list[Any], b: list[Any]) -> None:
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.torch
@settings(max_examples=300, deadline=None)
@given(programs)
def test_what_pytorch_computes_is_computed(torch: Any, program: list[tuple[Any, ...]]) -> None:
    compatibility.lenient = True
    try:
        ours, theirs = Run(wengert), Run(torch)
        for step in program:
            expected = theirs.step(step)
            if expected != "ok":
                break  # from here on the two may differ: a failing backward here changes nothing
            assert ours.step(step) == "ok", step
            same(ours.state(), theirs.state())
    finally:
        compatibility.lenient = False


@settings(max_examples=300, deadline=None)
@given(programs)
def test_a_failing_step_changes_nothing(program: list[tuple[Any, ...]]) -> None:
    run = Run(wengert)
    for step in program:
        before, edges = run.state(), [t._edge for t in run.pool]
        outcome = run.step(step)
        if outcome != "ok":
            same(run.state(), before)
            assert [t._edge for t in run.pool] == edges
            assert run.step(step) == outcome  # and it fails again in the same way


@settings(max_examples=200, deadline=None)
@given(programs)
def test_a_second_backward_always_fails(program: list[tuple[Any, ...]]) -> None:
    run = Run(wengert)
    for step in program:
        run.step(step)
    for tensor in run.pool:
        if tensor.requires_grad and not tensor.is_leaf:
            loss = tensor.sum()
            try:
                loss.backward()
            except RuntimeError:
                continue
            with pytest.raises(GraphReleasedError):
                loss.backward()
