"""What a call is compared by that looks like the one on record: each difference is seen."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from tests.replay.harness import Log, Program, adding_to, batch, compare, mlp, state
from wengert.compiler import compile as compiled
from wengert.nn import functional as F
from wengert.replay.compiled import compiled_of
from wengert.replay.following import in_python
from wengert.replay.run import Run
from wengert.replay.state import active
from wengert.replay.trace import Known, OpEntry

pytestmark = pytest.mark.filterwarnings("ignore:torch.compile. .* runs as it is from here on")

PROGRAMS: list[Program] = []
program = adding_to(PROGRAMS)
CALLS = 6


def changing(log: Log, f: Callable[..., Any], *first: Any, then: Any) -> None:
    """Some calls, the last of them with another argument, and the first again."""
    log += [f(batch(), *first) for _ in range(CALLS)]
    log += [f(batch(), then), f(batch(), *first)]


@program
def numbers_of_other_types(wrap, log):
    changing(log, wrap(lambda x, n: (x.tanh() * n).sum()), 2.0, then=2)
    changing(log, wrap(lambda x, n: (x.tanh() * n).sum()), 1.0, then=True)
    leaf = wengert.tensor(3.0, requires_grad=True)
    changing(log, wrap(lambda x, n: (x.tanh() * n).sum()), 2.0, then=leaf)


@program
def sizes_of_parts(wrap, log):
    def parts(x, sizes):
        return [p.sum() for p in x.tanh().split(sizes, 1)]

    changing(log, wrap(parts), 4, then=2)
    changing(log, wrap(parts), [4, 4], then=[2, 6])
    changing(log, wrap(parts), [4, 4], then=(3, 5))
    changing(log, wrap(lambda x, n: [p.sum() for p in x.tanh().chunk(n, 1)]), 4, then=2)
    changing(log, wrap(lambda x, d: x.tanh().transpose(*d).contiguous()), (0, 1), then=(1, 1))


@program
def a_list_that_is_changed(wrap, log):
    sizes, pads, dims, order = [4, 4], [1, 1], [0], [0, 1]

    @wrap
    def f(x):
        y = x.tanh()
        whole = [F.pad(y, pads), y.sum(dims), y.flip(dims), y.permute(order), y.mean(dims)]
        return [*y.split(sizes, 1), *whole]

    for k in range(8):
        if k == 6:
            sizes[:], pads[:], dims[:], order[:] = [1, 7], [0, 3], [1], [1, 0]
        log += f(batch())


@program
def lists_of_other_tensors(wrap, log):
    def joined(x, k):
        y, z = x.tanh(), x.sigmoid()
        return wengert.cat([[y, z], [z, y], [y, y], [y, z, y], (y, z), [y, x]][k], 1)

    f = wrap(joined)
    for k in (0, 0, 0, 1, 2, 3, 4, 5, 0):
        log.append(f(batch(), k))


@program
def nothing_for_a_tensor_that_is_gone(wrap, log):
    def add(x, keep):
        w, bias = wengert.ones(8, 8) * 0.1, wengert.ones(8)
        y = x + bias
        if not keep:
            del bias
            bias = None
        return F.linear(y, w, bias)

    f = wrap(add)
    log += [f(batch(), k != 6) for k in range(9)]


@program
def nothing_for_a_value(wrap, log):
    def add(x, keep):
        w, bias = x.new_ones(8, 8), x[0].exp()
        return F.linear(x.tanh(), w, bias if keep else None)

    f = wrap(add)
    log += [f(batch(), k != 6) for k in range(9)]


@program
def other_memory_for_an_input(wrap, log):
    w = wengert.ones(8).requires_grad_()

    def twice(x, k):
        y = x * w
        if k == 6:
            w.data = wengert.ones(8) * 3
        return (y * w).sum()

    f = wrap(twice)
    log += [f(batch(), k) for k in range(9)]


@program
def memory_written_between_two_uses(wrap, log):
    for n in (8, 16_384):  # compared as bytes, and element by element
        memory = np.ones(n, np.float32)
        other = wengert.from_numpy(memory)

        def step(x, k, memory=memory, other=other):
            y = x.sum() * other
            if k == 6:
                memory[1] = 5
            return (y * other).sum()

        f = wrap(step)
        log += [f(batch(), k) for k in range(9)]


@program
def operators_by_other_names(wrap, log):
    def f(x, k):
        y = x.tanh()
        call = [lambda: y * y, lambda: y.mul(y), lambda: wengert.mul(y, y), lambda: y.__mul__(y)][k]
        return call().sum()

    step = wrap(f)
    for k in (0, 0, 0, 1, 2, 3, 0, 3):
        log.append(step(batch(), k))
    # No operand of such a class is known here; Python asks the class.
    step = wrap(lambda x: (x.tanh() + Reflected(), x.tanh() == Reflected()))
    log += [step(batch()) for _ in range(4)]


class Reflected:
    def __radd__(self, other: Any) -> str:
        return f"added to {other.shape}"


@program
def no_recording_in_between(wrap, log):
    model = mlp(8, 64, 1)

    def f(x, k):
        with wengert.set_grad_enabled(k != 6):
            return model(x).square().mean()

    step = wrap(f)
    for k in range(8):
        loss = step(batch(), k)
        log += [loss, loss.requires_grad]


# What a backward is compared by that looks like the one on record.


def walked(change: Callable[[int, Any, Any], None]) -> Program:
    def training(wrap: Callable[[Any], Any], log: Log) -> None:
        model = mlp(8, 16, 1)

        @wrap
        def step(x: Any, k: int) -> Any:
            loss = model(x).square().mean()
            if k >= CALLS:
                change(k, model, loss)
            loss.backward()
            return loss

        for k in range(CALLS + 4):
            if k % 2:
                model.zero_grad()
            log += [step(batch(), k), *state(model)]

    return training


def new_gradient(k: int, model: Any, loss: Any) -> None:
    model[0].weight.grad = wengert.ones_like(model[0].weight)


def without_gradient(k: int, model: Any, loss: Any) -> None:
    model[2].bias.grad = None


def hook(k: int, model: Any, loss: Any) -> None:
    if k == CALLS:
        model[0].weight.register_hook(lambda g: g * 2)


def hook_of_an_accumulation(k: int, model: Any, loss: Any) -> None:
    if k == CALLS:
        model[2].weight.register_post_accumulate_grad_hook(tripled)


def tripled(parameter: Any) -> None:
    parameter.grad.mul_(3)


def frozen(k: int, model: Any, loss: Any) -> None:
    model[0].requires_grad_(k % 2 == 0)


def walked_before(k: int, model: Any, loss: Any) -> None:
    loss.backward(retain_graph=True)


def test_gradients_that_were_exchanged_are_not_taken_for_each_other() -> None:
    def training(wrap: Callable[[Any], Any], log: Log) -> None:
        a, b = (wengert.randn(8).requires_grad_() for _ in range(2))

        @wrap
        def step(x: Any, k: int) -> None:
            (x * a + x * b * 2).sum().backward()
            if k == CALLS:
                a.grad, b.grad = b.grad, a.grad
            (x * a * b).sum().backward()

        for k in range(CALLS + 2):
            a.grad = b.grad = None
            step(batch(), k)
            log += [a.grad.clone(), b.grad.clone()]

    compare(training)


CHANGES = [
    new_gradient, without_gradient, hook, hook_of_an_accumulation, frozen, walked_before,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_other_calls_are_not_taken_for_those_on_record(function: Program) -> None:
    compare(function)


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_other_backwards_are_not_taken_for_those_on_record(change: Any) -> None:
    compare(walked(change))


def test_memory_that_is_written_before_a_backward_is_seen() -> None:
    def training(wrap: Callable[[Any], Any], log: Log) -> None:
        memory = np.ones((64, 8), np.float32)
        x, model = wengert.from_numpy(memory), mlp(8, 16, 1)

        @wrap
        def step(k: int) -> Any:
            loss = model(x).square().mean()
            if k == CALLS:
                memory[:] = 3
            loss.backward()
            return loss

        for k in range(CALLS + 2):
            model.zero_grad()
            log += [step(k), *state(model)]

    compare(training)


def test_only_what_nobody_can_change_is_known_by_its_identity() -> None:
    for value in (3, None, "mean", (0, (1, -1)), 0.5):
        assert Known((), value).value is value
    for value in ([3], (0, [1]), np.ones(2), slice(1, 2)):
        assert Known((), value).value is not value


class Outputs(list[Any]):
    """The outputs of a run, which another thread reads when one more is there."""

    read: list[float]

    def append(self, value: Any) -> None:
        super().append(value)
        if not self.read:
            thread = threading.Thread(target=lambda: self.read.append(self[0]().sum().item()))
            thread.start()
            thread.join()


@pytest.mark.parametrize("several", [False, True])
def test_another_thread_settles_a_run_while_a_call_is_deferred(
    several: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "quickly", in_python)  # native code does not call `Outputs.append`

    def step(x: Any, watch: Callable[[Any], None]) -> Any:
        y = x.tanh()
        watch(y)
        z = y.chunk(2, 1) if several else (y * 2.0,)
        return [y, *z, z[0] + 1.0]

    def watched(y: Any) -> None:
        run = active.run
        assert run is not None
        run.outputs = Outputs(run.outputs)
        run.outputs.read = read

    read: list[float] = []
    f, x = compiled(step), batch()
    for _ in range(4):
        f(x, lambda y: None)
    found = f(x, watched)
    expected = step(x, lambda y: None)
    assert read == [pytest.approx(expected[0].sum().item(), abs=1e-4)]
    for ours, eager in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), eager.numpy(), rtol=1e-5, atol=1e-6)


def test_threads_may_read_what_another_one_defers() -> None:
    def step(x: Any, shared: list[Any]) -> Any:
        for _ in range(60):
            x = x.tanh() + x
            shared.append(x)
        return x

    f, x, shared, stopped = compiled(step), batch(), list[Any](), threading.Event()
    read: list[float] = []

    def reads() -> None:
        while not stopped.is_set():
            if shared:
                read.append(shared[-1].sum().item())

    expected = step(x, []).numpy()
    thread = threading.Thread(target=reads)
    thread.start()
    try:
        for _ in range(20):
            shared.clear()
            np.testing.assert_allclose(f(x, shared).numpy(), expected, rtol=1e-4)
    finally:
        stopped.set()
        thread.join()
    assert all(np.isfinite(read))


def test_integers_of_the_run_are_on_record_though_others_are_computed_at_once() -> None:
    """Calls that look alike but for where their operands come from."""

    def step(x: Any, index: Any) -> Any:
        return x.argmax(1) + 1, index + 1

    f, x, index = compiled(step), batch(), wengert.arange(4)
    for _ in range(3):
        assert all(map(wengert.equal, f(x, index), step(x, index)))
    entries = [e for e in f.compiled.record.root.below() if isinstance(e, OpEntry)]
    assert [e.op.name for e in entries] == ["argmax", "_add"]


def test_equal_code_is_one_line_on_record() -> None:
    source = "def step(x):\n    return (x.tanh() * 2.0).sum()\n"

    def written() -> Any:
        scope: dict[str, Any] = {}
        exec(source, scope)
        return scope["step"]

    current = written()
    f, x = compiled(lambda x: current(x)), batch()
    for _ in range(4):
        f(x)
        current = written()
    assert f.compiled.record.size == 3


def test_what_leaves_the_record_behind_its_function_is_recorded_to_its_end() -> None:
    model = compiled(mlp(8, 8, 8))

    def step(long: bool) -> float:
        y = model(x).square()
        if long:
            y = y.exp().sin().cos().tanh()
        model.zero_grad()
        loss = (y + 1).mean()
        loss.backward()
        return loss.item()

    x = batch()
    expected = [step(long) for long in (False, True)]
    step(False)
    record = compiled_of(model).record
    size = record.size
    for _ in range(6):
        assert [step(False), step(True)] == pytest.approx(expected)
    assert record.size == size
    assert len(record.plans) <= 3  # both ways, and where they part


def test_a_run_that_is_recorded_behind_its_function_goes_with_its_values() -> None:
    model = compiled(mlp(8, 8, 8))
    x, seen = batch(), list[Any]()
    for names in (["exp"], ["sin", "cos"]):
        y = model(x)
        seen.append(weakref.ref(active.run or active.behind()))
        for name in names:
            y = getattr(y, name)()
        y.sum().item()
        del y
    model(x).sum().item()
    assert [of() for of in seen] == [None, None]
