"""Calls that skip their Python: only where it could do nothing else than before."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import gc
import random
import sys
import types
import weakref
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Program, adding_to, batch, compare_skipping, mlp, skipping, state
from wengert import nn
from wengert.compiler import explain
from wengert.nn import functional as F
from wengert.overrides import TorchFunctionMode
from wengert.replay.observing import Observer

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

# Programs whose functions skip some calls.
SKIPPED: list[Program] = []
skipped = adding_to(SKIPPED)
OF_MODULE = types.SimpleNamespace(scale=1.5)
SCALE, FACTORS = 2.0, {"first": 1.0, "second": 3.0}


def calls(f: Any, log: list[Any], *args: Any, count: int = 5) -> None:
    """Some calls, each with its result in the log."""
    log += [f(*args) for _ in range(count)]


@skipped
def a_step_with_its_optimizer(wrap, log):
    model = mlp(8, 64, 3)
    optimizer = wengert.optim.Adam(model.parameters(), lr=0.01)

    @wrap
    def step(x, target):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()
        return loss

    target = wengert.arange(64) % 3
    calls(step, log, batch(), target)
    optimizer.param_groups[0]["lr"] = 0.5
    calls(step, log, batch(), target)
    log += state(model)
    model.requires_grad_(False)[0].requires_grad_(True)
    calls(step, log, batch(), target)
    log += state(model)


@skipped
def equal_arguments_without_state(wrap, log):
    f = wrap(lambda x, a, b, mask, bias: (x * a + b).tanh() if mask is bias else x * a)
    calls(f, log, batch(), 2, 2, None, None)
    calls(f, log, batch(), 2, 3, None, None)
    calls(f, log, batch(), 2, 3, None, False)
    calls(f, log, batch(), 2, 2, None, None)


@skipped
def operations_after_the_step(wrap, log):
    model, head = mlp(8, 64, 3), nn.Linear(3, 1)
    optimizer = wengert.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    scheduler = wengert.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)

    @wrap
    def step(x, target):
        optimizer.zero_grad()
        scores = model(x)
        first, second = F.cross_entropy(scores, target), head(scores).square().mean()
        first.backward(retain_graph=True)
        second.backward()
        optimizer.step()
        scheduler.step()
        right = (scores.argmax(1) == target).float().mean()
        return first + second, first.detach(), {"right": right, "ones": wengert.ones(2)}

    target = wengert.arange(64) % 3
    for _ in range(8):
        total, loss, more = step(batch(), target)
        log += [total, loss, more["right"], more["ones"], scheduler.get_last_lr()[0]]
    log += [*state(model), *state(head)]


@skipped
def running_statistics(wrap, log):
    model = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
    model.insert(3, model[1])  # twice in a step
    optimizer = wengert.optim.SGD(model.parameters(), lr=0.1)

    @wrap
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    forward = wrap(lambda x: model(x).sum())
    for function in (step, forward):
        for k in range(8):
            log.append(function(batch()))
            if k % 3 == 0:
                log += state(model)
    model[1].running_mean.zero_()
    shared = model[1].running_var.numpy()
    for k in range(4):
        shared[k] = 2.0
        log += [forward(batch()), *state(model)]
    model.eval()
    calls(forward, log, batch())
    log += state(model)


@skipped
def a_value_of_a_global(wrap, log):
    global SCALE
    SCALE = 2.0
    f = wrap(lambda x: (x * SCALE).tanh().sum())
    x = batch()
    for value in (2.0, 3.0, 3, True):
        SCALE = value
        calls(f, log, x)


@skipped
def a_value_in_a_cell(wrap, log):
    scale = 1.0

    def f(x):
        return (x * scale).tanh().sum()

    f, x = wrap(f), batch()
    calls(f, log, x)
    scale = 2.0
    calls(f, log, x)


@skipped
def attributes_of_objects(wrap, log):
    @dataclasses.dataclass(slots=True)
    class Slots:
        shift: float = 1.0

    class Named(enum.Enum):
        ONE = 1.0

    class Holder:
        factor = 1.0

        def __init__(self):
            self.slots, self.pair = Slots(), collections.namedtuple("Pair", "a b")(1.0, Slots())

        @property
        def doubled(self):
            return self.factor * 2

        def __call__(self, x):
            return x * self.doubled + self.slots.shift + self.pair.b.shift * Named.ONE.value

    holder, x = Holder(), batch()
    f = wrap(lambda x: (holder(x) * OF_MODULE.scale).tanh().sum())
    changes = [
        lambda: setattr(holder.slots, "shift", 2.0),
        lambda: setattr(holder.pair.b, "shift", 5.0),
        lambda: setattr(Holder, "factor", 4.0),
        lambda: setattr(holder, "factor", 7.0),
        lambda: setattr(OF_MODULE, "scale", -1.0),
        lambda: setattr(Holder, "__call__", lambda self, x: x * 0.5),
        lambda: setattr(OF_MODULE, "scale", 1.5),
    ]
    for change in changes:
        calls(f, log, x)
        change()
    calls(f, log, x)


@skipped
def items_of_containers(wrap, log):
    FACTORS["first"] = 1.0
    layers, options = [wengert.tanh, wengert.sigmoid], {"scale": 2.0, "kinds": [1.0, 2.0]}

    def f(x):
        for layer in layers:
            x = layer(x)
        if "other" in options:
            x = x + 1
        return (x * sum(options["kinds"]) * FACTORS["first"]).sum()

    f, x = wrap(f), batch()
    changes = [
        lambda: layers.append(wengert.exp),
        lambda: layers.__setitem__(0, wengert.cos),
        lambda: options["kinds"].append(3.0),
        lambda: options.update(other=options.pop("scale")),  # the same values
        lambda: FACTORS.update(first=9.0),
        lambda: FACTORS.update(first=1.0),
    ]
    for change in changes:
        calls(f, log, x)
        change()
    calls(f, log, x)


@skipped
def functions_that_are_changed(wrap, log):
    def inner(x, by=2.0, *, shift=1.0):
        return x * by + shift

    part = functools.partial(inner, by=3.0)
    table = {"f": lambda x: x * 5.0}

    class Net(nn.Module):
        @staticmethod
        def scaled(x):
            return x * 2

        def forward(self, x):
            return self.scaled(inner(x)) + part(x) + table["f"](x)

    net, x = Net(), batch()
    f = wrap(lambda x: net(x).tanh().sum())
    changes = [
        lambda: setattr(inner, "__defaults__", (4.0,)),
        lambda: inner.__kwdefaults__.update(shift=2.0),
        lambda: table.update(f=lambda x: x * 7.0),
        lambda: setattr(Net, "scaled", staticmethod(lambda x: x * 3)),
        lambda: setattr(net, "scaled", lambda x: x * 4),
        lambda: setattr(inner, "__code__", (lambda x, by=2.0, *, shift=1.0: x).__code__),
        lambda: setattr(net, "forward", lambda x: x * 0.1),
    ]
    for change in changes:
        calls(f, log, x)
        change()
    calls(f, log, x)


@skipped
def modules_that_are_changed(wrap, log):
    model = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.0), nn.Tanh(), nn.Linear(64, 2))
    model.register_buffer("shift", wengert.ones(2))
    model.scale = 1.0

    @wrap
    def f(x):
        return (model(x) * model.scale + model.shift).square().sum()

    x, heard = batch(), []
    hook = lambda module, args, out: heard.append(1) or out * 2  # noqa: E731
    handles: list[Any] = []
    changes = [
        lambda: setattr(model, "scale", 2.0),
        lambda: model.eval(),
        lambda: setattr(model, "shift", wengert.zeros(2)),
        lambda: model.__setitem__(2, nn.ReLU()),
        lambda: model.insert(3, nn.Sigmoid()),
        lambda: setattr(model[0], "weight", nn.Parameter(model[0].weight.detach() * 2)),
        lambda: model[0].requires_grad_(False),
        lambda: model[0].weight.data.mul_(0.5),
        lambda: setattr(model[0].weight, "data", wengert.ones(64, 8)),
        lambda: handles.append(model[0].register_forward_hook(hook)),
        lambda: handles.pop().remove(),
        lambda: handles.append(nn.modules.module.register_module_forward_hook(hook)),
        lambda: handles.pop().remove(),
        lambda: model.double(),
    ]
    for change in changes:
        for _ in range(4):
            model.zero_grad()
            loss = f(x)
            loss.backward()
            log += [loss, len(heard), *state(model)]
        change()
    log.append(f(x.double()))


@skipped
def settings_of_the_thread(wrap, log):
    w = wengert.randn(8, 64, requires_grad=True)

    @wrap
    def f(x):
        with wengert.no_grad():
            gate = (x @ w).sigmoid()
        return (x @ w * gate).sum()

    x = batch()
    calls(f, log, x)
    with wengert.no_grad():
        calls(f, log, x)
    with wengert.autocast("cpu"):
        log += [f(x).dtype, f(x).dtype]
    with wengert.inference_mode():
        log += [f(x).is_inference() for _ in range(4)]
    with wengert.autograd.detect_anomaly(check_nan=False):
        calls(f, log, x)
    calls(f, log, x)

    class Doubling(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is wengert.sigmoid else out

    with Doubling():
        calls(f, log, x)
    calls(f, log, x)


@skipped
def arguments_of_all_kinds(wrap, log):
    @wrap
    def f(x, *others, scale=1.0, mode="tanh", table=None):
        x = getattr(x, mode)() * scale
        for y in others:
            x = x + y * 2
        return x + table["a"][0] if table else x

    x, y = batch(), batch()
    weight = nn.Parameter(batch())
    for given, options in [
        ((x,), {}),
        ((x,), {"scale": 2.0}),
        ((x,), {"scale": 2}),
        ((x,), {"scale": -0.0}),
        ((x,), {"scale": 0.0}),
        ((x, y), {"mode": "exp"}),
        ((x, x), {}),
        ((weight, x), {}),
        ((x,), {"table": {"a": [y]}}),
        ((x[:, ::2], y[:, ::2]), {}),
        ((x.double(), y), {}),
        ((x, 3.0, y), {}),
    ]:
        calls(lambda given=given, options=options: f(*given, **options), log)


@skipped
def elements_that_decide(wrap, log):
    scores = wengert.randn(16, 5, requires_grad=True)
    table = wengert.randn(10, 5, requires_grad=True)

    @wrap
    def f(target, rows):
        loss = F.cross_entropy(scores + F.embedding(rows, table), target, ignore_index=3)
        return loss + (scores * 2.0).gather(1, target.view(-1, 1).clamp(0, 4)).sum()

    target, rows = wengert.arange(16) % 3, wengert.arange(16) % 10
    for change in (
        lambda: None, lambda: target.fill_(1), lambda: target[2:4].fill_(3),
        lambda: target.fill_(3), lambda: rows.add_(1).remainder_(10),
    ):  # fmt: skip
        change()
        calls(f, log, target, rows)
    target[:] = 1
    for wrong in (target, rows):
        before = wrong[3].item()
        wrong[3] = 77
        for _ in range(2):
            with pytest.raises(IndexError):
                f(target, rows)
        wrong[3] = before
        calls(f, log, target, rows)


@skipped
def memory_that_is_written_to(wrap, log):
    shared = np.ones((64, 8), np.float32)
    x, weight = wengert.from_numpy(shared), wengert.randn(8, 64)
    mask = wengert.ones(64, 64).tril() > 0
    f = wrap(lambda x: ((x @ weight)[:32, :32] * 2.0).masked_fill(mask[:32, :32], 0.0).sum())
    for k in range(8):
        shared[k] = k
        y = f(x)
        weight.mul_(0.9)
        mask[0, k] = False
        log.append(y)


@skipped
def gradients_and_who_listens(wrap, log):
    model = mlp(8, 64, 1)
    x = batch()

    @wrap
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    calls(step, log, x)
    log += state(model)
    heard: list[Any] = []
    handle = model[0].weight.register_hook(lambda g: heard.append(g.sum()) or g * 2)
    calls(step, log, x)
    handle.remove()
    calls(step, log, x)
    handle = model[0].bias.register_post_accumulate_grad_hook(lambda p: heard.append(p.grad.sum()))
    calls(step, log, x)
    log += [*heard, *state(model)]


@skipped
def separate_gradients(wrap, log):
    model = mlp(8, 64, 2)

    @wrap
    def f(x):
        a, b = model(x).unbind(1)
        first = wengert.autograd.grad(a.sum(), model[0].weight, retain_graph=True)
        return first, [b, b.detach(), {"x": x, "k": 3}]

    x = batch()
    for _ in range(6):
        (g,), (b, cut, rest) = f(x)
        log += [g, b, cut.requires_grad, rest["x"] is x, rest["k"]]


@skipped
def views_of_arguments_and_values(wrap, log):
    f = wrap(lambda x: (x.t(), (x * 2).view(-1, 4), x))
    for _ in range(6):
        x = batch()
        turned, parts, same = f(x)
        log += [same is x, parts, turned]
        turned.mul_(3)
        parts.add_(1)
        log += [x, parts._base is not None, turned._base is x]


@skipped
def random_tensors(wrap, log):
    scores = wengert.randn(64, 8)
    f = wrap(lambda x: (x * wengert.rand(64, 8) + F.dropout(x.tanh(), 0.5)).tanh().sum())
    calls(f, log, batch(), count=8)
    g = wrap(
        lambda x, t: (x * wengert.randn_like(x)).sum() + F.cross_entropy(F.dropout(scores * 2), t)
    )
    target = wengert.arange(64) % 8
    calls(g, log, batch(), target, count=6)
    target[0] = 9
    with pytest.raises(IndexError):  # all numbers are drawn before
        g(batch(), target)
    target[0] = -100
    calls(g, log, batch(), target, count=6)


@skipped
def what_computed_values_tell_of_themselves(wrap, log):
    scales = nn.ParameterList([nn.Parameter(wengert.ones(8)) for _ in range(2)])

    @wrap
    def step(x, index):
        y = x * 2
        wengert._assert(y.ndim == 2, "a matrix is expected")
        if isinstance(y, (list, tuple)) or y.device != x.device or type(y) not in {wengert.Tensor}:
            return y
        for scale in scales:
            y = y * scale
        return y[index.long()] + wengert.arange(8, device=y.device)

    for n in (3, 5):
        calls(step, log, batch(), wengert.arange(n) * 2)
        with wengert.no_grad():
            scales[0].mul_(1.5)
    scales.append(wengert.full((8,), 0.5))
    calls(step, log, batch(), wengert.arange(4))


@pytest.mark.parametrize("program", SKIPPED, ids=lambda f: f.__name__)
def test_python_is_skipped_while_it_would_do_the_same(program: Program) -> None:
    functions = compare_skipping(program)
    assert all(f.skipped for f in functions), [(f.skipped, f.reason) for f in functions]


def test_python_runs_while_somebody_traces_it() -> None:
    f = skipping(lambda x: x.tanh().sum())
    for _ in range(5):
        f(batch())
    lines: list[str] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        lines.append(frame.f_code.co_name)
        return None

    before, count = sys.gettrace(), f.compiled.skipped
    sys.settrace(trace)
    try:
        f(batch())
    finally:
        sys.settrace(before)
    assert count > 0
    assert f.compiled.skipped == count
    assert "<lambda>" in lines


def test_views_show_the_memory_of_an_argument_that_is_also_detached() -> None:
    def both(x: Any) -> Any:
        view = x[..., ::2]
        return view, x.detach(), view.exp().sum()

    f = skipping(both)
    for _ in range(6):
        x = batch()
        view, detached, _ = f(x)
        assert view.data_ptr() == detached.data_ptr() == x.data_ptr()


def test_nothing_is_kept_alive_by_a_shortcut() -> None:
    def made() -> tuple[Any, Any]:
        model = mlp(8, 64, 1)
        return skipping(lambda x: model(x).sum()), weakref.ref(model)

    (f, alive), x = made(), batch()
    results = [f(x).item() for _ in range(6)]
    assert f.compiled.skipped > 0
    assert results == pytest.approx([results[0]] * 6)
    gone = weakref.ref(x)
    del x
    assert gone() is None
    del f
    gc.collect()
    assert alive() is None


def test_explain_says_whether_python_is_skipped() -> None:
    x = batch()
    f = skipping(lambda x: x.tanh().sum())
    for _ in range(5):
        f(x)
    assert "Python is skipped" in str(explain(f)(x))
    noisy = skipping(lambda x: (x.tanh() * random.random()).sum())
    for _ in range(5):
        noisy(x)
    assert "Random.random()" in str(explain(noisy)(x))


def test_of_a_call_that_cannot_be_skipped_nothing_more_is_noted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stays watched: CPython 3.11 crashes if its profile function takes itself away."""
    reasons = []
    called = Observer._called
    monkeypatch.setattr(
        Observer, "_called", lambda self, frame: reasons.append(self.reason) or called(self, frame)
    )

    @wengert.compiler.compile(mode="reduce-overhead")
    def step(x):
        y = (x * 2).sum()
        return y * random.random() + (x * 3).sum()

    for _ in range(4):
        step(batch())
    assert "Python runs: Random.random()" in explain(step)(batch()).python
    assert reasons
    assert not any(reasons)
