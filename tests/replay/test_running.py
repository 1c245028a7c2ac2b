"""Calls that may never skip their Python: it does more than operations on record."""

from __future__ import annotations

import random
import time
import types
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare_skipping, skipping

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

PROGRAMS: list[Program] = []
never = adding_to(PROGRAMS)


def calls(f: Any, log: list[Any], *args: Any, count: int = 5) -> None:
    """Some calls, each with its result in the log."""
    log += [f(*args) for _ in range(count)]


@never
def a_list_that_grows(wrap, log):
    losses: list[Any] = []

    @wrap
    def f(x):
        y = x.tanh().sum()
        losses.append(y)
        return y

    calls(f, log, batch())
    log += [len(losses), *losses]


@never
def counters(wrap, log):
    table, holder = {"calls": 0}, types.SimpleNamespace(calls=0)

    @wrap
    def f(x):
        table["calls"] += 1
        holder.calls += 1
        f.calls = getattr(f, "calls", 0) + 1
        return x.tanh().sum()

    calls(f, log, batch())
    log += [table["calls"], holder.calls, f.calls]


@never
def random_numbers_of_python(wrap, log):
    generator = np.random.default_rng(0)
    own = random.Random(3)
    np.random.seed(0)
    x = batch()
    for draw in (random.random, own.random, generator.random, np.random.rand, time.perf_counter_ns):
        f = wrap(lambda x, draw=draw: (x * (1.0 if draw() < 0.5 else 2.0)).tanh().sum())
        calls(f, log, x, count=12)


@never
def an_iterator(wrap, log):
    numbers = iter(range(1, 100))
    f = wrap(lambda x: (x * float(next(numbers))).tanh().sum())
    calls(f, log, batch(), count=8)


@never
def a_generator(wrap, log):
    def numbers():
        for k in range(1, 100):
            yield float(k)

    source = numbers()
    f = wrap(lambda x: (x * next(source)).tanh().sum())
    calls(f, log, batch(), count=8)


@never
def values_of_arguments(wrap, log):
    x, flag = batch(), wengert.tensor(1.0)
    for read in (
        lambda t: t.item(), float, bool, lambda t: t.numpy().item(), lambda t: t.tolist(), str,
        lambda t: len(wengert.nonzero(t.reshape(1))), lambda t: wengert.equal(t, t * 0),
        lambda t: format(t, ".1f"), int,
    ):  # fmt: skip
        flag.fill_(1.0)
        f = wrap(lambda x, t, read=read: x.tanh() if str(read(t)).startswith("1") else x.exp())
        calls(f, log, x, flag)
        flag.zero_()
        calls(f, log, x, flag)


@never
def functions_of_generated_code(wrap, log):
    x = wengert.randn(4, 4)
    calls(wrap(lambda x: wengert.linalg.lu(x * 1)[2].tanh().sum()), log, x)


@never
def prints(wrap, log):
    lines: list[str] = []
    out = types.SimpleNamespace(write=lines.append, flush=lambda: None)

    @wrap
    def f(x):
        y = x.tanh()
        print("called", file=out)
        return y.sum()

    calls(f, log, batch())
    log.append(lines)


@never
def generators_of_a_call(wrap, log):
    f = wrap(lambda x: (x * wengert.rand(64, 8, generator=wengert.Generator())).tanh().sum())
    calls(f, log, batch(), count=8)


@never
def writes(wrap, log):
    total, x = wengert.zeros(64, 8), batch()

    @wrap
    def f(x):
        total[0] = x[0] + total[0]
        return (total * 2).sum()

    calls(f, log, x, count=8)
    log.append(total)


@never
def settings_that_change(wrap, log):
    def f(x):
        wengert.manual_seed(3)
        return x.tanh().sum()

    f = wrap(f)
    for _ in range(6):
        log += [f(batch()), wengert.rand(1)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_python_runs_where_it_does_more(program: Program) -> None:
    functions = compare_skipping(program)
    assert [f.skipped for f in functions] == [0] * len(functions)
    assert all(f.reason for f in functions)


def test_calls_that_give_no_shortcut_are_watched_a_few_times_only() -> None:
    calls_made: list[int] = []

    @skipping
    def f(x):
        calls_made.append(1)
        return x.tanh().sum()

    for _ in range(60):
        f(batch())
    assert len(calls_made) == 60
    assert f.compiled.watched <= 8
