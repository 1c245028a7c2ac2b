"""Numbers that are read before a backward: the run goes on behind them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare, mlp, state
from wengert import nn
from wengert.compiler import compile as compiled
from wengert.compiler import explain
from wengert.graph import why
from wengert.nn import functional as F
from wengert.replay.settling import compute

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


def train(wrap: Any, log: list[Any], model: nn.Module, step: Callable[..., Any]) -> None:
    """Some steps of a function of a model, an optimizer, a batch, and the number of the step."""
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)
    function = wrap(step)
    for k in range(7):
        log += [function(model, optimizer, batch(5 if k == 5 else 64), k), *state(model)]


@program
def a_loss_that_has_to_be_finite(wrap, log):
    def step(model, optimizer, x, k):
        loss = F.cross_entropy(model(x), x[:, 0].gt(0).long())
        if not math.isfinite(loss.item()):
            raise FloatingPointError
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    train(wrap, log, mlp(8, 64, 3), step)


@program
def numbers_of_every_kind(wrap, log):
    def step(model, optimizer, x, k):
        y = model(x)
        loss = y.square().mean()
        log.extend(
            [float(loss), bool(loss > 0.5), int(y.gt(0).sum()), y[0].tolist(), f"{loss:.3f}"]
        )
        log.extend([loss.item(), loss.item(), y.detach().max().item(), y.argmax(1)[:3].tolist()])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return y

    train(wrap, log, mlp(8, 64, 3), step)


@program
def prints(wrap, log):
    def step(model, optimizer, x, k):
        y = model(x)
        loss = y.square().mean()
        log.extend([repr(loss)[:10], str(loss).split("grad_fn")[1], f"{y.detach()[0, :2]}"[:8]])
        log.extend([repr(y).split("grad_fn")[1], repr(y.chunk(3, 1)[1]).split("grad_fn")[1]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    train(wrap, log, mlp(8, 64, 3), step)


@program
def another_way_each_time(wrap, log):
    def step(model, optimizer, x, k):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        if loss.item() > 0.1 and k % 3:
            loss = loss + model(x).abs().mean()
        elif k % 2:
            loss = loss * 0.5
        if k == 4:
            return loss
        loss.backward()
        optimizer.step()
        return loss

    train(wrap, log, mlp(8, 64, 3), step)


@program
def buffers_and_noise(wrap, log):
    model = nn.Sequential(
        nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
        nn.LayerNorm(32), nn.Linear(32, 1),
    )  # fmt: skip

    def step(model, optimizer, x, k):
        loss = model(x + 0.1 * wengert.randn_like(x)).square().mean()
        log.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train(wrap, log, model, step)


@program
def images(wrap, log):
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2),
    )  # fmt: skip

    def step(model, optimizer, x, k):
        y = model(x[:, None, :, None].expand(-1, -1, -1, 8))
        loss = F.cross_entropy(y, wengert.zeros(len(x), dtype=wengert.int64))
        log.append((y.argmax(1) == 0).float().mean().item())
        log.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    train(wrap, log, model, step)


@program
def an_adversarial_pair(wrap, log):
    generator, critic = mlp(8, 64, 8), mlp(8, 64, 1)
    optimizers = [wengert.optim.Adam(m.parameters(), lr=0.01) for m in (critic, generator)]

    @wrap
    def step(x):
        optimizers[0].zero_grad()
        real = critic(x).sigmoid()
        loss = -real.log().mean()
        loss.backward()
        log.append(real.mean().item())
        fake = generator(wengert.randn_like(x))
        seen = critic(fake.detach()).sigmoid()
        other = -(1 - seen).log().mean()
        other.backward()
        log.append(seen.mean().item())
        optimizers[0].step()
        optimizers[1].zero_grad()
        last = critic(fake).sigmoid()
        loss = -last.log().mean()
        log.append(last.mean().item())
        loss.backward()
        optimizers[1].step()
        return loss

    for _ in range(6):
        log += [step(batch()), *state(generator), *state(critic)]


@program
def a_graph_that_is_kept(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x):
        loss = model(x).square().mean()
        log.append(loss.item())
        loss.backward(retain_graph=True)
        log.append(loss.item())
        (g,) = wengert.autograd.grad(loss, [model[0].weight], create_graph=True)
        log.append(g.norm().item())
        g.square().sum().backward()
        return loss

    for _ in range(6):
        loss = step(batch())
        log += [loss, *state(model)]
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()


@program
def memory_that_others_write_to(wrap, log):
    data = np.ones((64, 8), np.float32)
    x, w = wengert.from_numpy(data), wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step():
        y = (x @ w).tanh() @ w
        log.append(y.sum().item())
        data[:] += 0.125
        z = y.exp()
        log.append(z.sum().item())
        with wengert.no_grad():
            w.mul_(0.9)
        return z

    for _ in range(6):
        z = step()
        log.append(z)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.sum().backward()


@program
def a_value_that_is_written_to(wrap, log):
    w = wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step(x):
        y = x @ w
        log.append(y[0, 0].item())
        y.mul_(2)
        log.append(y[0, 0].item())
        y[0] = 0
        log.append(y.tolist()[0])
        y.tanh().sum().backward()
        return y

    for _ in range(6):
        log += [step(batch()), w.grad.clone()]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_program(function: Program) -> None:
    compare(function)


def _step() -> tuple[Any, Any]:
    model = mlp(8, 64, 3)
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)

    def step(x: Any) -> float:
        loss = model(x).square().mean()
        number = loss.item()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return number

    return step, compiled(step)


def test_forwards_are_computed_once() -> None:
    """What the program of a number has computed is an input of the one that computes the rest."""
    _, step = _step()
    for _ in range(8):
        step(batch())
    (reading,) = step.compiled.record.readings.values()
    (plan,) = [p for p in step.compiled.record.plans.values() if p.before]
    assert plan.before == (reading,)
    assert len(reading.kept) > 2
    forwards = {i.name for i in reading.program.instructions} & {"linear", "tanh"}
    assert not forwards & {i.name for i in plan.program.instructions}


def test_a_read_is_told_and_splits_nothing() -> None:
    step, _ = _step()
    found = explain(step)(batch())
    (line,) = found.ahead
    assert "number = loss.item()" in line
    assert "read before a backward: " in str(found)
    assert not any("loss.item()" in split for split in found.splits)
    assert len(found.programs) >= 2


def test_the_end_of_a_graph_is_no_reason_to_read_ahead() -> None:
    """Once a backward has released the graph, a read settles the run as ever."""
    w = wengert.randn(8, 8, requires_grad=True)

    @compiled
    def step(x: Any) -> float:
        loss = (x @ w).tanh().sum()
        loss.backward()
        number: float = loss.item()
        return number

    for _ in range(6):
        step(batch())
    assert not step.compiled.record.readings


def test_checks_that_take_long_keep_what_they_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of probabilities, say, of which a loss refuses those beyond 1."""
    monkeypatch.setattr("wengert.replay.peeking._MOST_BYTES", 0)
    model = mlp(8, 64, 1)

    def step(x: Any) -> Any:
        model.zero_grad()
        loss = F.binary_cross_entropy(model(x).sigmoid(), x[:, :1].gt(0).float())
        loss.backward()
        return loss

    whole = compiled(step)
    for _ in range(6):
        x = batch()
        loss, found = whole(x), state(model)
        wengert.testing.assert_close(loss, step(x))
        for ours, eager in zip(found, state(model), strict=True):
            np.testing.assert_allclose(ours, eager, rtol=1e-5, atol=1e-7)
    scores, _ = whole.compiled.record.readings.values()  # and those of the targets
    assert "linear" in {i.name for i in scores.program.instructions}


def test_values_that_leave_the_graph_are_noted() -> None:
    w = wengert.ones(3, requires_grad=True)

    @compiled
    def step(x: Any) -> Any:
        y = (x * w).exp().sum()
        return wengert.tensor(y.item())

    for _ in range(5):
        loss = step(wengert.rand(3))
    assert step.compiled.record.readings
    told = str(why(loss))
    assert "item()" in told
    assert "test_reading.py" in told


def test_values_are_those_that_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor's elements are to the bit those that were read of it before."""
    w = wengert.randn(8, 8, requires_grad=True)
    seen = list[tuple[list[Any], Any]]()

    @compiled
    def step(x: Any) -> None:
        y = (x @ w).tanh().exp()
        number = y.tolist()
        y.sum().backward()
        seen.append((number, y))

    settled = list[Any]()
    monkeypatch.setattr("wengert.replay.run.compute", lambda *args: settled.append(compute(*args)))
    for _ in range(6):
        step(batch(7))
    assert all(y.detach().numpy().tolist() == number for number, y in seen)
    assert settled


def test_few_steps_behind_a_read_are_computed_when_they_are_called() -> None:
    """What is deferred is worth it: gradients' norms, read one by one, are not."""
    weights = [wengert.randn(8, 8, requires_grad=True) for _ in range(5)]

    @compiled
    def step(x: Any) -> float:
        for w in weights:
            x = (x @ w).tanh()
        x.sum().backward()
        norm = sum(w.grad.norm().item() for w in weights)  # type: ignore[union-attr]
        for w in weights:
            w.grad = None
        return norm

    def norm(x: Any) -> float:
        return step.__wrapped__(x)  # type: ignore[no-any-return]

    for _ in range(12):
        x = batch()
        assert step(x) == pytest.approx(norm(x), rel=1e-4)
    record = step.compiled.record
    settled, size = record.settled, record.size
    step(batch())
    assert (record.settled, record.size) == (settled + 1, size)
    assert not record.retired


def test_a_line_whose_runs_are_long_now_and_then_is_deferred() -> None:
    w = wengert.randn(8, 8)

    def some(x: Any, count: int) -> Any:
        for _ in range(count):
            x = (x @ w).tanh()
        return x

    @compiled
    def step(x: Any, count: int) -> float:
        assert some(x, 4).isfinite().all()
        number: float = some(x, count).sum().item()
        return number

    for k in range(20):
        x, count = batch(), 8 if k < 6 else 1
        expected = step.__wrapped__(x, count)
        assert step(x, count) == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert not any(count >= 3 for count in step.compiled.record.brief.values())
