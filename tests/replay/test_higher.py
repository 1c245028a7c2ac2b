"""Gradients with a graph in compiled functions, and the same in eager mode."""

from __future__ import annotations

import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare, mlp, state
from wengert import nn
from wengert.autograd import grad
from wengert.compiler import explain, reset
from wengert.nn import functional as F

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


@program
def gradient_penalty(wrap, log):
    model = mlp(8, 32, 1)

    @wrap
    def step(real, made, a):
        model.zero_grad()
        (g,) = grad(model(real).sum(), real, create_graph=True)
        loss = model(made).mean() + 10 * (g.norm(2, 1) - 1).square().mean()
        loss.backward()
        return loss, g

    for k in range(6):
        real = batch().requires_grad_()
        log += [*step(real, batch(), k), *state(model), real.grad]


@program
def inner_steps(wrap, log):
    first, second = wengert.randn(1, 16) / 2, wengert.randn(16, 1) / 4
    weights = [first.requires_grad_(), second.requires_grad_()]
    optimizer = wengert.optim.SGD(weights, lr=0.01)

    def loss_of(task, weights):
        x, y = task
        return F.mse_loss((x @ weights[0]).tanh() @ weights[1], y)

    @wrap
    def step(tasks, inner):
        total = 0.0
        for train, test in tasks:
            fast = weights
            for _ in range(inner):
                gradients = grad(loss_of(train, fast), fast, create_graph=True)
                fast = [w - 0.1 * g for w, g in zip(fast, gradients, strict=True)]
            total = total + loss_of(test, fast)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return total, *gradients

    for k in range(7):
        tasks = [[(wengert.randn(9, 1), wengert.randn(9, 1)) for _ in range(2)] for _ in range(2)]
        log += [*step(tasks, 1 + k // 5), *[w.clone() for w in weights], *[w.grad for w in weights]]


@program
def products_with_second_derivatives(wrap, log):
    w = wengert.randn(4, 4, requires_grad=True)

    @wrap
    def products(x, v):
        y = F.softmax(x @ w, -1).square().sum() + (x @ w).exp().mean() + (w[0] * w[1]).amax()
        (g,) = grad(y, w, create_graph=True)
        (h,) = grad((g * v).sum(), w, create_graph=True)
        (third,) = grad(h.square().sum(), w)
        return y, g, h, third

    for _ in range(5):
        log += products(batch(6, 4), wengert.randn(4, 4))


@program
def graphs_that_are_there_or_gone(wrap, log):
    w = wengert.randn(4, 4, requires_grad=True)

    @wrap
    def step(x, kind):
        y = (x @ w).sigmoid()
        kept = y * y
        if kind == 1:
            kept.sum().backward()  # which releases it
        (g,) = grad(kept.sum(), w, create_graph=True)
        kept.detach_().mul_(2)
        return g, kept, g.sum() * 1

    for kind in (0, 0, 0, 1, 0, 1, 0):
        w.grad = None
        try:
            g, kept, total = step(batch(6, 4), kind)
        except RuntimeError as error:
            log.append(str(error).split("\n")[0][:60])
            continue
        total.backward()
        log += [g, kept, w.grad]


@program
def hooks_and_reads_between(wrap, log):
    w = wengert.randn(4, 4, requires_grad=True)

    @wrap
    def step(x, read):
        y = (x @ w).tanh()
        z = y.square()
        if read == 1:
            log.append(z.sum().item())
        if read == 2:
            y.register_hook(lambda g: g * 2)
        (g,) = grad(z.sum(), w, create_graph=True, retain_graph=read != 3)
        return g.square().sum() + z.mean()

    for read in (0, 0, 0, 1, 1, 2, 2, 3, 0):
        w.grad = None
        loss = step(batch(6, 4), read)
        loss.backward() if read != 3 else None
        log += [loss.detach(), w.grad]


class Layers(nn.Module):
    """One of each layer whose operation has rules of its own for a graph, or several results."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.batch, self.norm = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.LayerNorm(12)
        self.heads, self.last = nn.Linear(12, 36), nn.Linear(24, 5)

    def forward(self, x):
        x = F.max_pool2d(self.batch(self.conv(x)).tanh(), 2)
        rows = self.norm(x.flatten(2).repeat(1, 1, 2)[..., :12])
        q, k, v = self.heads(rows).split(12, -1)
        y = F.scaled_dot_product_attention(q, k, v)
        first, *_, last = y.unbind(1)
        y = wengert.stack([first * last, first], 1).flatten(1)
        return self.last(wengert.cat([y[:, 2:], y[:, :2] * 2], 1))


def layers_step(wrap):
    model = Layers()
    parameters = [*model.parameters()]

    @wrap
    def step(x, y, weights):
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        gradients = grad(loss, parameters, create_graph=True)
        product = sum([(g * w).sum() for g, w in zip(gradients, weights, strict=True)])
        return loss, *grad(product, parameters)

    def arguments():
        weights = [wengert.randn(p.shape) for p in parameters]
        return wengert.randn(6, 1, 8, 8), wengert.randint(5, (6,)), weights

    return step, arguments


@program
def products_through_layers(wrap, log):
    step, arguments = layers_step(wrap)
    for _ in range(5):
        log += step(*arguments())


def penalty_step(wrap):
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Tanh(), nn.Linear(16, 4))
    parameters = [*model.parameters()]
    optimizer = wengert.optim.SGD(parameters, lr=0.1)

    @wrap
    def step(x, y, kept=False):
        if not kept:
            optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(x), 1), y)
        loss.backward(create_graph=True)
        (sum([p.grad.square().sum() for p in parameters]) * 0.1).backward()
        for p in parameters:
            p.grad.detach_()
        optimizer.step()
        return loss

    return model, step


@program
def backwards_with_a_graph(wrap, log):
    model, step = penalty_step(wrap)
    for k in range(7):
        log += [step(batch(), wengert.randint(4, (64,)), k in (3, 6)), *state(model)]


@program
def graphs_that_change_while_they_are_recorded(wrap, log):
    w = wengert.randn(8, 4, requires_grad=True)

    @wrap
    def step(x, kind):
        y = x @ w
        z = y.exp()
        if kind == 1:
            y.mul_(2)
        elif kind == 2:
            z.register_hook(lambda g: g * 2)
        elif kind == 3:
            z.add_(1)  # which its node has saved
        elif kind == 4:
            z.detach().numpy()[0] = 1
        (g,) = grad((z * 1 / y).sum(), w, create_graph=True)
        return g, (g * g).sum()

    for kind in (0, 1, 2, 3, 4, 0, 0, 1, 2, 3, 4):
        w.grad = None
        try:
            g, total = step(wengert.rand(6, 8) + 1, kind)
            total.backward()
            log += [g, w.grad]
        except RuntimeError as error:
            log.append(str(error).split("\n")[0][:60])


@program
def leaves_in_the_middle(wrap, log):
    model, critic = mlp(4, 32, 8), mlp(8, 32, 1)
    kept = []

    @wrap
    def step(x, kind, alive):
        fake = model(x)
        mixed = 0.3 * fake.detach() + 0.7 * wengert.ones(x.shape[0], 8)
        if kind == 0:
            mixed.requires_grad_(True)
        elif kind == 1:
            mixed = mixed.clone()
            mixed.requires_grad = True
        elif kind == 2:
            mixed = fake.detach().requires_grad_()
        else:
            mixed = mixed[:, :].requires_grad_()
        score = critic(mixed)
        (g,) = wengert.autograd.grad(score.sum(), mixed, create_graph=True)
        loss = (
            (g.norm(2, dim=1) - 1).square().mean() + critic(fake).mean() + mixed[:, 1].exp().mean()
        )
        model.zero_grad()
        critic.zero_grad()
        loss.backward()
        facts = [mixed.is_leaf, mixed.requires_grad, mixed.grad_fn is None]
        if alive:
            kept[:] = [mixed]
        return loss, g.detach(), mixed.grad.clone(), facts

    for alive in (False, True):
        for kind in (0, 1, 2, 3):
            for k in range(5):
                *found, facts = step(batch(64 if k != 3 else 32, 4), kind, alive)
                log += [*found, *facts, *state(model), *state(critic)]
            if alive:
                (mixed,) = kept
                with pytest.raises(RuntimeError):
                    mixed.add_(1)
                log += [mixed.detach().clone(), mixed.is_leaf, mixed.grad]
                (mixed * 2).sum().backward()
                log.append(mixed.grad)


@program
def leaves_that_are_given_on(wrap, log):
    w = nn.Parameter(wengert.randn(8))

    @wrap
    def step(x, kind):
        y = (x * w).detach().requires_grad_()
        z = (y * 2).tanh()
        if kind == 1 and z.sum() > 0:  # which is read
            z = z + 1
        if kind == 2:
            y.register_hook(lambda g: g * 2)
        if kind == 3:
            with wengert.no_grad():
                y.mul_(2)
        if kind == 4:
            y.requires_grad_(False)
        return y, z.sum()

    for kind in range(5):
        for _ in range(5):
            y, total = step(batch(), kind)
            try:
                total.backward()
            except RuntimeError as error:
                log.append(str(error).split("\n")[0][:40])
            log += [y.detach().clone(), y.grad, total, y.requires_grad, y.is_leaf]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_and_eager_do_the_same(function: Program) -> None:
    compare(function)


def test_layers_with_rules_of_their_own_are_part_of_the_program() -> None:
    reset()
    step, arguments = layers_step(lambda f: f)
    found = explain(step)(*arguments())
    assert found.splits == []
    assert found.backwards == 1


def test_a_backward_with_a_graph_is_part_of_the_program() -> None:
    reset()
    _, step = penalty_step(lambda f: f)
    assert explain(step)(batch(), wengert.randint(4, (64,))).splits == []


def test_gradients_with_a_graph_are_recorded_in_one_call() -> None:
    reset()
    w = nn.Parameter(batch(8, 4))

    def step(x, y):
        inner, w.grad = w, None
        for _ in range(6):
            (g,) = grad(F.cross_entropy(x @ inner, y), inner, create_graph=True)
            inner = inner - 0.1 * g
        F.cross_entropy(x @ inner, y).backward()

    found = explain(step)(batch(), wengert.randint(4, (64,)))
    assert found.splits == []
    assert found.ways == 1


def test_a_second_backward_is_part_of_the_program() -> None:
    reset()
    w = nn.Parameter(batch(8, 4))

    def step(x):
        (g,) = grad((x @ w).tanh().sum(), w, create_graph=True)
        (g.norm() - 1).square().backward()
        return g

    found = explain(step)(batch())
    assert found.splits == []
    assert found.backwards == 1
