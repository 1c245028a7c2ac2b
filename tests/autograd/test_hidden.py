"""Released nodes that may hide a way to what `grad` is asked for."""

from __future__ import annotations

from typing import Any

import pytest

import wengert
from wengert.autograd import GraphReleasedError


def windows(m: Any) -> tuple[Any, Any]:
    """A weight, and the loss of a second window whose state comes out of the released first."""
    w = m.tensor(0.5, requires_grad=True)
    state = (w * 2).tanh()
    (state**2).backward()
    state = (w * state).tanh()
    return w, state**2


def test_a_weight_of_two_windows_is_refused() -> None:
    w, loss = windows(wengert)
    with pytest.raises(GraphReleasedError, match="joined by"):
        wengert.autograd.grad(loss, w)


@pytest.mark.torch
def test_as_pytorch_refuses_it(torch: Any) -> None:
    w, loss = windows(torch)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, w)


@pytest.mark.usefixtures("lenient")
def test_under_the_alias_it_is_refused_by_what_was_saved() -> None:
    w, loss = windows(wengert)
    with pytest.raises(GraphReleasedError):
        wengert.autograd.grad(loss, w)


def test_a_head_over_a_released_trunk_gets_its_gradient() -> None:
    trunk, first, second = (wengert.tensor(float(k), requires_grad=True) for k in (2, 3, 4))
    features = (trunk * 5).exp()
    (first * features).backward()
    (g,) = wengert.autograd.grad(second * features, second)
    assert g.item() == features.item()


def test_the_trunk_below_it_is_refused() -> None:
    trunk, first, second = (wengert.tensor(float(k), requires_grad=True) for k in (2, 3, 4))
    features = (trunk * 5).exp()
    (first * features).backward()
    loss = second * features + trunk
    with pytest.raises(GraphReleasedError):
        wengert.autograd.grad(loss, [second, trunk])


def test_an_inner_tensor_of_the_released_graph_is_refused() -> None:
    x = wengert.tensor(2.0, requires_grad=True)
    inner = x * 3
    outer = inner.exp()
    outer.backward()
    with pytest.raises(GraphReleasedError):
        wengert.autograd.grad(outer * 2 + inner, inner)


def test_nodes_with_hooks_hide_as_much() -> None:
    w = wengert.tensor(0.5, requires_grad=True)
    state = (w * 2).tanh()
    state.register_hook(lambda g: g)
    (state**2).backward()
    loss = (w * state).tanh()
    with pytest.raises(GraphReleasedError):
        wengert.autograd.grad(loss, w)


def test_after_grad_of_something_else_too() -> None:
    w, v = wengert.tensor(0.5, requires_grad=True), wengert.tensor(2.0, requires_grad=True)
    hidden = (w * v).exp()
    wengert.autograd.grad(hidden, v)
    with pytest.raises(GraphReleasedError):
        wengert.autograd.grad(hidden * w, w)


def test_jac_and_transforms_refuse_as_well() -> None:
    w, loss = windows(wengert)
    with pytest.raises(GraphReleasedError):
        wengert.autograd.jac([loss], w)
