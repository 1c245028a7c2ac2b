"""Cotangents of several consumers are added in memory that is the walk's own, and no other."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert import Tensor
from wengert.core.cotangents import add_cotangents
from wengert.kernels.jit import available
from wengert.kernels.products import matmul as product
from wengert.nn import functional as F
from wengert.ops import linear

SIZE = (70, 70)


@pytest.fixture
def x() -> Tensor:
    wengert.manual_seed(0)
    return wengert.randn(SIZE, requires_grad=True)


def test_only_memory_that_nothing_else_refers_to_is_used() -> None:
    def added(here: np.ndarray, other: np.ndarray) -> tuple[bool, np.ndarray]:
        pending = {0: here}
        del here
        value = pending[0]
        result = add_cotangents(value, other)
        return result is value, result

    ones = np.ones(SIZE, np.float32)
    base = np.ones((2, *SIZE), np.float32)
    frozen = np.ones(SIZE, np.float32)
    frozen.flags.writeable = False
    cases = [
        (ones, ones),
        (base[0], ones),
        (frozen, ones),
        (np.ones(SIZE, np.float32), ones.astype(np.float64)),
        (np.ones(SIZE, np.float32), ones[:1]),
    ]
    for here, other in cases:
        taken, result = added(here, other)
        assert not taken
        assert (result == 2).all()
    assert (ones == 1).all()
    assert (base == 1).all()


def test_sums_use_the_memory_of_the_walk(x: Tensor) -> None:
    pending = {0: np.ones(SIZE, np.float32)}
    here = pending[0]
    assert add_cotangents(here, np.ones(SIZE, np.float32)) is here
    assert (here == 2).all()
    h = x * 2
    (h.exp() + h.sin() + h.square() + h.cos()).backward(wengert.ones(SIZE))
    values = 2 * x.detach().double()
    exact = 2 * (values.exp() + values.cos() + 2 * values - values.sin())
    wengert.testing.assert_close(x.grad, exact.float())


def test_a_gradient_that_was_given_stays_as_it_is(x: Tensor) -> None:
    g = wengert.ones(SIZE)
    (x + x + x).backward(g)
    assert (g == 1).all()
    assert (x.grad == 3).all()


def test_gradients_that_are_retained_or_seen_by_hooks_stay_as_they_are(x: Tensor) -> None:
    seen: list[Tensor] = []
    a = x * 1
    b, c = a + 0, a * 5
    b.retain_grad()
    b.register_hook(seen.append)  # what arrives at `b` goes on to `a`, which `c` adds to
    (b * 2 + c).sum().backward()
    assert (b.grad == 2).all()
    assert (seen[0] == 2).all()
    assert (x.grad == 7).all()


class Kept(wengert.autograd.Function):
    """Returns an array that it keeps, for both of its inputs."""

    array = np.ones(SIZE, np.float32)

    @staticmethod
    def forward(ctx, a, b):  # type: ignore[no-untyped-def]
        return a + b

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        kept = wengert.from_numpy(Kept.array)
        return kept, kept


def test_gradients_that_a_function_keeps_stay_as_they_are(x: Tensor) -> None:
    a, b = x * 1, x * 1
    (Kept.apply(a, b) + a.square() + b.square()).sum().backward()  # type: ignore[no-untyped-call]
    assert (Kept.array == 1).all()
    wengert.testing.assert_close(x.grad, 2 + 4 * x.detach())


def test_saved_arrays_stay_as_they_are(x: Tensor) -> None:
    y = (x.exp() * x).tanh().exp()
    loss = (y + y * y + x * y).sum()
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    x.grad = None
    loss.backward()
    assert wengert.equal(x.grad, first)


@pytest.mark.parametrize("dtype", [wengert.float32, wengert.float64])
def test_gradients_of_a_weight_that_is_used_again_are_added_by_the_product(
    dtype: wengert.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = []

    def add_product(total: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
        grown.append(product.add_product(total, a, b))
        return grown[-1]

    monkeypatch.setattr(linear, "add_product", add_product)
    wengert.manual_seed(0)
    weight = wengert.randn(96, 80, dtype=dtype, requires_grad=True)
    other = wengert.randn(80, 64, dtype=dtype, requires_grad=True)
    inputs = [wengert.randn(8, 16, 80, dtype=dtype) for _ in range(4)]
    sums = [F.linear(x, weight).tanh().sum() + (x @ other).tanh().sum() for x in inputs]
    (sums[0] + sums[1] + sums[2] + sums[3]).backward()
    assert grown == [True] * 3 or not available()
    for weights, function in ((weight, lambda w, x: x @ w.T), (other, lambda w, x: x @ w)):
        exact = weights.detach().double().requires_grad_()
        for x in inputs:  # one walk each
            function(exact, x.double()).tanh().sum().backward()
        bound = 1e-4 if dtype == wengert.float32 else 1e-10
        wengert.testing.assert_close(weights.grad.double(), exact.grad, rtol=bound, atol=bound)


def test_a_gradient_that_a_hook_has_seen_does_not_grow() -> None:
    weight = wengert.ones(96, 96, requires_grad=True)
    seen: list[Tensor] = []
    (copy := weight * 1).register_hook(seen.append)
    x = wengert.ones(96, 96)
    (F.linear(x, copy) + F.linear(x, weight) + F.linear(x, copy)).sum().backward()
    assert (seen[0] == 2 * 96).all()
    assert (weight.grad == 3 * 96).all()
