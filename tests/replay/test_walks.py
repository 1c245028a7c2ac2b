"""Backwards and gradients of all kinds: steps of programs, and the same as in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.replay.harness import Log, batch, compare, mlp, state
from wengert import autograd, nn
from wengert.compiler import compile as compiled
from wengert.compiler import explain
from wengert.nn import functional as F

Step = Callable[[nn.Sequential, Any, Any], Any]


def gradients(model: nn.Sequential, *args: Any, **kwargs: Any) -> list[Any]:
    return list(autograd.grad(*args, list(model.parameters()), **kwargs))


def two(y: Any) -> list[Any]:
    return [y.square().mean(), y.abs().sum()]


def with_retained(model: nn.Sequential, x: Any, g: Any) -> Any:
    y = model(x)
    y.backward(g, retain_graph=True)
    y.backward(g * y)
    return y


def by_a_value(model: nn.Sequential, x: Any, g: Any) -> Any:
    h = model[1](model[0](x))
    y = model[2](h).square().sum()
    (inner,) = autograd.grad(y, h, retain_graph=True)
    y.backward()
    return inner * 2, y


def past_a_value(model: nn.Sequential, x: Any, g: Any) -> Any:
    h = model[1](model[0](x))
    return autograd.grad(model[2](h).square().sum(), [h, model[0].weight, h.abs()][:2])


def of_parts(model: nn.Sequential, x: Any, g: Any) -> Any:
    a, b, *_ = model[0](x).unbind(1)
    return autograd.grad([a.tanh().sum(), (a * b).sum()], [b, model[0].bias])


# Each is one program, whose walks are part of it.
WALKS: dict[str, Step] = {
    "with a cotangent": lambda m, x, g: m(x).backward(g),
    "with a cotangent by name": lambda m, x, g: m(x).backward(gradient=wengert.ones_like(g)),
    "with a value as cotangent": lambda m, x, g: (y := m(x)).backward(y.detach() * g),
    "of several roots": lambda m, x, g: autograd.backward(two(m(x))),
    "of several roots and cotangents": lambda m, x, g: autograd.backward(
        [y := m(x), y.sum()], [g, None]
    ),
    "twice the same root": lambda m, x, g: autograd.backward([y := m(x), y], [g, g * 2]),
    "to some leaves": lambda m, x, g: two(m(x))[0].backward(inputs=list(m[2].parameters())),
    "to a leaf in the middle": lambda m, x, g: autograd.backward(m(x), g, inputs=m[0].bias),
    "grad with a cotangent": lambda m, x, g: [
        a * 2 for a in autograd.grad(m(x), list(m.parameters()), grad_outputs=g)
    ],
    "grad of several roots": lambda m, x, g: autograd.grad(two(m(x)), [*m.parameters()]),
    "grad of an input": lambda m, x, g: autograd.grad(m(x).sum(), x)[0] * 2,
    "grad of an input, kept": lambda m, x, g: (
        *autograd.grad(y := m(x).square().mean(), x, retain_graph=True, allow_unused=True),
        y.backward(),
    ),
    "a retained graph": with_retained,
    "grad of a value": by_a_value,
    "grad of a value and what is below": past_a_value,
    "grad of parts": of_parts,
}


@pytest.mark.parametrize("name", WALKS)
def test_a_walk_is_part_of_the_program(name: str) -> None:
    def program(wrap: Callable[[Any], Any], log: Log) -> None:
        model = mlp(8, 64, 4)
        step = wrap(lambda x, g: WALKS[name](model, x, g))
        for k in range(4):
            x = batch().requires_grad_()
            y = step(x, wengert.randn(64, 4))
            log.append(list(y) if isinstance(y, tuple) else y)
            log += [*state(model), x.grad]
            if k == 1:
                model.zero_grad()

    compare(program)
    model, x, g = mlp(8, 64, 4), batch().requires_grad_(), wengert.randn(64, 4)
    report = explain(lambda x, g: WALKS[name](model, x, g))(x, g)
    assert report.backwards > 0
    assert report.splits == []


def test_a_backward_goes_on_in_an_earlier_graph() -> None:
    def program(wrap: Callable[[Any], Any], log: Log) -> None:
        maker, judge = mlp(4, 64, 8), mlp(8, 64, 1)
        steps = [wengert.optim.SGD(m.parameters(), lr=0.1) for m in (maker, judge)]
        inner: list[Any] = []

        @wrap
        def step(x: Any, z: Any) -> Any:
            fake = maker(z)
            inner.append(fake.norm())
            steps[1].zero_grad()
            loss = F.softplus(-judge(x)).mean() + F.softplus(judge(fake.detach())).mean()
            loss.backward()
            steps[1].step()
            steps[0].zero_grad()
            fake.retain_grad()
            loss = F.softplus(-judge(fake)).mean()
            loss.backward()
            steps[0].step()
            return loss, fake.grad

        for k in range(8):
            loss, g = step(batch(), wengert.randn(64, 4))
            log += [loss, g, inner.pop(), *state(maker), *state(judge)]
            if k == 5:
                maker[0].weight.register_hook(lambda g, seen=log: seen.append(g.norm()))

    compare(program)


@pytest.mark.parametrize("case", ["released", "overwritten"])
def test_a_backward_that_cannot_go_on_changes_nothing(case: str) -> None:
    def program(wrap: Callable[[Any], Any], log: Log) -> None:
        w, v = (wengert.randn(8, 8).requires_grad_() for _ in range(2))
        step = wrap(lambda y: (y @ v).tanh().sum().backward())
        for k in range(8):
            x = w * 2
            y = x.tanh()
            if k > 5 and case == "released":
                y.sum().backward(retain_graph=False)
            if k > 5 and case == "overwritten":
                y.detach().zero_()
            try:
                step(y)
            except RuntimeError as error:
                log.append(str(error).splitlines()[0])
            log += [v.grad.clone(), w.grad.clone()]

    compare(program)


@pytest.mark.parametrize("dtype", [wengert.bfloat16, wengert.float16, wengert.float64])
def test_a_backward_goes_on_at_a_tensor_of_another_dtype(dtype: wengert.dtype) -> None:
    def program(wrap: Callable[[Any], Any], log: Log) -> None:
        w = wengert.randn(8, 8).requires_grad_()
        step = wrap(lambda y: y.float().tanh().square().sum().backward())
        for _ in range(4):
            step((w * 2).to(dtype))
            log.append(w.grad.clone())

    compare(program)


def test_a_backward_goes_on_once_the_run_is_computed() -> None:
    v = wengert.randn(64, 64).requires_grad_()

    def step(y: Any) -> Any:
        (y @ v).tanh().mul(2).square().sum().backward()

    run = compiled(step)
    for _ in range(6):
        v.grad = None
        run(wengert.randn(64, 64).requires_grad_() * 2)
    record = run.compiled.record
    assert (record.size, record.settled, record.deferred) == (6, 5, 30)
