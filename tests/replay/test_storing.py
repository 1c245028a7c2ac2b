"""In-place operations of compiled functions on memory that is there."""

from __future__ import annotations

import copy
import pickle
from contextlib import nullcontext

import pytest

import wengert
from tests.replay.harness import (
    Program,
    adding_to,
    batch,
    compare,
    compare_skipping,
    mlp,
    state,
)
from wengert import compiler, nn
from wengert.nn import functional as F
from wengert.replay import trial

PROGRAMS: list[Program] = []
SKIPPED: list[Program] = []
program, skipped = adding_to(PROGRAMS), adding_to(SKIPPED)


def descent(model, rate):
    """A step of descent by hand, and an average of the parameters."""
    average = copy.deepcopy(model)

    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        with wengert.no_grad():
            for p, q in zip(model.parameters(), average.parameters(), strict=True):
                p -= rate[0] * p.grad
                q.mul_(0.9).add_(p, alpha=0.1)
                p.grad = None
        return loss

    return step, average


@program
def descent_by_hand(wrap, log):
    model, rate = mlp(8, 64, 4), [0.1]
    step, average = descent(model, rate)
    step = wrap(step)
    for k in range(12):
        rate[0] = 0.1 / (1 + k // 4)
        loss = step(batch(64 if k != 6 else 32))
        if k == 8:
            model[0].bias.requires_grad_(False)
            model[0].bias.grad = wengert.ones(64)
        if k == 9:
            model[0].bias.requires_grad_(True)
        if k % 3 == 0:
            log += [loss, *state(model), *state(average)]
            log += [(type(p), isinstance(p, nn.Parameter), p._version) for p in model.parameters()]
    log += [*state(model), *state(average)]


@program
def descent_by_data(wrap, log):
    model = mlp(8, 64, 4)
    velocities = [wengert.zeros_like(p) for p in model.parameters()]
    target = copy.deepcopy(model)

    @wrap
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        for p, v in zip(model.parameters(), velocities, strict=True):
            v.mul_(0.9).add_(p.grad)
            p.data.add_(v, alpha=-0.1)
            p.data.mul_(0.999)
        for p, q in zip(model.parameters(), target.parameters(), strict=True):
            q.data.copy_(0.1 * p.data + 0.9 * q.data)
        return loss

    for k in range(10):
        log.append(step(batch()))
        if k % 4 == 3:
            log += [*state(model), *state(target), *velocities]
            log += [p._version for p in model.parameters()]
    log += [*state(model), *state(target)]


@program
def averages_and_teachers(wrap, log):
    student = mlp(8, 32, 4)
    teacher, center = copy.deepcopy(student), wengert.zeros(1, 4)
    optimizer = wengert.optim.SGD(student.parameters(), lr=0.1)

    @wrap
    def step(x):
        optimizer.zero_grad()
        with wengert.no_grad():
            aim = teacher(x)
        loss = (F.softmax(aim - center, -1) * F.log_softmax(student(x), -1)).sum(-1).mean().neg()
        loss.backward()
        optimizer.step()
        with wengert.no_grad():
            for p, q in zip(student.parameters(), teacher.parameters(), strict=True):
                q.data.mul_(0.9).add_(0.1 * p.detach().data)
            center.mul_(0.9).add_(aim.mean(0, keepdim=True), alpha=0.1)
        return loss

    for _ in range(7):
        log += [step(batch()), *state(student), *state(teacher), center.clone()]


@program
def there_and_back(wrap, log):
    model = mlp(8, 32, 4)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    params = [*model.parameters()]

    @wrap
    def step(x):
        model(x).square().mean().backward()
        moves = []
        with wengert.no_grad():
            norm = wengert.stack([p.grad.norm() for p in params]).norm()
            for p in params:
                moves.append(p.grad * (0.05 / (norm + 1e-12)))
                p.add_(moves[-1])
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        with wengert.no_grad():
            for p, move in zip(params, moves, strict=True):
                p.sub_(move)
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for _ in range(8):
        log += [step(batch()), *state(model)]


@program
def others_who_have_the_memory(wrap, log):
    ways = [
        lambda w: w.detach(), lambda w: w.data, lambda w: w.detach().numpy(),
        lambda w: w.detach().view(-1), lambda w: w.detach()[1:], lambda w: nn.Parameter(w.data),
        lambda w: w.t(), lambda w: None,
    ]  # fmt: skip
    for held in ways:
        w = nn.Parameter(wengert.randn(8, 8))
        other = held(w)

        def step(x, w=w, other=other):
            with wengert.no_grad():
                before = w.sum()
                w.mul_(0.9).add_(x[:8] * 0.1)
                after = w.sum() if other is None else wengert.as_tensor(other).sum()
            return before, after

        step = wrap(step)
        for _ in range(5):
            log += [*step(batch()), w.clone()]


@program
def views_that_are_made_in_it(wrap, log):
    w, mark = nn.Parameter(wengert.randn(8, 8)), wengert.ones(8, 8)

    @wrap
    def step(x, kind):
        with wengert.no_grad():
            views = [w.view(-1), w.detach(), w.data, w[0], w.t()][kind]
            copy = w.clone()
            w.add_((x[:8] * mark) * 0.1)
            total = views.sum()
            w.mul_(0.5)
            del views
            w.sub_(total * 1e-3)
            again = w.data
            w.add_(copy, alpha=0.01)
            again.mul_(0.9)
        return total, again, copy, w.detach().sum()

    for kind in range(5):
        for _ in range(5):
            log += [*step(batch(), kind), w.clone(), w._version]


@program
def graphs_that_saved_it(wrap, log):
    w, other = nn.Parameter(wengert.randn(8)), wengert.ones(8)

    @wrap
    def step(x, released):
        w.grad = None
        loss = (x * w * other).sum()
        if released:
            loss.backward(retain_graph=released == 2)
        with wengert.no_grad():
            w.mul_(0.9 + 0 * x[0])
            other.add_(x[0] * 0.1)
        try:
            (x * w).sum().backward()
            loss.backward()
        except RuntimeError as error:
            log.append(str(error).split("\n")[0][:60])
        return loss, (x * w).sum()

    for released in (0, 1, 2, 1):
        for _ in range(4):
            log += [*step(batch(), released), w.clone(), w.grad.clone(), other.clone()]


@program
def buffers_in_later_graphs(wrap, log):
    w, running = nn.Parameter(wengert.randn(8)), wengert.zeros(8)
    kept = [running]  # known to two names, and to a view

    @wrap
    def step(x):
        w.grad = None
        running.mul_(0.9).add_(x.mean(0) * 0.1)
        loss = ((x - running) * w * running).square().sum()
        loss.backward()
        return loss, kept[0].sum()

    for k in range(8):
        if k == 5:
            kept.append(running.view(2, 4))
        log += [*step(batch()), w.grad.clone(), running.clone(), running._version]


@program
def exchanged(wrap, log):
    a, b = nn.Parameter(wengert.randn(64, 8)), nn.Parameter(wengert.randn(64, 8))

    @wrap
    def step(x):
        with wengert.no_grad():
            old = a * 1.0 + 0 * x
            a.copy_(b + 0 * x)
            b.copy_(old)
            a.add_(b)
        return old

    for _ in range(6):
        log += [step(batch()), a.clone(), b.clone()]


@program
def who_looks_at_it(wrap, log):
    model = mlp(8, 16, 2)
    step, _ = descent(model, [0.1])
    step = wrap(step)
    looks = [
        lambda p: repr(p), lambda p: copy.deepcopy(p), lambda p: pickle.loads(pickle.dumps(p)),
        lambda p: (p.is_leaf, p.requires_grad, p.shape, p.grad_fn), lambda p: p.tolist(),
        lambda p: p.data, lambda p: p.detach().numpy().copy(), lambda p: p.grad,
        lambda p: p.add_(1) if False else (p * 2).sum(), lambda p: p.requires_grad_(True),
        lambda p: [type(p) is nn.Parameter, type(p).__name__, p.__class__],
    ]  # fmt: skip
    for look in looks:
        for _ in range(3):
            step(batch())
        log += [look(p) for p in model.parameters()]
        log += [isinstance(p, nn.Parameter) for p in model.parameters()]
    with pytest.raises(RuntimeError):
        model[0].weight.add_(1)


@skipped
def descent_without_python(wrap, log):
    model, rate, seen = mlp(8, 64, 4), [0.1], []
    step, average = descent(model, rate)
    step = wrap(step)
    for k in range(24):
        if k == 10:
            rate[0] = 0.05
        if k == 14:
            seen.append(model[0].weight.detach().numpy())  # who sees every write
        if k == 16:
            model[2].bias.grad = wengert.ones(4)
        if k == 18:
            seen.append(model[2].weight.detach())
        log.append(step(batch()))
        log += [p._version for p in model.parameters()]
        log += [p.grad is None for p in model.parameters()]
        log += [float(x.sum()) for x in seen]
        if k % 5 == 4:
            log += [*state(model), *state(average)]


@skipped
def gradients_that_are_taken_away(wrap, log):
    model = mlp(8, 64, 4)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler, context = wengert.amp.GradScaler("cpu", enabled=False), nullcontext()

    @wrap
    def step(x):
        for p in model.parameters():
            p.grad = None
        with context:
            loss = model(x).square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss

    for k in range(10):
        log += [step(batch()), *state(model)]
        if k == 6:
            model[0].weight.grad = wengert.ones(64, 8)


@skipped
def averages_alone(wrap, log):
    model = mlp(8, 64, 4)
    average, total = copy.deepcopy(model), wengert.zeros(64, 8)

    @wrap
    def step(x):
        total.mul_(0.5).add_(x)
        with wengert.no_grad():
            for p, q in zip(model.parameters(), average.parameters(), strict=True):
                q.mul_(0.9).add_(p, alpha=0.1)
        return (total * 2).sum()

    for k in range(12):
        log += [step(batch()), total.clone(), *state(average)]
        with wengert.no_grad():
            model[0].weight.mul_(1.1)
        if k == 8:
            total.add_(1)


@pytest.mark.parametrize("program", SKIPPED, ids=lambda f: f.__name__)
def test_writes_need_no_python(program: Program) -> None:
    functions = compare_skipping(program)
    assert all(f.skipped for f in functions), [f.reason for f in functions]


def test_a_step_by_hand_is_one_program() -> None:
    step, _ = descent(mlp(8, 64, 4), [0.1])
    found = compiler.explain(step)(batch())
    assert len(found.programs) == 1
    assert not found.splits


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_storing(function: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "AS_IT_IS", range(0))
    compare(function)
