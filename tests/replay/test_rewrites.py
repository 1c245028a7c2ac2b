"""What passes make of programs, and what they leave alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.test_random_programs import clear, descend, random_step
from wengert import compiler, nn
from wengert.nn import functional as F


def two_heads() -> tuple[nn.ModuleList, Callable[[Any], Any]]:
    trunk = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 16), nn.Tanh(),
    )  # fmt: skip
    first, second = nn.Linear(16, 4), nn.Linear(16, 1)
    model = nn.ModuleList([trunk, first, second])
    target = wengert.arange(4)

    def step(x: wengert.Tensor) -> wengert.Tensor:
        model.zero_grad()
        features = trunk(x)
        loss = F.cross_entropy(first(features), target)
        loss.backward(retain_graph=True)
        (second(features).square().mean() / 2).backward()
        return loss

    return model, step


def count(step: Any, name: str) -> int:
    return max(text.count(f"= {name}(") for text in step.graph().split("\n\n"))


def test_backwards_of_several_losses_go_through_their_trunk_once() -> None:
    model, step = two_heads()
    stepping = compiler.compile(step)
    for _ in range(5):
        x = wengert.randn(4, 3, 16, 16)
        stepping(x)
        ours = [p.grad.numpy().copy() for p in model.parameters()]
        step(x)
        for a, p in zip(ours, model.parameters(), strict=True):
            np.testing.assert_allclose(a, p.grad.numpy(), rtol=1e-4, atol=1e-6)
    assert count(stepping, "conv_backward_weight") == 2
    assert count(stepping, "conv_backward_input") == 1
    assert count(stepping, "max_pool_backward_input") == 1


def test_a_gradient_that_is_read_between_two_backwards_is_computed_by_itself() -> None:
    w = wengert.randn(16, 16, requires_grad=True)

    def step(x: wengert.Tensor) -> tuple[wengert.Tensor, wengert.Tensor]:
        w.grad = None
        hidden = (x @ w).tanh()
        hidden.sum().backward(retain_graph=True)
        between = w.grad.clone()
        hidden.square().sum().backward()
        return between, w.grad

    stepping = compiler.compile(step)
    for _ in range(5):
        x = wengert.randn(8, 16)
        ours = [t.numpy().copy() for t in stepping(x)]
        for a, b in zip(ours, step(x), strict=True):
            np.testing.assert_allclose(a, b.numpy(), rtol=1e-5, atol=1e-5)


def test_exact_programs_keep_both_backwards() -> None:
    model, step = two_heads()
    stepping = compiler.compile(step, options={"exact": True})
    for _ in range(4):
        x = wengert.randn(4, 3, 16, 16)
        stepping(x)
        ours = [p.grad.numpy().copy() for p in model.parameters()]
        step(x)
        for a, p in zip(ours, model.parameters(), strict=True):
            np.testing.assert_array_equal(a, p.grad.numpy())
    assert count(stepping, "conv_backward_weight") == 4


@pytest.mark.parametrize("seed", range(16))
def test_exact_programs_give_the_bits_of_eager_mode(seed: int) -> None:
    def numbers(wrap: Callable[[Any], Any]) -> list[Any]:
        wengert.manual_seed(0)
        random.seed(0)
        log: list[Any] = []
        weights = [wengert.randn(16, 16) / 4 for _ in range(3)] + [wengert.randn(16) / 4]
        for w in weights:
            w.requires_grad_()
        step = wrap(random_step(seed, weights, log))
        for k in range(8):
            clear(weights)
            try:
                found = step(wengert.randn(300 if k == 6 else 32, 16), k)
            except RuntimeError:  # a saved value was overwritten
                continue
            log += [t.detach().numpy().copy() for t in found]
            log += [w.grad.numpy().copy() for w in weights if w.grad is not None]
            descend(weights)
        return log

    eager = numbers(lambda f: f)
    ours = numbers(lambda f: compiler.compile(f, options={"exact": True}))
    assert len(ours) == len(eager)
    for a, b in zip(ours, eager, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("gram", [
    lambda x: x @ x.mT,
    lambda x: x.mT @ x,
    lambda x: x[0] @ x[0].t(),
    lambda x: x.transpose(0, 1)[1].T @ x.transpose(0, 1)[1],
])  # fmt: skip
@pytest.mark.parametrize("others", [False, True])
def test_the_gradient_of_a_gram_matrix_is_one_product(gram: Any, others: bool) -> None:
    x = wengert.randn(2, 5, 7, dtype=wengert.float64, requires_grad=True)

    def step() -> wengert.Tensor:
        features = x.tanh()
        loss = (gram(features) ** 3).mean()
        if others:
            loss = loss + features.square().mean() + features.exp().mean()
        (gradient,) = wengert.autograd.grad(loss, x)
        return gradient

    stepping = compiler.compile(step)
    for _ in range(5):
        np.testing.assert_allclose(stepping().numpy(), step().numpy(), rtol=1e-12)
    names = "matmul_backward_input", "matmul_backward_other"
    assert sum(count(stepping, name) for name in names) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: wengert.randn(1, 37).expand(41, 37),
        lambda: wengert.randn(41, 1).expand(41, 37),
        lambda: wengert.randn(41, 74)[:, ::2],
        lambda: wengert.randn(37, 41).t(),
    ],
)
def test_exact_programs_read_copies_as_they_lie(make: Callable[[], wengert.Tensor]) -> None:
    @compiler.compile(options={"exact": True})
    def stepping(x: wengert.Tensor) -> list[wengert.Tensor]:
        return numbers(x)

    def numbers(x: wengert.Tensor) -> list[wengert.Tensor]:
        return [x.sum(), x.mean(1), x[1:].sum(0), x.norm(), x.logsumexp(0)]

    for _ in range(5):
        x = make()  # a view of memory that another array has
        for ours, eager in zip(stepping(x), numbers(x), strict=True):
            np.testing.assert_array_equal(ours.numpy(), eager.numpy())


@pytest.mark.parametrize(("steps", "parts"), [(6, 1), (40, 4)])
def test_time_steps_join_products_of_some_hundred_rows(steps: int, parts: int) -> None:
    """Those of all steps at once would be as much memory as the steps need by themselves."""
    inner, outer = nn.Linear(16, 1024, bias=False), nn.Linear(1024, 16)
    model, x = nn.ModuleList([inner, outer]), wengert.randn(steps, 20, 16)

    def step(x: wengert.Tensor) -> list[wengert.Tensor]:
        model.zero_grad()
        h = wengert.zeros(20, 16)
        for now in x:
            h = (outer((inner(now) + inner(h)).tanh()) + h).tanh()
        h.square().mean().backward()
        return [p.grad for p in model.parameters()]

    expected = step(x)
    stepping = compiler.compile(step)
    for _ in range(4):
        for found, value in zip(stepping(x), expected, strict=True):
            wengert.testing.assert_close(found, value, rtol=1e-4, atol=1e-5)
    assert count(stepping, "joint_linear") == parts
    assert count(stepping, "joint_rows") == 1  # of 16 numbers each
    assert count(stepping, "joint_weight") >= 2 * parts
