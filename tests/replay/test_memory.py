"""Which memory deferred values are computed from, and whose they show."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, check_same, compare, mlp, state
from wengert import compiler, nn
from wengert.replay import trial
from wengert.replay.run import current_run

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)


@program
def gradient_read_before_it_grows(wrap, log):
    w = wengert.randn(3, 3, requires_grad=True)

    @wrap
    def step(x):
        if w.grad is not None:
            w.grad.zero_()
        h = x @ w
        first, second = h.exp().mean(), h.square().mean()
        first.backward(retain_graph=True)
        before = w.grad.clone()
        second.backward()
        return before

    for _ in range(6):
        log += [step(wengert.ones(2, 3)), w.grad.clone()]


@program
def running_statistics_read_before_they_move(wrap, log):
    norm = nn.BatchNorm1d(8)

    @wrap
    def step(x):
        before = norm.running_mean * 2
        y = norm(x)
        return before, y

    for _ in range(5):
        log += [*step(batch()), *state(norm)]


@program
def custom_operator_that_writes(wrap, log):
    @wengert.library.custom_op("wengert_tests::double_it", mutates_args=("x",))
    def double_it(x: wengert.Tensor) -> None:
        x.numpy()[...] *= 2

    @wrap
    def step(x):
        before = x + 1
        double_it(x)
        return before, x * 1

    for _ in range(4):
        log += step(batch())


@program
def saved_value_overwritten(wrap, log):
    model = mlp(8, 64, 1)

    @wrap
    def step(x):
        y = model(x).sum() * 2
        with wengert.no_grad():
            model[2].weight.mul_(0.9)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()
        return y

    for _ in range(5):
        log += [step(batch()), *state(model)]  # `state` shows the parameters to NumPy


@program
def array_written_before_the_backward(wrap, log):
    memory = np.ones((8, 8), np.float32)
    x, w = wengert.from_numpy(memory), wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step():
        y = (x * w).sum()
        memory[0] *= 2
        y.backward()
        return y

    for _ in range(5):
        w.grad = None
        log += [step(), w.grad.clone()]


@program
def views_of_what_the_graph_saves(wrap, log):
    layer = nn.Linear(8, 4)

    @wrap
    def step(x):
        y = layer(x)
        z = y.square().mean()
        y.storage_offset()
        y._version  # noqa: B018 (reads)
        turned = y.t()
        log.append(turned._base is y)
        turned.detach().add_(1)
        return z, y, turned

    for _ in range(5):
        log += step(batch())


@program
def views_of_memory_that_numpy_shares(wrap, log):
    @wrap
    def step(x):
        doubled = x * 2
        flat = x.view(-1)
        with wengert.no_grad():
            flat[0] = 7
        return doubled, flat, x * 1

    for _ in range(5):
        memory = np.ones((4, 4), np.float32)
        log += step(wengert.from_numpy(memory))
        log.append(memory)


@program
def detached_and_written(wrap, log):
    w = wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step(x):
        hidden = x @ w
        other = hidden.clone()
        cut = other.detach()
        log.append(cut._base is None)
        cut.zero_()
        return hidden, other, cut

    for _ in range(5):
        log += step(batch())


@program
def equal_results_are_not_one(wrap, log):
    w = wengert.randn(8, 8, requires_grad=True)

    @wrap
    def step(x):
        first, second = x * 2, x * 2
        flat = second.view(-1)
        third, fourth = w.exp(), w.exp()
        return first, second, flat, third, fourth

    for _ in range(5):
        w.grad = None
        first, second, flat, third, fourth = step(batch())
        second.add_(1)
        first.mul_(3)
        third.detach().mul_(2)
        fourth.sum().backward()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            third.sum().backward()
        log += [first, second, flat, third, fourth, w.grad.clone(), flat._base is second]


@program
def views_of_results_in_other_layouts(wrap, log):
    layer = nn.Linear(8, 4)

    @wrap
    def step(x):
        parts = [layer(x * k) for k in (1, 2, 3)]
        turned = x.t() * 2
        views = [parts[0].view(-1), parts[1].t(), turned.t(), *turned.chunk(2)]
        return parts, turned, views, views[0].detach()

    for _ in range(5):
        parts, turned, views, cut = step(batch())
        with wengert.no_grad():
            for p in (*parts, turned):
                p.add_(1)
        log += [*parts, turned, *views, cut, *[v._base is not None for v in views]]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("trials", [True, False])
def test_memory(function: Program, trials: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not trials:
        monkeypatch.setattr(trial, "AS_IT_IS", range(0))
    compare(function)


def test_results_are_arrays_when_another_thread_runs_the_program() -> None:
    def several(x: wengert.Tensor) -> wengert.Tensor:
        for _ in range(30):
            x = (x @ x).tanh() + x
        return x.sum()

    step = compiler.compile(several)
    x = wengert.randn(32, 32)
    for _ in range(2):
        step(x).item()
    found: list[list[wengert.Tensor]] = [[], [], []]

    def work(k: int) -> None:
        for _ in range(20):
            found[k].append(step(x))
            found[k][-1].item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for y in [y for one in found for y in one]:
        assert type(y._array) is np.ndarray
        check_same(y, several(x))


def test_where_a_result_left_its_graph_is_found_in_one_pass() -> None:
    def several(x: wengert.Tensor) -> wengert.Tensor:
        for _ in range(60):  # with each, twice as many ways lead back to x
            x = x * 0.5 + x
        return x

    step = compiler.compile(several)
    x = wengert.ones(3)
    for _ in range(3):
        check_same(step(x), several(x))


CALLS = {
    "index": lambda x: x[INDEX],
    "index and slice": lambda x: x[INDEX].sum() + x[1:, :2].sum(),
    "mask": lambda x: x[MASK],
    "write": lambda x: wengert.index_put(x, (INDEX,), wengert.zeros(2, 3)),
    "trace": lambda x: x.trace(),
    "loss": lambda x: nn.functional.cross_entropy(x, CLASSES),
    "rms_norm": lambda x: nn.functional.rms_norm(x, (3,)),
    "gumbel_softmax": lambda x: nn.functional.gumbel_softmax(x),
    "linear": lambda x: nn.functional.linear(x, x),
}  # fmt: skip
INDEX, CLASSES = wengert.tensor([0, 2]), wengert.tensor([0, 1, 2, 0])
MASK = wengert.tensor([True, False, True, True])


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_memory_that_nobody_else_has_is_not_copied(call: Program) -> None:
    x = wengert.randn(4, 3, requires_grad=True)
    copied: list[int] = []

    @compiler.compile
    def step():
        x.grad = None
        out = call(x).sum()
        run = current_run()
        if run is not None:
            copied.extend(k for k in run.copies if run.originals[k] is x._array)
        out.backward()

    for _ in range(5):
        step()
        assert x.grad.isfinite().all()
    assert copied == []
