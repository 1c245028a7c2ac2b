"""Calls that skip their Python though they clip gradients, or end with reading values."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

import tests.replay
import wengert
from tests.replay.harness import Program, adding_to, batch, compare_skipping, mlp, skipping, state
from wengert import nn
from wengert.compiler import explain
from wengert.nn import functional as F

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

# Programs whose functions skip some calls, and those that run their Python at every call.
SKIPPED: list[Program] = []
skipped = adding_to(SKIPPED)
NEVER: list[Program] = []
never = adding_to(NEVER)


@skipped
def names_that_are_imported_in_the_function(wrap, log):
    def put() -> Any:
        made = sys.modules["tests.replay.imported"] = types.ModuleType("imported")
        tests.replay.imported = made
        return made

    module = put()

    @wrap
    def f(x):
        import tests.replay.imported

        from .imported import scale

        return x * scale + tests.replay.imported.shift

    for k in range(12):
        if k % 4 == 0:
            module.scale, module.shift = float(k), 1.0
        if k == 8:
            module = put()
            module.scale, module.shift = 3.0, 4.0
        if k == 10:
            module.shift = 5.0
        log.append(f(batch()))
    del sys.modules["tests.replay.imported"], tests.replay.imported


@skipped
def kinds_of_arguments(wrap, log):
    f = wrap(lambda x: x * 2 if isinstance(x, nn.Parameter) else x * 3)
    own = nn.Parameter(batch())
    for k in range(16):
        log.append(f(own if k % 8 < 4 else batch().requires_grad_()))


@skipped
def clipped_gradients(wrap, log):
    model = mlp(8, 64, 3)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    limits = {"norm": 0.1, "value": 0.01, "order": 2.0}

    def by_norm(parameters):
        return nn.utils.clip_grad_norm_(parameters, limits["norm"], limits["order"])

    def by_value(parameters):
        nn.utils.clip_grad_value_(parameters, limits["value"])

    def by_given(parameters):
        norm = nn.utils.clip_grad_norm_(parameters, 1e6)
        nn.utils.clip_grads_with_norm_(parameters, limits["norm"], norm)
        return norm * 2

    def stepping(clip):
        def step(x, target):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            norm = clip([p for p in model.parameters() if p.requires_grad])
            optimizer.step()
            return loss, norm

        return wrap(step)

    target = wengert.arange(64) % 3
    changes = [
        lambda: limits.update(norm=1e-3, value=1e-3),
        lambda: limits.update(order=float("inf")),
        lambda: model[0].bias.requires_grad_(False),
        lambda: setattr(model[0].bias, "grad", None),
        lambda: model[0].bias.requires_grad_(True),
        lambda: model[0].weight.data.mul_(3),
        lambda: target.fill_(1),
        lambda: optimizer.param_groups[0].update(lr=0.3),
    ]
    for step in map(stepping, (by_norm, by_value, by_given)):
        limits.update(norm=0.1, value=0.01, order=2.0)
        for change in changes:
            for _ in range(4):
                log += [*step(batch(), target), *state(model)]
            change()


@skipped
def values_that_are_returned(wrap, log):
    model, x = mlp(8, 64, 3), batch()
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x, target):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        value = loss.item()
        return {"loss": value, "norm": float(norm), "same": value, "other": 0.5}

    @wrap
    def two(x):
        doubled, mean = x * 2, x.mean()
        return doubled, x.exp().mean().item(), 1.0, mean.item()

    one = wrap(lambda x: float((x @ model[0].weight.t()).tanh().sum()))
    target = wengert.arange(64) % 3
    changes = [
        lambda: model[0].weight.data.mul_(2),
        lambda: x.mul_(0.5),
        lambda: target.fill_(2),
        lambda: setattr(model[0], "weight", nn.Parameter(wengert.ones(64, 8))),
        lambda: x.fill_(float("nan")),
        lambda: x.fill_(1.0),
    ]
    for change in changes:
        for _ in range(5):
            log += [*step(x, target).values(), *two(x), one(x), *state(model)]
        change()


@never
def values_that_python_sees(wrap, log):
    kept, seen = [], {}

    def appended(x):
        value = x.exp().sum().item()
        kept.append(value)
        return value

    def decided(x):
        value = x.exp().sum().item()
        return value if value > 1000 else -value

    def kept_elsewhere(x):
        seen["last"] = x.exp().sum().item()
        return 0

    def at_last(x):
        try:
            return x.exp().sum().item()
        finally:
            kept.append(1)

    functions = [
        *(appended, decided, kept_elsewhere, at_last),
        lambda x: x.exp().sum().item() * 2,
        lambda x: next(iter({x.exp().sum().item(): 1})),
        lambda x: {x.exp().sum().item(): 1},
        lambda x: float(f"{x.exp().sum().item():.3f}"),
        lambda x: ((x > 0.3).sum().item(), 64 * 8),
        lambda x: -(lambda: x.exp().sum().item())(),
        lambda x: x.exp().sum().item().is_integer(),
        lambda x: (x.exp().sum().item(), x * 2)[0],
    ]
    for function in map(wrap, functions):
        x = wengert.ones(64, 8)
        for k in range(12):
            if k % 4 == 3:
                x.mul_(0.5)
            result = function(x)
            numbers = list(result) if isinstance(result, dict) else [result]
            log += [numbers, list(kept), seen.get("last")]


@never
def clipping_that_may_raise(wrap, log):
    model, x = mlp(8, 64, 3), batch()

    @wrap
    def step(x):
        model.zero_grad()
        model(x).sum().backward()
        try:
            return nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        except RuntimeError:
            return None

    for k in range(12):
        if k == 6:
            x[0] = float("inf")
        log += [step(x), *state(model)]


@never
def more_than_is_done_again(wrap, log):
    model, count = mlp(8, 64, 3), wengert.zeros(1)
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    def counted_before_a_step(x):
        optimizer.zero_grad()
        count[0] = count[0] + 1
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    def counted_before_clipping(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        count[0] = count[0] + 1
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        return loss.item()

    def a_backward_afterwards(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        more = model(x).abs().mean()
        more.backward(inputs=[model[0].weight])
        return more.detach()

    for function in map(
        wrap, (counted_before_a_step, counted_before_clipping, a_backward_afterwards)
    ):
        for _ in range(6):
            log += [function(batch()), count.clone(), *state(model)]


@never
def arguments_that_are_changed(wrap, log):
    def appended(x, items, table):
        items.append(x * 2)

    def reversed_in_place(x, items, table):
        items.reverse()

    def assigned(x, items, table):
        table["inner"][0] = x

    def moved_to_the_end(x, items, table):
        table["first"] = table.pop("first")

    def named(x, items, table):
        x.label = "batch"

    def shown_elsewhere(x, items, table):
        x.set_(x * 2)

    for change in (appended, reversed_in_place, assigned, moved_to_the_end, named, shown_elsewhere):

        @wrap
        def f(x, items, table, change=change):
            y = x.tanh()
            change(x, items, table)
            return y * 2

        for _ in range(6):
            x, items, table = batch(), [batch(), 2.5], {"first": 1, "inner": [None]}
            log += [f(x, items, table), len(items), items[-1], [*table], table["inner"][0]]
            log += [x, getattr(x, "label", None)]


@never
def results_that_are_met_elsewhere(wrap, log):
    options = {"rate": 0.5}

    def given(x, items):
        return x.tanh(), items

    def of_a_cell(x, items):
        return x.tanh(), options

    def twice(x, items):
        both = [x.tanh()]
        return both, both

    for function in map(wrap, (given, of_a_cell, twice)):
        for _ in range(6):
            items = [1]
            first, last = function(batch(), items)
            log += [first, last is items, last is options, last is first]


@never
def settings_that_are_left_changed(wrap, log):
    @wrap
    def f(x):
        wengert.set_grad_enabled(False)
        return x.tanh()

    for _ in range(6):
        log += [f(batch()), wengert.is_grad_enabled()]
        wengert.set_grad_enabled(True)


@skipped
def attributes_of_arguments(wrap, log):
    @wrap
    def f(x):
        return x.tanh() * 2 if hasattr(x, "doubled") else x.tanh()

    for k in range(12):
        x = batch()
        if k // 4 == 1:
            x.doubled = True
        log.append(f(x))


@pytest.mark.parametrize("program", SKIPPED, ids=lambda f: f.__name__)
def test_python_is_skipped_while_it_would_do_the_same(program: Program) -> None:
    functions = compare_skipping(program)
    assert all(f.skipped for f in functions), [(f.skipped, f.reason) for f in functions]


@pytest.mark.parametrize("program", NEVER, ids=lambda f: f.__name__)
def test_python_runs_where_it_may_do_something_else(program: Program) -> None:
    functions = compare_skipping(program)
    assert not [f.way for function in functions for f in function.shortcuts if f.proven]
    assert not any(f.skipped for f in functions)
    assert all(f.reason for f in functions)


def test_explain_names_the_line_that_reads_a_value() -> None:
    kept: list[Any] = []

    def f(x: wengert.Tensor) -> float:
        value = x.tanh().sum().item()
        kept.append(value)
        return value

    function, x = skipping(f), batch()
    for _ in range(5):
        function(x)
    told = str(explain(function)(x))
    assert "item(), which reads a value" in told
    assert "value = x.tanh().sum().item()" in told
