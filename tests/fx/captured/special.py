"""As in `changing`: programs of which less is usual."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import wengert
from tests.fx.captured.changing import Compile, Found, made, x
from wengert import nn


def regions(compile: Compile) -> Found:
    model = made().eval()

    def inner(a: Any, fails: bool) -> Any:
        with wengert.autocast("cpu", wengert.bfloat16):
            b = model.layer(a)
            with wengert.no_grad(), wengert.autocast("cpu", enabled=False):
                c = model.layer(a)
        chosen = b if b.sum() > 100 else b * 2
        with wengert.autocast("cpu", wengert.float16):
            return chosen.float() + c + model.layer(a) @ wengert.ones(2 if fails else 3)

    run = compile(inner)
    for k in range(8):
        with wengert.autocast("cpu", wengert.bfloat16, enabled=k % 4 == 3):
            try:
                yield run(x() if k % 2 else x(2, 3), k == 5)
            except RuntimeError as error:
                yield str(type(error))
            yield wengert.is_autocast_enabled("cpu"), wengert.is_grad_enabled()


def leaves_that_are_made_in_it(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        leaf = (a * 2).detach().requires_grad_()
        loss = (leaf**2).sum()
        grad: Any
        (grad,) = wengert.autograd.grad(loss, leaf)
        return grad, leaf.requires_grad

    run = compile(inner)
    for k in range(5):
        yield run(x() + k)


def modules_in_place(compile: Compile) -> Found:
    model = made().eval()
    run = compile(model.forward)
    if hasattr(run, "captured"):
        model.compile(backend=run.captured.backend)
    for k in range(12):
        if k == 4:
            with wengert.no_grad():
                model.layer.weight.mul_(2)
        if k == 6:
            model.scale = 7.0
        model.train(k in (8, 9))
        yield model(x())


def kinds_of_arguments(compile: Compile) -> Found:
    run = compile(lambda a: a * 2 if isinstance(a, nn.Parameter) else a * 3)
    own = nn.Parameter(x())
    for k in range(8):
        yield run(own if k % 4 < 2 else x().requires_grad_())


def hooks_of_saved_tensors(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        with wengert.autograd.graph.saved_tensors_hooks(lambda s: s * 10, lambda s: s):
            return (a * a).sum()

    run = compile(inner)
    for _ in range(5):
        a = x().requires_grad_()
        run(a).backward()
        yield a.grad


def strides(compile: Compile) -> Found:
    run = compile(lambda a: (a * 2 if a.is_contiguous() else a * 3, a.stride()))
    for k in range(8):
        a = x(3, 3)
        yield run(a if k % 4 < 2 else a.T)


def arguments_that_are_the_same(compile: Compile) -> Found:
    run = compile(lambda a, b: a * 2 if a is b else a + b)
    a, b = x(), x() + 1
    for k in range(8):
        yield run(a, a if k % 4 < 2 else b)


def values_that_decide(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        b = a * 2
        if b.sum() > 0:
            return b + 1
        if b.max() > 5:
            return b - 1
        return b

    run = compile(inner)
    for k in range(12):
        yield run(x() + (k % 3 - 1) * 2), run(x() * (k % 4 * 3 - 4) - 3)


def numbers_that_are_read(compile: Compile) -> Found:
    run = compile(lambda a: a * a.sum().item())
    for k in range(12):
        yield run(x() + k)


def shapes_that_depend(compile: Compile) -> Found:
    run = compile(lambda a: a[a > 0] * len(a[a > 0]))
    for k in range(8):
        yield run(x() + k % 3 - 1)


def gradients_in_it(compile: Compile) -> Found:
    weight: Any = wengert.ones(3, requires_grad=True)

    def inner(a: Any) -> Any:
        loss = (a * weight).square().sum()
        grad: Any
        (grad,) = wengert.autograd.grad(loss, weight)
        return grad * 2, loss.detach()

    run = compile(inner)
    for k in range(5):
        yield run(x() + k)


def steps(compile: Compile) -> Found:
    model = made().eval()
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.1)

    def step(a: Any) -> Any:
        optimizer.zero_grad()
        loss = model(a).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = compile(step)
    for k in range(6):
        yield run(x() + k), [*model.parameters()]


def steps_around(compile: Compile) -> Found:
    model = made()
    run, optimizer = compile(model), wengert.optim.Adam(model.parameters(), lr=0.1)
    for k in range(8):
        optimizer.zero_grad()
        loss = run(x() + k).square().mean()
        loss.backward()
        optimizer.step()
        yield loss


class Doubled(wengert.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 100


def functions_with_gradients(compile: Compile) -> Found:
    run = compile(lambda a: Doubled.apply(a + 1) * 3)
    for _ in range(4):
        a = x().requires_grad_()
        run(a).sum().backward()
        yield a.grad


def hooks_of_tensors(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        b = a * 2
        if b.requires_grad:
            b.register_hook(lambda g: g * 7)
        return b * 3

    run = compile(inner)
    for _ in range(4):
        a = x().requires_grad_()
        run(a).sum().backward()
        yield a.grad


def checkpoints(compile: Compile) -> Found:
    from wengert.utils.checkpoint import checkpoint

    run = compile(lambda a: checkpoint(lambda b: b.sin() * 2, a, use_reentrant=False))
    for _ in range(4):
        a = x().requires_grad_()
        run(a).sum().backward()
        yield a.grad


def transforms(compile: Compile) -> Found:
    run = compile(lambda a: wengert.func.vmap(lambda b: b * 2 + 1)(a))
    outer = wengert.func.grad(compile(lambda a: (a * a).sum()))
    for _ in range(4):
        yield run(x()), outer(x())


def gradients_twice(compile: Compile) -> Found:
    run = compile(lambda a: (a**3).sum())
    for _ in range(4):
        a = x().requires_grad_()
        g: Any
        (g,) = wengert.autograd.grad(run(a), a, create_graph=True)
        yield g, wengert.autograd.grad(g.sum(), a)


def errors(compile: Compile) -> Found:
    def inner(a: Any) -> Any:
        if a.shape[0] > 2:
            raise ValueError("large")
        return a + wengert.ones(2)

    run = compile(inner)
    for k in range(8):
        try:
            yield run(x(k % 4 + 1))
        except (ValueError, RuntimeError) as error:
            yield str(type(error))


def results_that_are_arguments(compile: Compile) -> Found:
    run = compile(lambda a, b: (a, a + 1, b, a.float()))
    for _ in range(4):
        a, b = x(), [x()]
        out = run(a, b)
        yield out, out[0] is a, out[3] is a, out[2] is b


def lists_that_are_met_elsewhere(compile: Compile) -> Found:
    kept = [1, 2]

    def inner(a: Any) -> Any:
        return a + 1, kept

    run = compile(inner)
    for _ in range(4):
        out = run(x())
        yield out[0], out[1] is kept


def views(compile: Compile) -> Found:
    run = compile(lambda a: a[1:])
    for _ in range(4):
        a = x()
        out = run(a)
        out.add_(10)
        yield a, out


def gradients_that_are_read(compile: Compile) -> Found:
    weight: Any = wengert.ones(3, requires_grad=True)

    def inner(a: Any) -> Any:
        return a * 2 if weight.grad is None else a + weight.grad

    run = compile(inner)
    for k in range(6):
        if k % 3 == 2:
            (weight * k).sum().backward()
        yield run(x())


def subclasses(compile: Compile) -> Found:
    class Marked(wengert.Tensor):
        pass

    run = compile(lambda a: a * 2)
    for k in range(6):
        out = run(x().as_subclass(Marked) if k % 3 == 2 else x())
        yield out, type(out).__name__


def recurrent_layers(compile: Compile) -> Found:
    model = made(lambda: nn.LSTM(3, 2, batch_first=True))
    run = compile(model)
    for _ in range(3):
        yield run(x(1, 4, 3))


def batch_norms(compile: Compile) -> Found:
    model = made(lambda: nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3, momentum=None)))
    run = compile(model)
    for k in range(8):
        model.train(k % 4 != 3)
        yield run(x(4, 3) * k), dict(model.named_buffers())


def generators(compile: Compile) -> Found:
    def parts(a: Any) -> Iterator[Any]:
        for k in range(3):
            yield a * k

    run = compile(lambda a: sum(parts(a)))
    for _ in range(4):
        yield run(x())


def settings_of_modules(compile: Compile) -> Found:
    run = compile(lambda a: a * math.pi * math.tau)
    before = math.tau
    for k in range(6):
        math.tau = before if k < 3 else 1.0  # type: ignore[misc]
        yield run(x())
    math.tau = before  # type: ignore[misc]


PROGRAMS = [
    f for name, f in list(globals().items())
    if getattr(f, "__annotations__", {}).get("return") == "Found"
]  # fmt: skip
