"""Tensor hooks, retained gradients, post-accumulation hooks."""

from __future__ import annotations

from typing import Any

import pytest

import wengert


def leaf() -> Any:
    return wengert.tensor([1.0, 2.0], requires_grad=True)


def test_a_hook_sees_the_whole_gradient_once() -> None:
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    (x * x + x * 3).sum().backward()
    assert seen == [[5.0, 7.0]]


def test_a_hook_replaces_the_gradient_from_there_on() -> None:
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)  # in the order of registration
    y.sum().backward()
    assert x.grad.tolist() == [22.0, 22.0]


def test_handles_remove_hooks() -> None:
    x = leaf()
    handle = x.register_hook(lambda g: g * 10)
    with x.register_hook(lambda g: g * 100):
        (x * 1).sum().backward()
    assert x.grad.tolist() == [1000.0, 1000.0]
    handle.remove()
    handle.remove()
    x.grad = None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_retained_gradients_come_after_hooks() -> None:
    x = leaf()
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    assert y.retains_grad
    assert not x.retains_grad
    y.sum().backward()
    assert y.grad.tolist() == [10.0, 10.0]
    assert x.grad.tolist() == [20.0, 20.0]


def test_post_accumulate_hooks_see_the_sum() -> None:
    x, seen = leaf(), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [[2.0, 2.0], [4.0, 4.0]]
    with pytest.raises(RuntimeError, match="non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(lambda p: None)


def test_a_failing_hook_changes_nothing() -> None:
    x, w = leaf(), leaf()
    y = x.exp()
    loss = (y * w).sum()

    def fail(g: Any) -> None:
        raise KeyError("hook")

    handle = y.register_hook(fail)
    with pytest.raises(KeyError):
        loss.backward()
    assert x.grad is None
    assert w.grad is None
    handle.remove()
    loss.backward()  # the graph is whole
    assert w.grad.tolist() == pytest.approx(y.tolist())


def test_hooks_must_return_gradients() -> None:
    x = leaf()
    handle = x.register_hook(lambda g: 5)
    with pytest.raises(TypeError, match="Tensor"):
        (x * 1).sum().backward()
    handle.remove()
    x.register_hook(lambda g: wengert.ones(3))
    with pytest.raises(RuntimeError, match="changed the size"):
        (x * 1).sum().backward()


def test_a_hook_on_what_needs_no_gradient_is_refused() -> None:
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        wengert.ones(2).register_hook(lambda g: g)


@pytest.mark.torch
def test_order_equals_torchs(torch: Any) -> None:
    def program(t: Any) -> list[str]:
        order: list[str] = []

        def note(name: str) -> Any:
            return lambda g: order.append(name)

        a = t.ones(2, requires_grad=True)
        b = t.ones(2, requires_grad=True)
        c = a * b
        d = c * b
        e = d.exp()
        for name, tensor in {"a": a, "b": b, "c": c, "d": d, "e": e}.items():
            tensor.register_hook(note(name))
        (e.sum() + a.sum()).backward()
        return order

    assert program(wengert) == program(torch)


def test_a_failing_post_hook_leaves_all_gradients_in_place() -> None:
    x, w = leaf(), leaf()

    def fail(p: Any) -> None:
        raise KeyError("post")

    x.register_post_accumulate_grad_hook(fail)
    with pytest.raises(KeyError):
        (x * w).sum().backward()
    assert x.grad.tolist() == w.tolist()
    assert w.grad.tolist() == x.tolist()
