"""`func.grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian`, `linearize` against torch."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.func.compare import Scenario, same

A = np.random.default_rng(0).normal(size=(3, 4))


def data(m: Any) -> Any:
    return m.from_numpy(A.copy())


def smooth(z: Any) -> Any:
    return (z.sin() * z).exp()


def total(z: Any) -> Any:
    return smooth(z).sum()


def through_softmax(z: Any) -> Any:
    return (z.softmax(0).sum(1) * z.mean(1)).exp().sum()


def with_backward(z: Any) -> Any:
    loss = total(z)
    loss.backward()
    return loss


def with_other_backward(m: Any) -> Any:
    w = m.ones(2, requires_grad=True)

    def loss(z: Any) -> Any:
        (w * 2).sum().backward()
        return total(z)

    return loss


def pair(z: Any) -> Any:
    return {"first": z.sin(), "second": [z.sum(0), (z**2).mean()]}


SCENARIOS: dict[str, Scenario] = {
    "grad": lambda m: m.func.grad(total)(data(m)),
    "grad_of_two": lambda m: m.func.grad(lambda a, b: (a * b).sum(), (0, 1))(data(m), data(m) + 1),
    "grad_negative_argnum": lambda m: m.func.grad(lambda a, b: (a * b).sum(), -1)(
        data(m), data(m) + 1
    ),
    "grad_of_tree": lambda m: m.func.grad(lambda p: (p["w"] * p["l"][0]).sum())(
        {"w": data(m), "l": [data(m) + 1]}
    ),
    "grad_aux": lambda m: m.func.grad(lambda a: (total(a), {"aux": a * 2}), has_aux=True)(data(m)),
    "grad_and_value": lambda m: m.func.grad_and_value(total)(data(m)),
    "grad_and_value_aux": lambda m: m.func.grad_and_value(
        lambda a: (total(a), a.cos()), has_aux=True
    )(data(m)),
    "grad_keyword": lambda m: m.func.grad(lambda a, *, k: (a * k).sum())(data(m), k=3.0),
    "grad_unused": lambda m: m.func.grad(lambda a, b: b.sum(), (0, 1))(data(m), data(m)),
    "grad_of_constant": lambda m: m.func.grad(lambda a: m.tensor(3.0))(data(m)),
    "second": lambda m: m.func.grad(m.func.grad(smooth))(data(m)[0, 0]),
    "third": lambda m: m.func.grad(m.func.grad(m.func.grad(smooth)))(data(m)[0, 0]),
    "grad_of_gradient_norm": lambda m: m.func.grad(
        lambda a: (m.func.grad(through_softmax)(a) ** 2).sum()
    )(data(m)),
    "vjp": lambda m: m.func.vjp(smooth, data(m))[1](data(m)),
    "vjp_twice": lambda m: [
        f(data(m)) for _, f in [m.func.vjp(smooth, data(m))] for _ in range(2)
    ],
    "vjp_tree": lambda m: m.func.vjp(pair, data(m))[1](pair(data(m))),
    "vjp_aux": lambda m: m.func.vjp(lambda a: (smooth(a), a), data(m), has_aux=True)[::2],
    "jvp": lambda m: m.func.jvp(through_softmax, (data(m),), (data(m) * 2,)),
    "jvp_tree": lambda m: m.func.jvp(pair, (data(m),), (data(m) * 2,)),
    "jvp_of_two": lambda m: m.func.jvp(
        lambda a, b: a @ b.T, (data(m), data(m) + 1), (data(m) * 2, data(m))
    ),
    "jvp_aux": lambda m: m.func.jvp(
        lambda a: (smooth(a), a + 1), (data(m),), (data(m),), has_aux=True
    ),
    "jvp_constant": lambda m: m.func.jvp(lambda a: m.ones(2), (data(m),), (data(m),)),
    "jvp_strict": lambda m: m.func.jvp(
        lambda a: m.ones(2), (data(m),), (data(m),), strict=True
    ),
    "jvp_of_grad": lambda m: m.func.jvp(m.func.grad(through_softmax), (data(m),), (data(m),)),
    "grad_of_jvp": lambda m: m.func.grad(
        lambda a: m.func.jvp(through_softmax, (a,), (data(m),))[1]
    )(data(m)),
    "jvp_of_jvp": lambda m: m.func.jvp(
        lambda a: m.func.jvp(smooth, (a,), (data(m),))[1], (data(m),), (data(m) + 1,)
    ),
    "jacrev": lambda m: m.func.jacrev(lambda a: smooth(a).sum(0))(data(m)),
    "jacrev_tree": lambda m: m.func.jacrev(pair)(data(m)),
    "jacrev_two": lambda m: m.func.jacrev(lambda a, b: a @ b, (0, 1))(data(m), data(m)[0]),
    "jacrev_chunks": lambda m: m.func.jacrev(smooth, chunk_size=5)(data(m)),
    "jacrev_aux": lambda m: m.func.jacrev(lambda a: (a.sin(), a), has_aux=True)(data(m)),
    "jacfwd": lambda m: m.func.jacfwd(lambda a: smooth(a).sum(0))(data(m)),
    "jacfwd_tree": lambda m: m.func.jacfwd(pair)(data(m)),
    "jacfwd_two": lambda m: m.func.jacfwd(lambda a, b: a @ b, (0, 1))(data(m), data(m)[0]),
    "jacfwd_aux": lambda m: m.func.jacfwd(lambda a: (a.sin(), a), has_aux=True)(data(m)),
    "hessian": lambda m: m.func.hessian(through_softmax)(data(m)),
    "hessian_two": lambda m: m.func.hessian(lambda a, b: (a.sin() * b).sum(), (0, 1))(
        data(m)[0], data(m)[1]
    ),
    "rev_over_rev": lambda m: m.func.jacrev(m.func.jacrev(through_softmax))(data(m)),
    "rev_over_fwd": lambda m: m.func.jacrev(m.func.jacfwd(through_softmax))(data(m)),
    "fwd_over_fwd": lambda m: m.func.jacfwd(m.func.jacfwd(through_softmax))(data(m)),
    "third_jacobian": lambda m: m.func.jacfwd(m.func.hessian(through_softmax))(data(m)[:2, :2]),
    "linearize": lambda m: m.func.linearize(through_softmax, data(m))[1](data(m)),
    "complex_grad": lambda m: m.func.grad(lambda z: (z * z.conj()).abs().sum())(
        m.complex(data(m), data(m) + 1)
    ),
    "complex_jvp": lambda m: m.func.jvp(
        lambda z: (z.exp() * z.conj()).abs() + z.angle(),
        (m.complex(data(m), data(m) + 1),), (m.complex(data(m) * 2, data(m)),),
    ),
    "no_grad_outside": lambda m: m.no_grad()(lambda: m.func.grad(total)(data(m)))(),
    "no_grad_inside": lambda m: m.func.grad(lambda a: (a * m.no_grad()(smooth)(a)).sum())(data(m)),
    "detach_inside": lambda m: m.func.grad(lambda a: (a * a.detach()).sum())(data(m)),
    "detach_in_jvp": lambda m: m.func.jvp(lambda a: a * a.detach(), (data(m),), (data(m),)),
}  # fmt: skip

ERRORS: dict[str, Scenario] = {
    "not_scalar": lambda m: m.func.grad(smooth)(data(m)),
    "not_a_tensor": lambda m: m.func.grad(lambda a: 3.0)(data(m)),
    "argnum": lambda m: m.func.grad(total, 2)(data(m)),
    "complex": lambda m: m.func.grad(lambda a: (a * 1j).sum())(data(m)),
    "jacrev_complex": lambda m: m.func.jacrev(lambda a: a.real)(data(m) * 1j),
    "jacrev_complex_output": lambda m: m.func.jacrev(lambda a: a * 1j)(data(m)),
    "jacfwd_complex": lambda m: m.func.jacfwd(lambda a: a.real)(data(m) * 1j),
    "jacfwd_complex_output": lambda m: m.func.jacfwd(lambda a: a * 1j)(data(m)),
    "integers": lambda m: m.func.grad(lambda a: a.sum())(m.arange(3)),
    "number": lambda m: m.func.vjp(smooth, 3),
    "aux_missing": lambda m: m.func.grad(total, has_aux=True)(data(m)),
    "tangents": lambda m: m.func.jvp(smooth, (data(m),), (data(m), data(m))),
    "tangent_shape": lambda m: m.func.jvp(smooth, (data(m),), (data(m)[0],)),
    "primals": lambda m: m.func.jvp(smooth, data(m), data(m)),
    "cotangents": lambda m: m.func.vjp(lambda a: (a, a), data(m))[1](data(m)),
    "leaf": lambda m: m.func.grad(lambda a: a.add_(1).sum())(data(m)),
    "backward_in_grad": lambda m: m.func.grad(with_backward)(data(m)),
    "backward_in_vjp": lambda m: m.func.vjp(with_backward, data(m)),
    "backward_in_jvp": lambda m: m.func.jvp(with_backward, (data(m),), (data(m),)),
    "backward_in_hessian": lambda m: m.func.hessian(with_backward)(data(m)),
    "other_backward_in_grad": lambda m: m.func.grad(with_other_backward(m))(data(m)),
    "other_backward_in_vmap": lambda m: m.func.vmap(with_other_backward(m))(data(m)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", SCENARIOS)
def test_equals_torch(name: str, torch: Any) -> None:
    same(SCENARIOS[name], torch)


@pytest.mark.torch
@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_torchs_class(name: str, torch: Any) -> None:
    same(ERRORS[name], torch, words=12)


class TestOuterGraph:
    def test_a_captured_tensor_gets_its_gradient(self) -> None:
        w = wengert.tensor([2.0, 3.0], requires_grad=True)
        x = wengert.tensor([1.0, 4.0])
        wengert.func.grad(lambda a: (a * a * w).sum())(x).sum().backward()
        assert w.grad.tolist() == [2.0, 8.0]

    def test_an_input_that_requires_grad_gets_its_gradient(self) -> None:
        x = wengert.tensor([1.0, 2.0], requires_grad=True)
        wengert.func.grad(lambda a: (a**3).sum())(x).sum().backward()
        assert x.grad.tolist() == [6.0, 12.0]

    def test_the_value_stays_connected(self) -> None:
        x = wengert.tensor(2.0, requires_grad=True)
        _, value = wengert.func.grad_and_value(lambda a: a**3)(x)
        value.backward()
        assert x.grad.item() == 12.0

    def test_nothing_is_recorded_without_an_outer_graph(self) -> None:
        g, value = wengert.func.grad_and_value(lambda a: (a**3).sum())(wengert.ones(2))
        assert not g.requires_grad
        assert not value.requires_grad

    def test_nothing_is_recorded_under_no_grad(self) -> None:
        x = wengert.tensor([1.0, 2.0], requires_grad=True)
        with wengert.no_grad():
            g = wengert.func.grad(lambda a: (a**3).sum())(x)
        assert g.tolist() == [3.0, 12.0]
        assert not g.requires_grad

    def test_linearize_runs_the_function_once(self) -> None:
        calls = []

        def f(x: Any) -> Any:
            calls.append(1)
            return x.sin()

        _, push = wengert.func.linearize(f, wengert.zeros(2))
        push(wengert.ones(2))
        assert push(wengert.tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
        assert len(calls) == 1


class TestBackwardInside:
    def test_is_refused_where_it_is_called(self) -> None:
        with pytest.raises(wengert.autograd.GraphError) as raised:
            wengert.func.grad(with_backward)(wengert.ones(2))
        assert "this call: backward()" in str(raised.value)
        assert "loss.backward()\n" in str(raised.value)
        assert str(raised.value).endswith("wengert explain inside-transform")

    def test_changes_nothing(self) -> None:
        w = wengert.ones(2, requires_grad=True)
        product = (w * 2).sum()

        def loss(z: Any) -> Any:
            product.backward()
            return z.sum()

        with pytest.raises(wengert.autograd.GraphError, match="functorch transform"):
            wengert.func.grad(loss)(wengert.ones(2))
        assert w.grad is None
        product.backward()
        assert w.grad.tolist() == [2.0, 2.0]

    def test_passes_where_code_is_followed_as_it_stands(self) -> None:
        w = wengert.ones(2, requires_grad=True)
        with wengert.autograd.forward_ad.dual_level():
            (w * 2).sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]


def test_graphs_go_with_the_function() -> None:
    gc.disable()
    try:
        value, pull = wengert.func.vjp(lambda a: a.exp().sin(), wengert.ones(3))
        pull(wengert.ones(3))
        kept = weakref.ref(pull)
        del value, pull
        assert kept() is None
        made: list[Any] = []

        def f(a: Any) -> Any:
            made.append(weakref.ref(a))
            return wengert.func.grad(lambda b: (b * b * a).sum())(a).sum()

        wengert.vmap(wengert.func.grad(f))(wengert.ones(2, 3))
        wengert.func.jvp(f, (wengert.ones(3),), (wengert.ones(3),))
        assert [r() for r in made] == [None, None]
    finally:
        gc.enable()
