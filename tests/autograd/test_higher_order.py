"""Derivatives of derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert


def test_every_order_of_a_power() -> None:
    x = wengert.tensor(2.0, dtype=wengert.float64, requires_grad=True)
    y = x**5
    expected = [5 * 2.0**4, 20 * 2.0**3, 60 * 2.0**2, 120 * 2.0, 120.0]
    for value in expected:
        (y,) = wengert.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(value)


def test_third_derivative_of_tanh() -> None:
    x = wengert.tensor([0.3, 0.5], dtype=wengert.float64, requires_grad=True)
    y = x.tanh()
    for _ in range(3):
        (y,) = wengert.autograd.grad(y.sum(), x, create_graph=True)
    t = np.tanh(x.detach().numpy())
    np.testing.assert_allclose(y.detach().numpy(), -2 * (1 - t * t) * (1 - 3 * t * t), rtol=1e-12)


def test_gradient_penalty() -> None:
    w = wengert.tensor([1.0, -2.0], dtype=wengert.float64, requires_grad=True)
    x = wengert.tensor([0.5, 0.25], dtype=wengert.float64, requires_grad=True)
    (g,) = wengert.autograd.grad((w * x * x).sum(), x, create_graph=True)
    (g * g).sum().backward()  # sum 4 w^2 x^2
    np.testing.assert_allclose(w.grad.numpy(), 8 * np.array([1.0, -2.0]) * [0.25, 0.0625])
    np.testing.assert_allclose(x.grad.numpy(), 8 * np.array([1.0, 4.0]) * [0.5, 0.25])


def test_backward_with_create_graph_leaves_a_differentiable_grad() -> None:
    x = wengert.tensor(3.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    x.grad = None
    g.backward()
    assert x.grad.item() == 18.0


def test_create_graph_retains() -> None:
    x = wengert.tensor(3.0, requires_grad=True)
    y = x**3
    wengert.autograd.grad(y, x, create_graph=True)
    y.backward()
    assert x.grad.item() == 27.0


@pytest.mark.torch
def test_hessian_vector_product_of_an_mlp(torch: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s) for s in ((4, 5), (5, 6), (6,), (6, 1))]

    def product(t: Any) -> list[np.ndarray]:
        x, a, b, c = (t.from_numpy(v.copy()).requires_grad_() for v in arrays)
        loss = (((x @ a + b).tanh() @ c) ** 2).mean()
        grads = t.autograd.grad(loss, [a, b, c], create_graph=True)
        dot = sum((g * t.cos(p)).sum() for g, p in zip(grads, [a, b, c], strict=True))
        return [g.numpy() for g in t.autograd.grad(dot, [x, a, b, c])]

    for ours, theirs in zip(product(wengert), product(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_recorded_gradients_are_tensors_of_their_own() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = wengert.ones(3, requires_grad=True)
    (x + y).sum().backward(create_graph=True)
    assert x.grad is not y.grad
    with wengert.no_grad():
        x.grad.zero_()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert y.grad.tolist() == [1.0, 1.0, 1.0]
