"""Operations that write to buffers: running statistics in a compiled step."""

from __future__ import annotations

import copy

import pytest

import wengert
import wengert.utils.checkpoint
from tests.replay.harness import Program, adding_to, batch, compare, state
from wengert import compiler, nn
from wengert.nn import functional as F
from wengert.replay import trial

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


def net():
    norm = nn.BatchNorm1d
    first, second = nn.Linear(8, 64, bias=False), nn.Linear(64, 64, bias=False)
    layers = [first, norm(64), nn.ReLU(), second, norm(64), nn.Tanh()]
    return nn.Sequential(*layers, nn.Linear(64, 1))


def images(n: int = 4) -> wengert.Tensor:
    return wengert.randn(n, 3, 12, 12)


@program
def training_with_batch_norm(wrap, log):
    model = net()
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)

    @wrap
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(8):
        log += [step(batch()), *state(model)]


@program
def batch_norm_of_images(wrap, log):
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 9, 3),
        nn.BatchNorm2d(9, affine=False), nn.MaxPool2d(2), nn.BatchNorm2d(9, momentum=0.5),
    )  # fmt: skip

    @wrap
    def step(x):
        model.zero_grad()
        y = model(x)
        y.square().mean().backward()
        return y

    for n in (4, 4, 4, 4, 4, 7, 4):
        log += [step(images(n)), *state(model)]


@program
def channels_last_in_memory(wrap, log):
    model = nn.Sequential(nn.BatchNorm2d(16), nn.ReLU(), nn.BatchNorm2d(16))

    @wrap
    def step(x):
        model.zero_grad()
        y = model(x * 2)
        y.square().mean().backward()
        return y

    for _ in range(6):
        x = wengert.randn(4, 16, 9, 9).to(memory_format=wengert.channels_last)
        log += [step(x), *state(model)]


@program
def one_module_several_times(wrap, log):
    norm = nn.BatchNorm1d(8)

    @wrap
    def step(x):
        real, fake = norm(x), norm(x * 2 + 1)
        norm.eval()
        fixed = norm(x)
        norm.train()
        return real, fake, fixed, norm(real)

    for _ in range(6):
        log += [*step(batch()), *state(norm)]


@program
def statistics_read_in_the_middle(wrap, log):
    norm = nn.BatchNorm1d(8)

    @wrap
    def step(x):
        y = norm(x)
        scaled = y * norm.running_var + norm.running_mean
        log.append(norm.running_mean.tolist())
        return scaled, norm(scaled)

    for _ in range(6):
        log += step(batch())


@program
def views_of_statistics_see_later_updates(wrap, log):
    norm = nn.BatchNorm1d(8)

    @wrap
    def step(x):
        y = norm(x)
        alias, part = norm.running_mean.detach(), norm.running_var[2:4]
        return y, norm(y), alias, part

    for _ in range(6):
        y, z, alias, part = step(batch())
        norm(z)
        log += [y, z, alias, part, norm.state_dict()["running_mean"]]


@program
def memory_that_numpy_shares(wrap, log):
    norm = nn.BatchNorm1d(8)
    seen = norm.running_mean.numpy()

    @wrap
    def step(x):
        y = norm(x)
        log.append(seen.copy())
        return y + norm.running_mean

    for _ in range(6):
        log.append(step(batch()))


@program
def the_memory_stays_the_same(wrap, log):
    norm = nn.BatchNorm1d(8)
    where = norm.running_mean.data_ptr()
    step = wrap(norm)
    for _ in range(6):
        y = step(batch())
        log += [y, norm.running_mean.data_ptr() == where, type(norm.running_mean).__name__]


@program
def saved_and_copied_between_steps(wrap, log):
    model = net()
    other = net()
    step = wrap(lambda x: model(x).square().mean())
    for k in range(8):
        loss = step(batch())
        if k % 2:
            other.load_state_dict(model.state_dict())
        if k == 5:
            other = copy.deepcopy(model)
        log += [loss, *state(other)]
        model[1].running_mean.mul_(0.5)


@program
def statistics_that_nobody_read_before_the_next_step(wrap, log):
    norm = nn.BatchNorm1d(8)
    step = wrap(norm)
    for _ in range(6):
        step(batch())
    log += state(norm)


@program
def cumulative_averages(wrap, log):
    norm = nn.BatchNorm1d(8, momentum=None)
    step = wrap(norm)
    for _ in range(20):
        log += [step(batch()), *state(norm)]


@program
def a_buffer_is_replaced(wrap, log):
    norm = nn.BatchNorm1d(8)
    step = wrap(norm)
    for k in range(8):
        if k == 4:
            norm.running_mean = wengert.ones(8)
        if k == 6:
            norm.track_running_stats = False
        log += [step(batch()), *state(norm)]


@program
def instance_norm_with_statistics(wrap, log):
    norm = nn.InstanceNorm2d(3, track_running_stats=True, affine=True)

    @wrap
    def step(x):
        y = norm(x)
        y.exp().sum().backward()
        return y

    for _ in range(6):
        log += [step(images()), *state(norm)]


@program
def an_error_after_the_update(wrap, log):
    norm = nn.BatchNorm1d(8)

    @wrap
    def step(x):
        y = norm(x)
        if x.shape[0] == 3:
            raise KeyError
        return y @ wengert.ones(9) if x.shape[0] == 5 else y

    for n in (4, 4, 4, 4, 3, 5, 4):
        try:
            log.append(step(batch(n)))
        except (KeyError, RuntimeError) as error:
            log.append(type(error).__name__)
        log += state(norm)


@program
def one_tensor_for_both_statistics(wrap, log):
    both = wengert.ones(8)

    @wrap
    def step(x):
        return F.batch_norm(x * 2, both, both, training=True)

    for _ in range(5):
        log += [step(batch()), both.clone()]


@program
def statistics_that_a_graph_has_saved(wrap, log):
    norm = nn.BatchNorm1d(8)
    w = wengert.ones(8, requires_grad=True)

    @wrap
    def step(x):
        y = norm(x)
        loss = (w * norm.running_mean * y).sum()
        z = norm(y)
        loss.backward()
        return z

    for _ in range(5):
        log += [step(batch()), w.grad.clone()]


@program
def recomputed_in_the_backward(wrap, log):
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(inplace=True))

    @wrap
    def step(x):
        model.zero_grad()
        y = wengert.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
        loss = (y * y).sum() + model(x).sum()
        loss.backward()
        return loss

    for _ in range(6):
        log += [step(batch()), *state(model)]


@program
def buffers_that_are_passed(wrap, log):
    model = net()

    @wrap
    def step(x):
        weights = {k: v.detach().clone().requires_grad_() for k, v in model.named_parameters()}
        buffers = {k: v.clone() for k, v in model.named_buffers()}
        y = wengert.func.functional_call(model, (weights, buffers), (x,))
        return *wengert.autograd.grad(y.square().sum(), [*weights.values()]), *buffers.values()

    for _ in range(6):
        log += [*step(batch()), *state(model)]


@program
def gradients_of_several_calls_are_added(wrap, log):
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x):
        loss = model(x).square().mean() / 4
        loss.backward()
        return loss

    for k in range(16):
        log += [step(batch()), *state(model)] if k % 3 else [step(batch())]
        if k % 4 == 3:
            optimizer.step()
            optimizer.zero_grad(set_to_none=k % 8 == 3)


@program
def two_backwards_onto_older_gradients(wrap, log):
    w = wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step(x):
        hidden = (x @ w).tanh()
        hidden.sum().backward(retain_graph=True)
        hidden.square().sum().backward()
        return hidden

    for k in range(9):
        log += [step(batch()), w.grad.clone()] if k != 4 else [step(batch())]
        if k == 6:
            w.grad = None


@program
def discriminator_and_generator(wrap, log):
    make, judge = nn.Linear(4, 8), nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    of_make = wengert.optim.SGD(make.parameters(), lr=0.1)
    of_judge = wengert.optim.SGD(judge.parameters(), lr=0.1)

    @wrap
    def step(x):
        judge.zero_grad()
        fake = make(wengert.randn(64, 4))
        F.softplus(-judge(x)).mean().backward()
        F.softplus(judge(fake.detach())).mean().backward()
        of_judge.step()
        make.zero_grad()
        loss = F.softplus(-judge(fake)).mean()
        loss.backward()
        of_make.step()
        return loss

    for _ in range(8):
        log += [step(batch()), *state(make), *state(judge)]


@program
def gradients_that_somebody_holds(wrap, log):
    w = wengert.randn(8, requires_grad=True)
    v = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x):
        loss = (x * w * v).sum()
        loss.backward()
        return loss

    step(batch())
    held, part, seen = w.grad, v.grad[2:4], v.grad.numpy()
    for _ in range(6):
        log += [step(batch()), held, held is w.grad, part, seen.copy(), w.grad * 2]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("trials", [True, False])
def test_updates(function: Program, trials: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not trials:
        monkeypatch.setattr(trial, "AS_IT_IS", range(0))
    compare(function)


def test_a_step_with_batch_norm_is_one_program() -> None:
    model = net()

    def step(x: wengert.Tensor) -> wengert.Tensor:
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    explained = compiler.explain(step)(batch())
    assert not explained.splits
