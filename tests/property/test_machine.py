"""A machine that takes views, writes in place, detaches, drops and differentiates at random.

It does the same to tensors of both libraries and compares after every step: values, gradients,
`requires_grad`, `is_leaf`, and whether the step was refused. It stops at PyTorch's first
refusal, because a failing backward there may have half happened. At the end every node must be
gone with the last tensor, without the garbage collector.
"""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import wengert
from wengert.autograd.engine import compatibility

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

VIEWS: dict[str, Callable[[Any], Any]] = {
    "first": lambda a: a[0] if a.dim() and len(a) else a.unsqueeze(0),
    "head": lambda a: a[:2] if a.dim() else a.expand(2).clone(),
    "tail": lambda a: a[1:] if a.dim() else a.unsqueeze(0),
    "t": lambda a: a.t() if a.dim() == 2 else a.unsqueeze(-1),
    "flat": lambda a: a.reshape(-1),
    "same": lambda a: a.view_as(a),
}
OPS: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda a: a.tanh(),
    "exp": lambda a: (a * 0.1).exp(),
    "square": lambda a: a * a * 0.1,
    "shift": lambda a: a + 1,
    "sum": lambda a: a.sum(),
    "clone": lambda a: a.clone(),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda a, b: a.mul_(0.5),
    "tanh_": lambda a, b: a.tanh_(),
    "zero_": lambda a, b: a.zero_(),
    "add_": lambda a, b: a.add_(b.sum()),
    "copy_": lambda a, b: a.copy_(b.sum()),
    "set": lambda a, b: a.__setitem__(..., b.sum()),
}

which = st.integers(0, 1_000)


class Both(RuleBasedStateMachine):
    """The same tensors in both libraries."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[Any, Any]] = []
        self.nodes: list[weakref.ref[Any]] = []
        self.stopped = False
        self.hooked = False  # then nothing is written: what a hook sees after that is PyTorch's own
        self.made = 0
        compatibility.lenient = True
        gc.disable()

    def pick(self, k: int) -> tuple[Any, Any]:
        return self.pairs[k % len(self.pairs)]

    def both(self, step: Callable[..., Any], *pairs: tuple[Any, Any]) -> tuple[Any, Any] | None:
        """Take a step in both; None where both refuse."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = step(*[p[1] for p in pairs])
            except RuntimeError as error:
                self.stopped = True
                self.refused(step, pairs, error)
                return None
            ours = step(*[p[0] for p in pairs])
        return ours, theirs

    def refused(self, step: Callable[..., Any], pairs: Any, error: RuntimeError) -> None:
        """PyTorch refused: so does wengert, unless only the region of a write tells them apart."""
        try:
            step(*[p[0] for p in pairs])
        except RuntimeError:
            return
        text = str(error)
        allowed = "modified by an inplace operation", "Output 0 of UnbindBackward0", "is a view and"
        assert any(words in text for words in allowed), f"wengert did not refuse: {text}"

    def add(self, pair: tuple[Any, Any] | None) -> None:
        if pair is None:
            return
        self.pairs.append(pair)
        if pair[0].grad_fn is not None:
            self.nodes.append(weakref.ref(pair[0].grad_fn))

    @rule(rows=st.integers(2, 3), matrix=st.booleans(), grad=st.booleans())
    def leaf(self, rows: int, matrix: bool, grad: bool) -> None:
        self.made += 1
        shape = (rows, 2) if matrix else (rows,)
        array = np.random.default_rng(self.made).standard_normal(shape)
        pair = wengert.from_numpy(array.copy()), torch.from_numpy(array.copy())
        for t in pair:
            t.requires_grad_(grad)
        self.pairs.append(pair)

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which, name=st.sampled_from(sorted(OPS)))
    def operate(self, k: int, name: str) -> None:
        self.add(self.both(OPS[name], self.pick(k)))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which, j=which)
    def combine(self, k: int, j: int) -> None:
        self.add(self.both(lambda a, b: a * b.sum(), self.pick(k), self.pick(j)))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which, name=st.sampled_from(sorted(VIEWS)))
    def view(self, k: int, name: str) -> None:
        self.add(self.both(VIEWS[name], self.pick(k)))

    @precondition(lambda self: self.pairs and not self.stopped and not self.hooked)
    @rule(k=which, j=which, name=st.sampled_from(sorted(WRITES)))
    def write(self, k: int, j: int, name: str) -> None:
        self.both(WRITES[name], self.pick(k), self.pick(j))

    @precondition(lambda self: self.pairs and not self.stopped and not self.hooked)
    @rule(k=which)
    def write_without_grad(self, k: int) -> None:
        def step(a: Any) -> None:
            with wengert.no_grad(), torch.no_grad():
                a.mul_(0.9)

        self.both(step, self.pick(k))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which)
    def detach(self, k: int) -> None:
        self.add(self.both(lambda a: a.detach(), self.pick(k)))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which)
    def hook(self, k: int) -> None:
        if self.pick(k)[1].requires_grad:
            self.hooked = True
            self.both(lambda a: a.register_hook(lambda g: g * 0.5) and None, self.pick(k))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which)
    def retain_grad(self, k: int) -> None:
        if self.pick(k)[1].requires_grad:
            self.both(lambda a: a.retain_grad(), self.pick(k))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which, retain=st.booleans())
    def backward(self, k: int, retain: bool) -> None:
        self.both(lambda a: a.sum().backward(retain_graph=retain), self.pick(k))

    @precondition(lambda self: self.pairs and not self.stopped)
    @rule(k=which, j=which, retain=st.booleans())
    def grad(self, k: int, j: int, retain: bool) -> None:
        loss, inner = self.pick(k), self.pick(j)
        if not inner[1].requires_grad:
            return

        def step(a: Any, b: Any) -> Any:
            library = wengert if isinstance(a, wengert.Tensor) else torch
            (g,) = library.autograd.grad(a.sum(), b, retain_graph=retain, allow_unused=True)
            return g

        found = self.both(step, loss, inner)
        if found is not None:
            assert (found[0] is None) == (found[1] is None)
            if found[0] is not None:
                self.pairs.append((found[0].clone(), found[1].clone()))  # strides differ

    @precondition(lambda self: len(self.pairs) > 1)
    @rule(k=which)
    def drop(self, k: int) -> None:
        del self.pairs[k % len(self.pairs)]

    @precondition(lambda self: not self.stopped)
    @invariant()
    def equal(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for ours, theirs in self.pairs:
                assert tuple(ours.shape) == tuple(theirs.shape)
                assert ours.requires_grad == theirs.requires_grad
                assert ours.is_leaf == theirs.is_leaf
                close(ours.detach(), theirs.detach())
                assert (ours.grad is None) == (theirs.grad is None)
                if ours.grad is not None:
                    close(ours.grad, theirs.grad)

    def teardown(self) -> None:
        self.pairs.clear()
        try:
            assert [n() for n in self.nodes if n() is not None] == []
        finally:
            compatibility.lenient = False
            gc.enable()


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-12)


TestBoth = Both.TestCase
TestBoth.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
