"""Native code follows the record as `Run.quickly` does in Python."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import compiler, nn
from wengert.kernels import jit
from wengert.kernels.jit import objects
from wengert.replay.record import Record
from wengert.replay.run import Run
from wengert.replay.state import active
from wengert.replay.trace import OpEntry

pytestmark = pytest.mark.skipif(not jit.available(), reason="no kernels")

CALLS = 8
PROGRAMS: list[Callable[[], tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]]] = []


def program(make: Any) -> Any:
    """Have a program tested: a function, and its arguments at the n-th call."""
    PROGRAMS.append(make)
    return make


def fixed(*args: Any) -> Callable[[int], tuple[Any, ...]]:
    """The same arguments at each call."""
    return lambda n: args


@program
def chain():
    def f(x):
        y = x
        for _ in range(5):
            y = wengert.tanh(y * 1.5 + x)
        return y.sum()

    return f, fixed(wengert.randn(4))


@program
def numbers_that_change():
    def f(x, rate):
        return (x * rate).exp() - rate

    x = wengert.randn(4)
    return f, lambda n: (x, 0.1 * n)


@program
def one_array_in_two_calls():
    classes = wengert.tensor([0, 1, 2, 3])  # each loss looks at the same array of them

    def f(x):
        first = nn.functional.cross_entropy(x * 2, classes)
        return first + nn.functional.cross_entropy(x * first, classes)

    return f, fixed(wengert.randn(4, 4))


@program
def parameters_and_their_gradients():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def f(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss, [p.grad for p in model.parameters()]

    return f, lambda n: (wengert.full((3, 4), 0.1 * n),)


@program
def views_and_several_results():
    def f(x):
        a, b, c = x.chunk(3, 1)
        first, second = (a.t() @ b).split([1, 3])
        return first.exp(), second.reshape(6, 2), c.transpose(0, 1) * 2

    return f, fixed(wengert.randn(5, 12))


@program
def lists_and_dimensions():
    def f(x, y):
        both = wengert.cat([x.exp(), y.tanh(), x.exp()], 1)
        return both.sum((0, 1)), both.mean(1, keepdim=True), wengert.stack([x.exp(), y.exp()])

    return f, fixed(wengert.randn(3, 2), wengert.randn(3, 2))


@program
def memory_of_numpy():
    array = np.ones(6, np.float32)

    def arguments(n):
        array[2] = n
        return (wengert.from_numpy(array),)

    return (lambda x: (x.exp() * x + x).tanh()), arguments


@program
def recording_and_not():
    w = wengert.randn(4, requires_grad=True)

    def f(x, recorded):
        with wengert.set_grad_enabled(recorded):
            y = (x * w).exp()
        z = y.tanh() + y
        return z, z.requires_grad

    x = wengert.randn(4)
    return f, lambda n: (x, n % 3 != 1)


@program
def other_memory_in_a_parameter():
    layer = nn.Linear(3, 3)

    def f(x):
        y = layer(x).exp()
        return layer(y).tanh() * 2

    def arguments(n):
        if n == 5:
            layer.weight.data = wengert.ones(3, 3)
        return (wengert.full((2, 3), 0.1 * n),)

    return f, arguments


@program
def other_operands():
    def f(x, y, swapped):
        a, b = x.exp(), y.exp()
        a, b = (b, a) if swapped else (a, b)
        return (a - b) * a.tanh()

    x, y = wengert.randn(3), wengert.randn(3)
    return f, lambda n: (x, y, n == 4)


@program
def what_is_no_operand():
    def f(x, dim, scale):
        y = x.exp().softmax(dim)
        return y * scale, y.clamp(min=0.1), y.flip((0,))

    x = wengert.randn(3, 3)
    return f, lambda n: (x, n % 2, 2 if n == 6 else 2.0)


def run(make: Any, wrap: Any) -> tuple[list[Any], int]:
    """What a program's calls give, and how many operations were deferred."""
    wengert.manual_seed(0)
    function, arguments = make()
    function = wrap(function)
    found = [flat(function(*arguments(n))) for n in range(CALLS)]
    return found, function.compiled.record.deferred if hasattr(function, "compiled") else 0


def flat(x: Any) -> list[Any]:
    if isinstance(x, tuple | list):
        return [one for part in x for one in flat(part)]
    return [x.detach().numpy().copy() if isinstance(x, wengert.Tensor) else x]


@pytest.fixture
def following() -> Any:
    """The module, whose code is in place."""
    from wengert.replay import following

    if not following.install():
        pytest.skip("this Python's objects are others")
    return following


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_both_follow_alike(make, following, monkeypatch):
    expected, _ = run(make, lambda f: f)
    native, deferred = run(make, compiler.compile)
    monkeypatch.setattr(Run, "quickly", following.in_python)
    python, as_many = run(make, compiler.compile)
    assert deferred == as_many > CALLS
    for found in (native, python):
        for got, want in zip(found, expected, strict=True):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_the_method_is_native(following):
    assert type(Run.quickly).__name__ == "method_descriptor"
    assert objects.knows_objects()


@pytest.mark.parametrize("args", [(), (1,), (1, ()), (1, []), (None, (), 3), (Record, (1, 2))])
def test_what_is_no_call(args, following):
    assert Run(Record()).quickly(*args) is None
    with pytest.raises(TypeError):
        Run.quickly(object(), *args)


def test_calls_keep_nothing(following):
    """References to what a record has are counted back once values and runs are gone."""

    @compiler.compile
    def f(x, y):
        a, b = (x * 1.5 + y).tanh().chunk(2)
        return (a - b).sum(0)

    x, y = wengert.randn(4, 3), wengert.randn(4, 3)

    def counts():
        gc.collect()
        entries = [e for e in f.compiled.record.root.below() if type(e) is OpEntry]
        codes = [e.code for e in entries]
        outlines = [o for e in entries for o in e.outlines]
        return [sys.getrefcount(o) for o in (*entries, *codes, *outlines, Run, x, y)]

    for _ in range(20):
        f(x, y).numpy()
    before = counts()
    for _ in range(50):
        f(x, y).numpy()
    assert len(before) > 10
    assert counts() == before


def test_frees_what_is_not_read(following):
    @compiler.compile
    def f(x):
        return [(x * n).exp() for n in (1.0, 2.0, 3.0)]

    x = wengert.randn(4)
    for _ in range(8):
        f(x)[0].numpy()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        f(x)
    gc.collect()
    assert len(gc.get_objects()) - before < 50


def test_a_collection_lets_another_thread_settle_the_run(following):
    """Memory that native code asks for may let the collector run, and that anything."""

    def step(x, watch):
        y = x.tanh()
        watch(y)
        a, b = (y * 2.0).chunk(2)
        return [y, a, b, a + 1.0]

    read: list[float] = []
    waiting: list[Any] = []

    def collected(phase, info):
        if waiting and phase == "start":
            y = waiting.pop()
            thread = threading.Thread(target=lambda: read.append(y.sum().item()))
            thread.start()
            thread.join()

    def watch(y):
        waiting.append(y)
        gc.set_threshold(1, 1, 1)

    f, x = compiler.compile(step), wengert.randn(4, 3)
    for _ in range(6):
        f(x, lambda y: None)
    expected = step(x, lambda y: None)
    thresholds = gc.get_threshold()
    gc.callbacks.append(collected)
    try:
        for n in range(1, 20):
            found = f(x, watch)
            gc.set_threshold(*thresholds)
            assert len(read) == n
            for got, want in zip(found, expected, strict=True):
                np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collected)


def met(layer, x, way=None):
    """What a run has met, and how often Python had to look at other arguments."""
    seen, looked = [], []

    @compiler.compile
    def f(x):
        y = layer(layer(x).tanh()) + layer.bias
        run = active.run
        if run.recording:
            return y
        tensors = [of() for of in run.tensors]
        slots = [run.slots[id(t)] for t in tensors]
        held = [run.holds[id(t._array)] for t in tensors]
        kept = [(a is t._array, o is t._array) for a, o, t in zip(
            run.arrays, run.originals, tensors, strict=True
        )]  # fmt: skip
        edges = [e is t._edge for e, t in zip(run.edges, tensors, strict=True)]
        seen.append((slots, held, kept, edges, len(run.numbers)))
        return y

    look = Run._are_as
    for _ in range(6):
        f(x).sum().item()
    with pytest.MonkeyPatch.context() as patch:
        if way is not None:
            patch.setattr(Run, "quickly", way)
        patch.setattr(Run, "_are_as", lambda *a: looked.append(a) or look(*a))
        f(x).sum().item()
    return seen[-1], len(looked)


def test_tensors_are_met_natively(following):
    layer, x = nn.Linear(4, 4), wengert.randn(3, 4)
    native, looked = met(layer, x)
    python, _ = met(layer, x, following.in_python)
    assert native == python == ([0, 1, 2], [[0], [1], [2]], [(True, True)] * 3, [True] * 3, 0)
    assert looked == 0


def test_what_others_may_write_to_python_looks_at(following):
    layer, array = nn.Linear(4, 4), np.ones((3, 4), np.float32)
    native, looked = met(layer, wengert.from_numpy(array))
    assert native[2] == [(False, True), (True, True), (True, True)]
    assert looked == 1


def test_other_tensors_are_met_in_the_place_of_the_last(following):
    layers = [nn.Linear(3, 3) for _ in range(3)]

    @compiler.compile
    def f(x, which):
        return layers[which](x).tanh() @ layers[which].weight

    for n in range(12):
        x = wengert.full((2, 3), 0.1 * n)
        layer = layers[n // 3 % 3]
        expected = layer(x).tanh() @ layer.weight
        np.testing.assert_allclose(
            f(x, n // 3 % 3).detach().numpy(), expected.detach().numpy(), rtol=1e-5
        )


def test_one_tensor_in_two_places_is_met_once(following):
    @compiler.compile
    def f(x, w, b):
        return nn.functional.linear(x, w, b)

    w, b, x = wengert.randn(4, 4), wengert.randn(4), wengert.randn(4, 4)
    for n in range(10):
        one, other, third = (x, w, b) if n != 7 else (w, w, b)
        expected = nn.functional.linear(one, other, third).numpy()
        np.testing.assert_allclose(f(one, other, third).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("noted", [True, False])
def test_operations_are_followed_from_their_fronts(noted: bool, monkeypatch, following) -> None:
    """However they got on record: operators, functions and methods, mixed with numbers."""

    def step(x: Any, w: Any) -> Any:
        y = 0.9 * x + (w - 1.0) * x / 2
        y = wengert.mul(y, 1.5).sub(x).sigmoid() @ w
        y = wengert.nn.functional.relu(-y) + wengert.tanh(y)
        return (1 - y).exp().sum()

    followed = compiler.compile(step, fullgraph=not noted)
    x, w = wengert.randn(4, 4), wengert.randn(4, 4)
    for _ in range(4):
        wengert.testing.assert_close(followed(x, w), step(x, w))
    called, call = list[Any](), Run.call
    monkeypatch.setattr(
        Run, "call", lambda self, *given: called.append(given) or call(self, *given)
    )
    number = followed(x, w).item()
    monkeypatch.undo()
    assert not called
    assert number == pytest.approx(step(x, w).item(), rel=1e-5)
