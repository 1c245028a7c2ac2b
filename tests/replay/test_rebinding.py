"""In-place operations in compiled functions."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.replay.harness import Log, Program, adding_to, batch, compare, state
from wengert import compiler, nn
from wengert.nn import functional as F
from wengert.replay import rebinding, trial

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


class Block(nn.Module):
    """A residual block as it is often written, in place wherever that is allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (nn.Conv2d(6, 6, 3, padding=1, bias=False) for _ in range(2))
        self.norms = nn.ModuleList([nn.BatchNorm2d(6), nn.BatchNorm2d(6)])
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.norms[0](self.first(x)))
        out = self.norms[1](self.second(out))
        out += x
        return self.relu(out)


def residual_step():
    model = nn.Sequential(Block(), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 1))
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, step


@program
def residual_blocks(wrap, log):
    model, step = residual_step()
    step = wrap(step)
    for _ in range(7):
        log += [step(wengert.randn(4, 6, 8, 8)), *state(model)]


@program
def what_a_graph_has_saved_is_not_overwritten(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x, kind):
        y = (x * w).exp() if kind == 0 else x * w
        z = y.square() if kind == 1 else y
        y.mul_(2)
        (y.sum() + z.sum()).backward()
        return y

    for kind in (2, 0, 2, 1, 2, 0, 1, 2, 2):
        w.grad = None
        try:
            log.append(step(batch(), kind))
        except RuntimeError as error:
            log.append(str(error).split(":")[0])
        log.append(w.grad)


@program
def views_and_names(wrap, log):
    @wrap
    def step(x):
        y = x * 2
        same, part = y, y[1:3]
        y.add_(1)
        z = x.exp()
        rows = z.view(-1)[:5]
        z += y
        u = x + 1
        u -= same
        v = u.detach()
        u *= 3
        return same, part, z, rows, u, v

    for _ in range(6):
        log += step(batch())


@program
def views_that_are_gone(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x, kind):
        y = x * w
        total = y.detach().sum() + y[0].detach()[2:].sum()
        kept = y.view(-1)[:3].detach() if kind == 1 else None
        saved = (y.detach()[0] * w).sum() if kind == 2 else 0
        first = y[:2] * 2
        y.mul_(2)
        y += total
        y[y.detach() > 3] = 0.0
        (y.sum() + first.sum() + saved).backward()
        return y, kept, total, y._version

    for kind in (0, 0, 0, 1, 2, 0, 1, 2):
        w.grad = None
        try:
            log += step(batch(), kind)
        except RuntimeError as error:
            log.append(str(error).split(":")[0])
        log.append(w.grad)


@program
def parts_of_values(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x, kind):
        y = x * 2
        other = y[5:] if kind == 1 else None
        row = y[1:3]
        row += 1
        y[0].mul_(3)
        y[:, 1].zero_()
        y[..., 2:4].copy_(x[:, :2])
        y[4][2:] = x[0, 2:]
        row -= y[0] * 2
        below = row[0]
        below.exp_()
        z = x * w if kind == 2 else x + w.detach()
        z[1].mul_(2)
        z[2] += w if kind == 3 else y[0]
        total = (z * y).sum() + row.tanh().sum()
        if kind > 1:
            total.backward()
        return y, row, below, other, z, total, y._version, row._version, z._version

    for kind in (0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 0):
        w.grad = None
        y, row, *others = step(batch(), kind)
        row.add_(1)
        log += [y, row, *others, w.grad, y._version]


@program
def versions(wrap, log):
    @wrap
    def step(x):
        y = x * 2
        y.add_(1)
        z = y + 1
        return y.mul_(2), z.relu_(), y.exp()

    for _ in range(7):
        results = step(batch())
        results[1].add_(1)
        log += [*results, *[r._version for r in results]]
        shown = step(batch())[0].detach()  # of what is gone
        log += [shown._version, shown]


@program
def arguments_and_results(wrap, log):
    @wrap
    def step(x, carried):
        x.mul_(2)
        y = x + 1
        carried += y
        y.clamp_(-1, 1)
        return carried, y.tanh_()

    carried = wengert.zeros(64, 8)
    for _ in range(6):
        x = batch()
        carried, y = step(x, carried)
        y.add_(1)
        log += [x, carried.clone(), y]


@program
def running_totals(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x):
        total = wengert.zeros(())
        for k in range(3):
            total += (x * w * k).tanh().sum()
        total /= 3
        total.backward()
        return total

    for _ in range(6):
        w.grad = None
        log += [step(batch()), w.grad.clone()]


@program
def gradients_that_are_scaled(wrap, log):
    model = nn.Linear(8, 64)

    @wrap
    def step(x):
        model.zero_grad()
        model(x).square().sum().backward()
        for p in model.parameters():
            p.grad.mul_(0.5).add_(p.detach(), alpha=0.1)
        return model.weight.grad

    for _ in range(6):
        log += [step(batch()), *state(model)]


@program
def noise_in_place(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x):
        y = F.dropout(x * w, 0.5, inplace=True)
        y += wengert.randn(8)
        y.sum().backward()
        return F.relu(y, inplace=True)

    for _ in range(6):
        w.grad = None
        log += [step(batch()), w.grad.clone()]


@program
def other_shapes_and_dtypes(wrap, log):
    @wrap
    def step(x, kind):
        y = x * 2
        if kind == 1:
            y += wengert.ones(3, 64, 8)
        elif kind == 2:
            y += wengert.ones(8, dtype=wengert.float64)
        elif kind == 3:
            y = (x > 0) & (x < 1)
            y |= x > 2
        elif kind == 4:
            y = y.t()
            y += 1
        y.add_(1) if kind != 3 else y.logical_not_()
        return y

    for kind in (0, 1, 2, 3, 4, 0, 2, 4, 1, 3, 0, 4, 2):
        try:
            log.append(step(batch(), kind))
        except RuntimeError as error:
            log.append(str(error).split("(")[0])


@program
def now_and_then(wrap, log):
    @wrap
    def step(x):
        y = x * 2
        if random.random() < 0.5:
            y.relu_()
        z = y + 1
        if random.random() < 0.3:
            log.append(z.mean().item())
        z.mul_(y)
        return y, z

    for _ in range(20):
        log += step(batch())


@program
def without_a_graph_and_with_one(wrap, log):
    w = wengert.randn(8, requires_grad=True)

    @wrap
    def step(x):
        with wengert.no_grad():
            y = x * w
            y.add_(w)
        y.mul_(w)
        y.sum().backward()
        return y

    for _ in range(6):
        w.grad = None
        log += [step(batch()), w.grad.clone()]


@program
def memory_that_is_there_already(wrap, log):
    w = wengert.randn(8, requires_grad=True)
    average, decay = wengert.zeros(8), wengert.tensor(0.9)

    @wrap
    def step(x):
        keep = wengert.empty(64, 8).bernoulli_(0.5)
        keep.div_(0.5)
        y = (x * w * keep).tanh()
        with wengert.no_grad():
            average.mul_(decay).add_(w, alpha=0.1)
        y.sum().backward()
        return y

    for _ in range(6):
        w.grad = None
        log += [step(batch()), w.grad.clone(), average.clone()]


@program
def other_ways_to_write(wrap, log):
    @wrap
    def step(x):
        given, copied, emptied, filled = x * 2, x + 1, x * 3, x - 1
        wengert.add(x, 1, out=given)
        copied.copy_(given * 2)
        emptied.zero_()
        filled.fill_(2.0)
        part, shown = x * 5, x.clone()
        part[1:3] = 7
        shown.data.add_(1)
        for wrong in (x[None], x[:3], x.double()):
            try:
                (x * 2).copy_(wrong)
            except RuntimeError as error:
                log.append(str(error))
        return given, copied, emptied, filled, part, shown

    for _ in range(6):
        log += step(batch())


@program
def values_that_go_on_to_another_function(wrap, log):
    first = wrap(lambda x: (x * 2, x + 1))
    second = wrap(lambda a, b: (a.add_(b), b.mul_(2), a + b))
    for _ in range(8):
        a, b = first(batch())
        c, d, e = second(a, b)
        a += 1
        log += [a, b, c, d, e, c is a]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("trials", [True, False])
def test_rebinding(function: Program, trials: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not trials:
        monkeypatch.setattr(trial, "AS_IT_IS", range(0))
    compare(function)


def test_residual_blocks_in_place_are_one_program() -> None:
    _, step = residual_step()
    assert not compiler.explain(step)(wengert.randn(4, 6, 8, 8)).splits


def test_views_that_are_gone_split_nothing() -> None:
    def step(x: wengert.Tensor) -> wengert.Tensor:
        y = x * 2
        y += y.detach()[0].sum()
        return y.exp()

    assert not compiler.explain(step)(batch()).splits


def test_writes_to_parts_split_nothing() -> None:
    def step(x: wengert.Tensor) -> wengert.Tensor:
        y = x * 2
        y[0].mul_(3)
        y[:, 1].zero_()
        y[..., 2:4].copy_(x[:, :2])
        return y.exp()

    assert not compiler.explain(step)(batch()).splits


def test_in_place_operations_on_other_memory_end_no_program() -> None:
    def step(x: wengert.Tensor) -> wengert.Tensor:
        y = x * 2
        keep = wengert.empty(64, 8).bernoulli_(0.5)
        keep.div_(0.5)
        return (y * keep).sum()

    assert not compiler.explain(step)(batch()).splits


def test_whether_a_value_may_be_replaced_is_asked_of_what_came_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    read = rebinding._read
    monkeypatch.setattr(rebinding, "_read", lambda *given: asked.append(1) or read(*given))

    def step(x, times):
        for _ in range(times):
            x = x * 0.5
            x += 1
        return x

    numbers = []
    for times in (10, 40):
        asked.clear()
        compiled = compiler.compile(step)
        result = compiled(wengert.ones(3), times)
        numbers.append(len(asked))
        assert result.tolist() == pytest.approx([2 - 0.5**times] * 3)
    assert numbers[1] == 4 * numbers[0] > 0


@pytest.mark.parametrize(
    "write",
    [
        lambda h: h.mul_(2),
        lambda h: h.clamp_(0, 1),
        lambda h: h.cumsum_(0),
        lambda h: h.zero_(),
        lambda h: h.__setitem__(0, 1.0),
        lambda h: h.view(-1)[0].fill_(3),
    ],
)
def test_a_write_under_no_grad_keeps_the_graph(write: Callable[[Any], Any]) -> None:
    def writing(wrap: Any, log: Log) -> None:
        w = wengert.randn(4, requires_grad=True)

        @wrap
        def step(x: Any) -> Any:
            h = x - w
            with wengert.no_grad():
                write(h)
            (h * x).sum().backward()
            return h

        for _ in range(5):
            w.grad = None
            h = step(wengert.randn(3, 4))
            log += [h, h.requires_grad, w.grad]

    compare(writing)


def test_each_entry_is_asked_once_however_many_views_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    read = rebinding._read
    monkeypatch.setattr(rebinding, "_read", lambda *given: asked.append(1) or read(*given))

    def step(x, times):
        y = x * 2
        total = sum([y[k] * 3 for k in range(times)])
        y += 1
        return y.sum() + total

    numbers = []
    for times in (10, 40):
        asked.clear()
        result = compiler.compile(step)(wengert.ones(64), times)
        numbers.append(len(asked))
        assert result.item() == 3 * 64 + 6 * times
    assert 0 < numbers[1] <= 4 * numbers[0]


def test_a_view_of_a_view_that_is_alive_shows_what_is_written() -> None:
    def step(x: wengert.Tensor) -> wengert.Tensor:
        y = x * 2
        part = y.view(8, 64)[1:3]
        y += 1
        return part * y[0, 0]

    x = batch()
    expected = step(x)
    compiled = compiler.compile(step)
    for _ in range(4):
        assert wengert.equal(compiled(x), expected)
