"""The twenty programs of docs/compile.md: each compiled and eager."""

from __future__ import annotations

import math
import random
import threading
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare, mlp, state
from wengert import nn
from wengert.nn import functional as F

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


@program
def two_losses_with_retain_graph(wrap, log):
    trunk, first, second = mlp(8, 64), nn.Linear(64, 3), nn.Linear(64, 2)
    model = nn.ModuleList([trunk, first, second])
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)

    @wrap
    def step(x):
        optimizer.zero_grad()
        hidden = trunk(x).tanh()
        a, b = first(hidden).square().mean(), second(hidden).exp().mean()
        a.backward(retain_graph=True)
        b.backward()
        optimizer.step()
        return a, b

    for _ in range(5):
        a, b = step(batch())
        log += [a, b, *state(model)]
        with pytest.raises(RuntimeError, match="second time"):
            b.backward()


@program
def loss_appended_to_a_list(wrap, log):
    model, losses = mlp(8, 64, 1), []

    @wrap
    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        losses.append(loss)

    for _ in range(4):
        step(batch())
    log += [len(losses), *losses, *state(model)]


@program
def print_in_the_loop(wrap, log):
    model = mlp(8, 64, 1)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x):
        log.append("called")
        loss = model(x).square().mean()
        log.append(f"{loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(5):
        step(batch())
    log += state(model)


@program
def branch_on_the_best_loss(wrap, log):
    model, best = mlp(8, 64, 1), [math.inf]
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.05)  # 0.5 diverges: all digits are lost

    @wrap
    def step(x):
        loss = model(x).square().mean()
        if loss.item() < best[0]:
            best[0] = loss.item()
            log.append("better")
        else:
            loss = loss * 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(8):
        step(batch())
    log += [best[0], *state(model)]


@program
def counter_as_an_argument(wrap, log):
    @wrap
    def step(x, i):
        return (x * i + i / 3).tanh().sum()

    for i in range(6):
        log.append(step(batch(), i))
    for i in range(3):
        log.append(step(batch(), float(i)))
        log.append(step(batch(), bool(i)))


@program
def global_that_changes(wrap, log):
    scale = {"by": 1.0, "on": True}

    @wrap
    def step(x):
        y = x * scale["by"]
        return y.exp().sum() if scale["on"] else y.sum()

    for k in range(8):
        scale["by"], scale["on"] = 0.5 * k, k % 3 > 0
        log.append(step(batch()))


@program
def learning_rate_schedule(wrap, log):
    model = mlp(8, 64, 1)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scheduler = wengert.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)

    @wrap
    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        scheduler.step()

    for _ in range(5):
        step(batch())
        log += [scheduler.get_last_lr(), *state(model)]


@program
def dropout_and_noise(wrap, log):
    model = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.3), nn.Tanh(), nn.Linear(64, 1))

    @wrap
    def step(x):
        model.zero_grad()
        loss = (model(x + 0.1 * wengert.randn_like(x)) + wengert.rand(1)).square().mean()
        loss.backward()
        return loss

    for _ in range(4):
        log += [step(batch()), *state(model)]
    log.append(wengert.rand(3))


@program
def teacher_forcing(wrap, log):
    cell, readout = nn.RNNCell(4, 16), nn.Linear(16, 4)
    model = nn.ModuleList([cell, readout])

    @wrap
    def step(xs):
        model.zero_grad()
        h, x, loss = wengert.zeros(8, 16), xs[0], 0
        for k in range(1, 5):
            h = cell(x, h)
            out = readout(h)
            loss = loss + F.mse_loss(out, xs[k])
            x = xs[k] if random.random() < 0.5 else out
        loss.backward()
        return loss

    for _ in range(8):
        log += [step(wengert.randn(5, 8, 4)), *state(model)]


@program
def last_batch_smaller(wrap, log):
    model = mlp(8, 64, 3)

    @wrap
    def step(x, t):
        model.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        return loss

    for n in (64, 64, 64, 7, 64, 7, 1, 64):
        log += [step(batch(n), wengert.randint(3, (n,))), *state(model)]


@program
def train_and_eval(wrap, log):
    model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.Dropout(), nn.Linear(64, 1))
    step = wrap(lambda x: model(x).square().mean())

    for k in range(8):
        model.train(k % 4 < 2)
        log += [step(batch()), *state(model)]


@program
def layer_replaced_and_frozen(wrap, log):
    model = mlp(8, 64, 64, 1)

    @wrap
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for k in range(12):
        if k == 4:
            model[0].requires_grad_(False)
        if k == 6:
            model[2] = nn.Linear(64, 64)
        if k == 8:
            model[0].requires_grad_(True)
        if k == 10:
            model[1] = nn.ReLU()
        log += [step(batch()), *state(model)]


@program
def parameter_written_from_outside(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    for k in range(6):
        result = step(batch())
        with wengert.no_grad():
            model[0].weight.mul_(0.9)
            model[2].bias.copy_(wengert.ones(1) * k)
        model[2].weight.data = model[2].weight.data * 1.1
        log += [result, *state(model)]


@program
def array_written_between_steps(wrap, log):
    memory = np.ones((64, 8), np.float32)
    x = wengert.from_numpy(memory)
    model = mlp(8, 64, 1)

    @wrap
    def step():
        y = model(x).square().mean()
        memory[0] += 1
        return y, model(x).mean()

    for _ in range(5):
        results = step()
        memory[:] *= 1.1
        log += results
        inside = x.numpy()
        results = step()
        inside[:] -= 0.5
        log += results
    weight = model[0].weight.detach().numpy()
    for _ in range(3):
        result = step()
        weight *= 0.5
        log += result


@program
def gradients_one_by_one(wrap, log):
    model = mlp(8, 64, 64, 3)
    parameters = list(model.parameters())

    @wrap
    def separate(x):
        loss = model(x).square().mean()
        return loss, [wengert.autograd.grad(loss, p, retain_graph=True)[0] for p in parameters]

    @wrap
    def joint(x):
        loss = model(x).square().mean()
        return loss, wengert.autograd.grad([loss], parameters)

    @wrap
    def unusual(x, k):
        loss = model(x).square().mean()
        first = wengert.autograd.grad(loss, parameters[k % 3 : 4], retain_graph=k % 2 == 0)
        if k == 5:
            wengert.autograd.grad(loss, x, retain_graph=True)
        return first, wengert.autograd.grad(model(x).mean(), parameters[0], create_graph=k == 4)

    for k in range(7):
        loss, gradients = separate(batch())
        log += [loss, *gradients, gradients[0] is gradients[0], gradients[0].requires_grad]
        loss, gradients = joint(batch())
        log += [loss, *gradients, parameters[0].grad]
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        try:
            first, (last,) = unusual(batch(), k)
            log += [*first, last, last.requires_grad]
        except RuntimeError as error:
            log.append(str(error).splitlines()[0])
    for p, g in zip(parameters, gradients, strict=True):
        g += p.detach()  # its memory is its own
    log += [*gradients, *state(model)]


@program
def gradients_accumulated(wrap, log):
    model = mlp(8, 64, 1)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x, k):
        loss = model(x).square().mean() / 4
        loss.backward()
        if k % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=k % 8 == 3)

    for k in range(16):
        step(batch(), k)
        log += state(model)


@program
def clip_and_skip_on_nan(wrap, log):
    model = mlp(8, 64, 1)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        if not wengert.isfinite(norm):
            log.append("skipped")
            return
        optimizer.step()
        log.append(norm)

    for k in range(6):
        step(batch() * (math.nan if k == 3 else 1.0))
        log += state(model)


@program
def exception_in_the_middle(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x, bad):
        loss = model(x).square().mean()
        loss.backward()
        if bad:
            raise ValueError("in the middle")
        return (loss * model[2].weight.detach()).sum()

    for k in range(6):
        try:
            log.append(step(batch(), k in (1, 4)))
        except ValueError as error:
            log.append(str(error))
        try:
            step(batch(3, 5), False)
        except RuntimeError as error:
            log.append(str(error)[:40])
        log += state(model)


@program
def hooks_added_later(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x):
        model.zero_grad()
        hidden = model[0](x)
        if len(log) > 60:
            hidden.register_hook(lambda g: log.append(g.sum()))
        loss = model[2](hidden.tanh()).square().mean()
        loss.backward()
        return loss

    def note(*_):
        log.append("forward")

    handles = []
    for k in range(9):
        if k == 4:
            handles.append(model[2].weight.register_hook(lambda g: g * 2))
            handles.append(model[0].register_forward_hook(note))
        if k == 6:
            handles.pop().remove()
        log += [step(batch()), *state(model)]


@program
def two_models_in_turn(wrap, log):
    generator, critic = mlp(8, 64, 8), mlp(8, 64, 1)
    of_generator = wengert.optim.Adam(generator.parameters(), lr=0.01)
    of_critic = wengert.optim.Adam(critic.parameters(), lr=0.01)

    @wrap
    def step(real, noise):
        fake = generator(noise)
        of_critic.zero_grad()
        loss = critic(fake.detach()).mean() - critic(real).mean()
        loss.backward()
        of_critic.step()
        critic.requires_grad_(False)
        of_generator.zero_grad()
        other = -critic(fake).mean()
        other.backward()
        of_generator.step()
        critic.requires_grad_(True)
        return loss, other

    for _ in range(5):
        log += [*step(batch(), batch()), *state(generator), *state(critic)]


@program
def nested_functions(wrap, log):
    model = mlp(8, 64, 1)
    inner = wrap(lambda x: (x * x).sum())

    @wrap
    def step(x):
        model.zero_grad()
        loss = inner(model(x)) + inner(x)
        loss.backward()
        return loss

    for _ in range(5):
        log += [step(batch()), inner(batch()), *state(model)]


@program
def from_two_threads(wrap, log):
    models = [mlp(8, 64, 1), mlp(8, 64, 1)]
    inputs = [batch(), batch()]

    @wrap
    def step(model, x):
        loss = model(x).square().mean()
        loss.backward()
        return loss

    results: list[Any] = [None, None]

    def train(k):
        with wengert.enable_grad():
            for _ in range(8):
                models[k].zero_grad()
                results[k] = step(models[k], inputs[k])

    threads = [threading.Thread(target=train, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log += results
    for model in models:
        log += state(model)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_and_eager_do_the_same(function: Program) -> None:
    compare(function)
