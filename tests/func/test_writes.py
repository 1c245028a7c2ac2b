"""In-place writes under transforms: what shares the written memory has its derivative too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.compare import Scenario, same
from wengert import func

X = np.array([1.0, 2.0, 3.0])


def point(m: Any) -> Any:
    return m.tensor(X)


def to_view(m: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    v = x[0]
    v.copy_(y)
    return x


def to_base(m: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    v = x[0]
    x.copy_(y)
    return v


def to_base_out_of_order(m: Any, x: Any, y: Any) -> Any:
    x = x.clone().t()
    v = x[1:]
    x.mul_(y)
    v.add_(y * 1)
    return x


def to_sibling(m: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    first, second = x[0], x[1]
    whole = x.view(-1)
    whole[:2] = y
    return first * second


def through_index(m: Any, x: Any, y: Any) -> Any:
    x = x.clone()
    v = x[1:]
    v.index_put_((m.tensor([0]),), y * y)
    return x


def batched_constant(write: Any, shape: tuple[int, ...]) -> Scenario:
    """vmap of jvp, where a batch that has no tangent is written with values that have one."""

    def scenario(m: Any) -> Any:
        constants = m.arange(float(2 * np.prod(shape))).to(m.float64).reshape(2, *shape)
        values, tangents = m.tensor([4.0, 5.0]), m.tensor([1.0, 10.0])
        values, tangents = values.to(m.float64), tangents.to(m.float64)

        def along(x: Any, y: Any, t: Any) -> Any:
            return m.func.jvp(lambda y: write(m, x, y), (y,), (t,))

        return m.func.vmap(along)(constants, values, tangents)

    return scenario


def graded(write: Any, shape: tuple[int, ...]) -> Scenario:
    """vmap of jacrev, of the same."""

    def scenario(m: Any) -> Any:
        constants = m.arange(float(2 * np.prod(shape))).to(m.float64).reshape(2, *shape)
        values = m.tensor([4.0, 5.0]).to(m.float64)
        return m.func.vmap(lambda x, y: m.func.jacrev(lambda y: write(m, x, y))(y))(
            constants, values
        )

    return scenario


def laid_out_otherwise(m: Any) -> Any:
    tangent = m.arange(6.0).reshape(3, 2).t()

    def f(x: Any) -> Any:
        y = x * 2
        v = y.view(6)
        v[1] = 7.0
        return y, v

    return m.func.jvp(f, (m.zeros(2, 3),), (tangent,))


def expanded_tangent(m: Any) -> Any:
    return m.func.jvp(lambda x: x.mul_(3), (m.ones(2),), (m.ones(1).expand(2),))


def complex_parts(m: Any) -> Any:
    def f(x: Any) -> Any:
        z = m.complex(x, x).clone()
        z.real.mul_(x)
        m.view_as_real(z)[..., 1].copy_(x * x)
        return (z * z).imag.sum()

    return m.func.vmap(m.func.grad(f))(point(m)[None]), m.func.hessian(f)(point(m))


def under_no_grad(m: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        with m.no_grad():
            y[0] = 5.0
            y[1:].copy_(x[1:] * 2)
        return (y * y).sum()

    return m.func.vmap(m.func.grad(f))(point(m)[None]), m.func.hessian(f)(point(m))


def detached(m: Any) -> Any:
    return m.func.jvp(lambda x: (x * 1).detach_() * x, (point(m),), (m.ones(3).to(m.float64),))


SCENARIOS = {
    f"{kind.__name__}: {write.__name__}": kind(write, shape)
    for kind, write, shape in (
        (batched_constant, to_view, (3,)), (graded, to_view, (3,)),
        (batched_constant, to_base, (3,)), (graded, to_base, (3,)),
        (batched_constant, through_index, (3,)), (graded, through_index, (3,)),
        (batched_constant, to_base_out_of_order, (3, 2)), (graded, to_sibling, (3,)),
    )
} | {
    f.__name__: f
    for f in (laid_out_otherwise, expanded_tangent, complex_parts, under_no_grad, detached)
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", SCENARIOS)
def test_equals_torch(name: str, torch: Any) -> None:
    import torch.autograd.forward_ad

    same(SCENARIOS[name], torch)


def asks(m: Any, call: Any) -> Any:
    def f(x: Any) -> Any:
        call(x)
        return (x * x).sum()

    return m.func.vmap(m.func.grad(f))(point(m)[None])


def view_made_under_no_grad(m: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        with m.no_grad():
            v = y[0]
        v.copy_(x[1])
        return (y * y).sum()

    return m.func.vmap(m.func.grad(f))(point(m)[None])


def saved(m: Any) -> Any:
    def f(x: Any) -> Any:
        y = x * 1
        z = y[:2] * y[:2]
        y[1:].add_(1)
        return z.sum()

    return m.func.vmap(m.func.grad(f))(point(m)[None])


def of_functional(name: str, **options: Any) -> Scenario:
    def scenario(m: Any) -> Any:
        def f(x: Any) -> Any:
            args = () if name in ("vjp", "jacobian", "hessian") else (m.ones_like(x),)
            found = getattr(m.autograd.functional, name)(
                lambda x: (x**3).sum(), x, *args, **options
            )
            return (found[1] if isinstance(found, tuple) else found).sum()

        return m.func.grad(f)(point(m))

    return scenario


REFUSED: dict[str, Scenario] = {
    "requires_grad_": lambda m: asks(m, lambda x: m.ones(2).requires_grad_()),
    "requires_grad_ of the input": lambda m: asks(m, lambda x: x.requires_grad_()),
    "retain_grad": lambda m: asks(m, lambda x: x.retain_grad()),
    "view_made_under_no_grad": view_made_under_no_grad,
    "saved": saved,
} | {
    f"functional.{name}": of_functional(name)
    for name in ("vjp", "jvp", "vhp", "hvp", "jacobian", "hessian")
}


@pytest.mark.torch
@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_in_torch(name: str, torch: Any) -> None:
    same(REFUSED[name], torch)


@pytest.mark.parametrize("name", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_functional_with_a_graph_inside_of_grad(name: str) -> None:
    hessian = name in ("vhp", "hvp", "hessian")
    found = of_functional(name, create_graph=True)(wengert)
    assert found.tolist() == [6.0] * 3 if hessian else (6 * X).tolist()


def test_one_tangent_for_two_primals_is_two_tangents() -> None:
    t = wengert.ones(2)
    _, along = func.jvp(lambda x, y: x.mul_(3) + y, (wengert.ones(2), wengert.ones(2)), (t, t))
    assert along.tolist() == [4.0, 4.0]


def test_memory_is_not_replaced() -> None:
    def along(f: Any) -> Any:
        return lambda x: func.jvp(f, (x,), (x,))

    for transform in (func.vmap, along):
        with pytest.raises(RuntimeError, match="memory of a tensor cannot be replaced"):
            transform(lambda x: (x * 1).set_(wengert.ones(3)))(wengert.ones(3))
        with pytest.raises(RuntimeError, match="memory of a tensor cannot be replaced"):
            transform(lambda x: setattr(x * 1, "data", wengert.ones(3)))(wengert.ones(3))
    with pytest.raises(RuntimeError, match="memory of a tensor cannot be replaced"):
        along(lambda x: (x * 1).resize_(1))(wengert.ones(3))


def test_a_tensor_with_views_cannot_lose_its_tangent() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        view = y[0]
        return y.detach_(), view

    with pytest.raises(RuntimeError, match="use detach"):
        func.jvp(f, (wengert.ones(2),), (wengert.ones(2),))


@contextmanager
def dual_level() -> Iterator[Any]:
    from wengert.autograd import forward_ad

    with forward_ad.dual_level():
        yield forward_ad


def test_memory_beyond_the_base_is_refused() -> None:
    with dual_level() as forward_ad:
        d = forward_ad.make_dual(wengert.ones(2), wengert.ones(2))
        base = wengert.from_numpy(np.zeros(6, np.float32)[2:4])
        before = base.as_strided((2,), (1,), 0)
        with pytest.raises(RuntimeError, match="beyond its own"):
            base.add_(d)
        assert before.tolist() == [0.0, 0.0]
        assert base.tolist() == [0.0, 0.0]
