"""`forward_ad` against torch: levels, duals, in-place writes, views, reverse mode through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.compare import Scenario, same


def along(m: Any, f: Callable[[Any], Any]) -> Any:
    """Value and tangent of `f` at (1, 2, 3) along (2, 4, 6)."""
    x = m.tensor([1.0, 2.0, 3.0], dtype=m.float64)
    with m.autograd.forward_ad.dual_level():
        return tuple(
            m.autograd.forward_ad.unpack_dual(f(m.autograd.forward_ad.make_dual(x, x * 2)))
        )


def into_zeros(m: Any) -> Any:
    def f(d: Any) -> Any:
        y = m.zeros(3, dtype=m.float64)
        y[1] = d[0] * 3
        return y

    return f


def through_view(d: Any) -> Any:
    y = d * 2
    v = y[0]
    v.mul_(5)
    return y


def into_views(m: Any) -> Any:
    def f(d: Any) -> Any:
        y = m.zeros(2, 3, dtype=m.float64)
        row, column = y[0], y[:, 1]
        row += d
        y[1][2] = d[0]
        column.mul_(3)
        return y * 1 + row.sum()

    return f


def not_through_alias(d: Any) -> Any:
    y = d + 0
    y[0].mul_(5)
    return d


def backward_of_tangent(m: Any) -> Any:
    x = m.ones(3, requires_grad=True)
    with m.autograd.forward_ad.dual_level():
        d = m.autograd.forward_ad.make_dual(x, m.arange(3.0))
        m.autograd.forward_ad.unpack_dual(d**3).tangent.sum().backward()
    return x.grad


def backward_of_dual(m: Any) -> Any:
    x = m.ones(3, requires_grad=True)
    with m.autograd.forward_ad.dual_level():
        (m.autograd.forward_ad.make_dual(x, m.arange(3.0)) ** 3).sum().backward()
    return x.grad


def after_the_level(m: Any) -> Any:
    with m.autograd.forward_ad.dual_level():
        d = m.autograd.forward_ad.make_dual(m.ones(2), m.ones(2))
    return m.autograd.forward_ad.unpack_dual(d), d + 1, m.stack([d, d]), d.unbind()


def module(m: Any) -> Any:
    net = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.Tanh(), m.nn.Linear(4, 2)).double()
    with m.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_((m.arange(p.numel(), dtype=m.float64).reshape(p.shape) + k).sin())
    return along(m, net)


SCENARIOS: dict[str, Scenario] = {
    "product": lambda m: along(m, lambda d: d * d),
    "number": lambda m: along(m, lambda d: 1 / (d + 2)),
    "in_place": lambda m: along(m, lambda d: (d * 1).add_(d).mul_(3)),
    "in_place_function": lambda m: along(m, lambda d: (d * 1).sigmoid_()),
    "into_zeros": lambda m: along(m, into_zeros(m)),
    "into_views": lambda m: along(m, into_views(m)),
    "into_views_of_columns": lambda m: m.func.jacfwd(into_views(m))(m.arange(3.0).double()),
    "into_views_again": lambda m: m.func.jvp(
        lambda x: m.func.jvp(into_views(m), (x * x,), (x,))[1],
        (m.arange(3.0).double(),),
        (m.ones(3, dtype=m.float64),),
    ),
    "through_view": lambda m: along(m, through_view),
    "not_through_alias": lambda m: along(m, not_through_alias),
    "detach": lambda m: along(m, lambda d: d.detach()),
    "no_grad": lambda m: along(m, m.no_grad()(lambda d: d * d)),
    "module": module,
    "backward_of_tangent": backward_of_tangent,
    "backward_of_dual": backward_of_dual,
    "after_the_level": after_the_level,
    "unpack_outside": lambda m: m.autograd.forward_ad.unpack_dual(m.ones(2))[0],
    "item": lambda m: [along(m, lambda d: d * d[0].item())],
}

ERRORS: dict[str, Scenario] = {
    "no_level": lambda m: m.autograd.forward_ad.make_dual(m.ones(1), m.ones(1)),
    "shape": lambda m: along(m, lambda d: m.autograd.forward_ad.make_dual(m.ones(3), m.ones(2))),
    "integer": lambda m: along(m, lambda d: m.autograd.forward_ad.make_dual(m.arange(3), d)),
    "twice": lambda m: along(m, lambda d: m.autograd.forward_ad.make_dual(d, d)),
    "nested": lambda m: along(m, lambda d: m.autograd.forward_ad.enter_dual_level()),
    "exit": lambda m: m.autograd.forward_ad.exit_dual_level(),
}


@pytest.fixture(autouse=True)
def _oracle(request: pytest.FixtureRequest) -> None:
    if "torch" in request.fixturenames:
        import torch.autograd.forward_ad  # noqa: F401


@pytest.mark.torch
@pytest.mark.parametrize("name", SCENARIOS)
def test_equals_torch(name: str, torch: Any) -> None:
    same(SCENARIOS[name], torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_torchs_class(name: str, torch: Any) -> None:
    same(ERRORS[name], torch)


def test_a_view_of_what_becomes_dual_has_its_tangent_in_any_order_of_memory() -> None:
    with wengert.autograd.forward_ad.dual_level():
        tangent = wengert.arange(6.0).reshape(2, 3)
        d = wengert.autograd.forward_ad.make_dual(wengert.ones(2, 3), tangent)
        y = wengert.from_numpy(np.zeros((6, 2), np.float32)[::2].T)
        v = y[:1]
        y.add_(d)
        assert wengert.autograd.forward_ad.unpack_dual(v).tangent.tolist() == [[0.0, 1.0, 2.0]]
        v.mul_(2)
        assert wengert.autograd.forward_ad.unpack_dual(y).tangent.tolist() == [
            [0.0, 2.0, 4.0],
            [3.0, 4.0, 5.0],
        ]
