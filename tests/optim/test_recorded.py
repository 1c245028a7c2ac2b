"""Steps with `differentiable=True`: gradients of what several of them compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import optim

STEPS = 3
RULES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"weight_decay": 0.1, "maximize": True}),
    ("Adam", {"weight_decay": 0.1}),
    ("AdamW", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("RMSprop", {}),
    ("ASGD", {"t0": 1}),
]
# PyTorch writes over what it has saved for these, or takes a gradient for a constant.
ONLY_HERE: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("SGD", {"momentum": 0.9, "dampening": 0.3}),
    ("Adam", {"amsgrad": True}),
    ("Adamax", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Rprop", {}),
]
LEARNED_RATES = ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "RMSprop", "Adadelta")


def leaves(m: Any, dtype: str, rate: float | None = None) -> list[Any]:
    """A parameter, the gradients of three steps, and a learning rate."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(1 + STEPS):
        values = rng.standard_normal(5)
        if dtype == "complex128":
            values = values + 1j * rng.standard_normal(5)
        found.append(m.tensor(values, dtype=getattr(m, dtype), requires_grad=True))
    if rate is not None:
        found.append(m.tensor(rate, dtype=m.float64, requires_grad=True))
    return found


def after(m: Any, name: str, options: dict[str, Any], inputs: Sequence[Any]) -> Any:
    """A number that depends on the parameter and all state after some steps."""
    start, grads, rate = inputs[0], inputs[1 : 1 + STEPS], inputs[1 + STEPS :]
    p = start.clone()
    lr = {"lr": rate[0]} if rate else {"lr": 0.05}
    optimizer = getattr(m.optim, name)([p], differentiable=True, **lr, **options)
    for g in grads:
        p.grad = g.clone()
        optimizer.step()
    total = p.abs().square().sum()
    for value in optimizer.state[p].values():
        if value.requires_grad:
            total = total + value.abs().square().sum()
    return total


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(("name", "options"), RULES)
def test_gradients_are_pytorchs(torch: Any, name: str, options: dict[str, Any], dtype: str) -> None:
    ours, theirs = leaves(wengert, dtype), leaves(torch, dtype)
    loss, expected = after(wengert, name, options, ours), after(torch, name, options, theirs)
    # PyTorch counts steps in float32.
    np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-5)
    got = wengert.autograd.grad(loss, ours)
    for g, e in zip(got, torch.autograd.grad(expected, theirs), strict=True):
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), RULES + ONLY_HERE)
def test_gradients_are_those_of_differences(name: str, options: dict[str, Any]) -> None:
    rate = 0.05 if name in LEARNED_RATES else None
    inputs = leaves(wengert, "float64", rate)

    def loss(*inputs: Any) -> Any:
        return after(wengert, name, options, inputs)

    assert wengert.autograd.gradcheck(loss, inputs)


@pytest.mark.parametrize(("name", "options"), RULES + ONLY_HERE)
def test_values_are_those_of_steps_that_are_not_recorded(
    name: str, options: dict[str, Any]
) -> None:
    start, *grads = leaves(wengert, "float32")
    ways = []
    for recorded in (False, True):
        p = start.detach().clone()
        optimizer = getattr(optim, name)([p], lr=0.05, differentiable=recorded, **options)
        for g in grads:
            p.grad = g.detach()
            optimizer.step()
        ways.append([p, *optimizer.state[p].values()])
    for plain, other in zip(*ways, strict=True):
        np.testing.assert_allclose(plain.numpy(), other.numpy(), rtol=2e-6, atol=1e-7)


def test_a_learning_rate_is_learned() -> None:
    """One step of gradient descent lands in the minimum where the rate is 1/2."""
    rate = wengert.tensor(0.1, requires_grad=True)
    outer = optim.SGD([rate], lr=0.02)
    for _ in range(50):
        start = wengert.tensor([1.0, -2.0], requires_grad=True)
        p = start.clone()
        inner = optim.SGD([p], lr=rate, differentiable=True)
        (p.grad,) = wengert.autograd.grad(p.square().sum(), p, create_graph=True)
        inner.step()
        outer.zero_grad()
        p.square().sum().backward()
        outer.step()
    assert rate.item() == pytest.approx(0.5, abs=1e-3)


def test_leaves_that_require_grad_are_refused() -> None:
    p = wengert.ones(2, requires_grad=True)
    p.grad = wengert.ones(2)
    with pytest.raises(RuntimeError, match="leaf"):
        optim.SGD([p], differentiable=True).step()
    assert p.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["ASGD", "Rprop"])
def test_rates_without_a_gradient_are_refused(name: str) -> None:
    p = wengert.ones(2)
    p.grad = wengert.ones(2)
    rate = wengert.tensor(0.1, requires_grad=True)
    with pytest.raises(NotImplementedError, match="requires grad"):
        getattr(optim, name)([p], lr=rate, differentiable=True).step()


def test_an_optimizer_that_is_fused_has_no_recorded_steps() -> None:
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam([wengert.ones(2)], fused=True, differentiable=True)
