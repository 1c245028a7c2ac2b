"""Products with factors that are zero: derivatives of every order are those of the polynomial."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert

Terms = list[tuple[tuple[int, ...], float]]


def _zeros(n: int) -> Any:
    return wengert.zeros(n, dtype=wengert.int64)


def _all(n: int) -> Terms:
    return [(tuple(range(n)), 1.0)]


def _ones() -> Any:
    return wengert.ones(2, dtype=wengert.float64)


# Each with the terms of its sum: which factors, with what coefficient.
PRODUCTS: dict[str, tuple[Callable[[Any], Any], Callable[[int], Terms]]] = {
    "prod": (lambda t: t.prod(), _all),
    "prod of rows": (lambda t: t[None].prod(1).sum(), _all),
    "cumprod": (
        lambda t: (t.cumprod(0) * wengert.arange(1.0, len(t) + 1)).sum(),
        lambda n: [(tuple(range(k + 1)), k + 1.0) for k in range(n)],
    ),
    "scatter_reduce": (
        lambda t: _ones().scatter_reduce(0, _zeros(len(t)), t, "prod").sum(), _all,
    ),
    "scatter_reduce with self": (
        lambda t: t[:1].scatter_reduce(0, _zeros(len(t) - 1), t[1:], "prod").sum(), _all,
    ),
    "scatter_reduce without self": (
        lambda t: _ones().scatter_reduce(
            0, _zeros(len(t)), t, "prod", include_self=False
        ).sum(), _all,
    ),
    "scatter": (
        lambda t: t[:1].scatter(0, _zeros(len(t) - 1), t[1:], reduce="multiply").sum(), _all,
    ),
    "index_reduce": (
        lambda t: t[:1].index_reduce(0, _zeros(len(t) - 1), t[1:], "prod").sum(), _all,
    ),
    "two places": (
        lambda t: _ones().scatter_reduce(0, wengert.arange(len(t)) % 2, t, "prod").sum(),
        lambda n: [(tuple(range(0, n, 2)), 1.0), (tuple(range(1, n, 2)), 1.0)],
    ),
}  # fmt: skip


def polynomial(x: tuple[float, ...], terms: Terms, order: int) -> np.ndarray:
    """All derivatives of one order of a sum of products of different factors."""
    found = np.zeros((len(x),) * order)
    for by in itertools.product(range(len(x)), repeat=order):
        if len(set(by)) == order:
            found[by] = sum(
                c * math.prod(x[i] for i in factors if i not in by)
                for factors, c in terms
                if set(by) <= set(factors)
            )
    return found


def derivatives(function: Callable[[Any], Any], x: tuple[float, ...], order: int) -> np.ndarray:
    """The same by walks over walks."""
    t = wengert.tensor(x, dtype=wengert.float64, requires_grad=True)

    def of(value: Any, depth: int) -> Any:
        if not depth:
            return value.item()
        (g,) = (
            wengert.autograd.grad(
                value, [t], create_graph=True, allow_unused=True, materialize_grads=True
            )
            if value.requires_grad
            else (wengert.zeros(len(x)),)
        )
        return [of(g[i], depth - 1) for i in range(len(x))]

    return np.array(of(function(t), order))


@pytest.mark.parametrize("name", PRODUCTS)
def test_derivatives_are_those_of_the_polynomial(name: str) -> None:
    function, terms = PRODUCTS[name]
    points = [*itertools.product((0.0, 2.0), repeat=3), (0.0, 0.0, 0.0, 5.0)]
    for x in points:
        for order in (1, 2, 3):
            np.testing.assert_allclose(
                derivatives(function, x, order), polynomial(x, terms(len(x)), order), atol=1e-12
            )


def test_zeros_of_each_sample_of_a_batch() -> None:
    x = wengert.tensor([[0.0, 0.0, 2.0, 3.0], [0.0, 4.0, 2.0, 0.0], [1.0, 4.0, 2.0, 3.0]])
    index = wengert.tensor([[0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])

    def product(x: Any, index: Any) -> Any:
        return wengert.ones(2).scatter_reduce(0, index, x, "prod").sum()

    together = wengert.vmap(wengert.func.hessian(product))(x, index)
    alone = [wengert.func.hessian(product)(*pair) for pair in zip(x, index, strict=True)]
    assert together.tolist() == wengert.stack(alone).tolist()
    assert together[0, 0, 1].item() == 2.0


def test_complex_factors() -> None:
    x = wengert.tensor([1 + 2j, 0, 0, 3 - 1j], dtype=wengert.complex128, requires_grad=True)
    own = wengert.tensor([2j, 1], dtype=wengert.complex128, requires_grad=True)

    def product(x: Any, own: Any) -> Any:
        return own.scatter_reduce(0, wengert.tensor([0, 0, 0, 1]), x, "prod")

    assert wengert.autograd.gradcheck(product, (x, own))
    assert wengert.autograd.gradgradcheck(product, (x, own))
