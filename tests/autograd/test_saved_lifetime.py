"""How long packed values, hooks and nodes live, and what packed values count for."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import Function, grad
from wengert.autograd.graph import save_on_cpu, saved_tensors_hooks
from wengert.graph import held_by


@pytest.fixture
def no_gc() -> Any:
    """Reference counting alone has to do."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def pair() -> tuple[Any, Any]:
    a = wengert.tensor([1.0, 2.0], requires_grad=True)
    return a, wengert.tensor([3.0, 4.0], requires_grad=True)


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, _ = ctx.saved_tensors
        return 2 * x * g


class TestSaveOnCpu:
    def test_keeps_what_is_there(self) -> None:
        a = wengert.ones(1000, requires_grad=True)
        with save_on_cpu():
            y = a.exp()
        assert held_by([y.grad_fn]).graph == 4000
        assert y.grad_fn._saved_result._array is y._array
        y.sum().backward()
        assert wengert.equal(a.grad, y)

    def test_pinned_is_a_copy(self) -> None:
        a = wengert.ones(1000, requires_grad=True)
        with save_on_cpu(pin_memory=True):
            y = a.exp()
        y.detach().zero_()
        y.sum().backward()
        assert float(a.grad[0]) == pytest.approx(np.e)


class Payload:
    """A packed value that can be watched."""

    def __init__(self, t: Any) -> None:
        self.t = t


class TestLifetime:
    def test_packed_values_go_one_by_one(self, no_gc: None) -> None:
        a, _ = pair()
        alive: list[weakref.ref[Payload]] = []
        left: list[int] = []

        def pack(t: Any) -> Payload:
            payload = Payload(t)
            alive.append(weakref.ref(payload))
            return payload

        def unpack(payload: Payload) -> Any:
            left.append(sum(r() is not None for r in alive))
            return payload.t

        y = a
        with saved_tensors_hooks(pack, unpack):
            for _ in range(5):
                y = y.exp().log()
        y.sum().backward()
        assert left == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
        assert [r() for r in alive] == [None] * 10

    def test_dropping_the_output_frees_everything(self, no_gc: None) -> None:
        a, b = pair()
        alive: list[weakref.ref[Any]] = []

        def run() -> None:
            def pack(t: Any) -> Any:
                return t

            alive.append(weakref.ref(pack))
            with saved_tensors_hooks(pack, lambda t: t):
                y = Square.apply((a * b).exp().tanh())
                z = y.clone().exp_()
            alive.extend(weakref.ref(n) for n in (y.grad_fn, z.grad_fn, z))

        run()
        assert [r() for r in alive] == [None] * 4

    def test_create_graph(self, no_gc: None) -> None:
        a, b = pair()
        alive: list[weakref.ref[Any]] = []

        def run() -> None:
            with saved_tensors_hooks(lambda t: t, lambda t: t):
                y = (a * b).exp().sum()
                (g,) = grad(y, a, create_graph=True)
                g.sum().backward()
            alive.extend((weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(g.grad_fn)))

        run()
        assert [r() for r in alive] == [None] * 3

    def test_a_node_keeps_no_hook_that_it_does_not_need(self, no_gc: None) -> None:
        a, b = pair()

        def pack(t: Any) -> Any:
            return t

        alive = weakref.ref(pack)
        with saved_tensors_hooks(pack, lambda t: t):
            y = a + b
            z = a.exp()
        z.sum().backward()
        del pack
        assert alive() is None
        assert y.grad_fn is not None

    def test_held_by_counts_what_is_in_memory(self) -> None:
        a = wengert.ones(100, requires_grad=True)
        for pack, expected in [
            (lambda t: t.clone(), 400),
            (lambda t: t.detach().numpy(), 400),
            (lambda t: (1, [t.clone()]), 400),
            (lambda t: {"t": t.clone()}, 400),
            (lambda t: t.shape, 0),
            (lambda t: t.double(), 800),
        ]:
            with saved_tensors_hooks(pack, lambda t: t):
                y = a.exp()
            assert held_by([y.grad_fn]).graph == expected
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            y = a * a
        assert held_by([y.grad_fn, a.grad_fn or a._edge]).leaves == 400
