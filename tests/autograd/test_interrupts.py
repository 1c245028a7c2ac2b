"""Ctrl-C and other exceptions in the middle of a backward: all gradients arrive, or none."""

from __future__ import annotations

import contextlib
import opcode
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import wengert
from wengert.autograd import Function, GraphReleasedError
from wengert.autograd.engine import innermost, running_walks

LOOKS = {
    opcode.opmap[name]
    for name in ("RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD")
    if name in opcode.opmap
}
PACKAGE = str(Path(wengert.__file__).parent)


class Net:
    """Three leaves, a shared trunk, and what their gradients are."""

    def __init__(self, listening: bool = False) -> None:
        self.leaves = [wengert.tensor([0.5, k + 1.0], requires_grad=True) for k in range(3)]
        a, b, c = self.leaves
        trunk = (a * b).sin()
        if listening:
            trunk.register_hook(lambda g: None)
            c.register_hook(lambda g: None)
            trunk.retain_grad()
        self.trunk = trunk
        self.loss = (trunk * c + trunk).sum()

    def grads(self) -> list[Any]:
        return [None if x.grad is None else x.grad.tolist() for x in self.leaves]


def expected(listening: bool = False) -> list[Any]:
    net = Net(listening)
    net.loss.backward()
    return net.grads()


@contextlib.contextmanager
def interrupted_at(n: int) -> Iterator[list[int]]:
    """Raise KeyboardInterrupt at the n-th place where CPython looks for signals in the package.

    It does so when a function begins, after calls, and where a loop starts again.
    """
    count = [0]
    last: dict[Any, int] = {}

    def trace(frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith((PACKAGE, "<op")):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            before = last.get(frame)
            last[frame] = frame.f_lasti
            if before is not None and code.co_code[before] in LOOKS:
                count[0] += 1
                if count[0] == n:
                    sys.settrace(None)
                    raise KeyboardInterrupt
        elif event == "return":
            last.pop(frame, None)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield count
    finally:
        sys.settrace(before)


def places_in(run: Callable[[], Any]) -> int:
    with interrupted_at(-1) as count:
        run()
    return count[0]


def failure_of(run: Callable[[], Any]) -> GraphReleasedError | None:
    try:
        run()
    except GraphReleasedError as error:
        return error
    return None


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 12),
    reason="3.12 does not report every opcode to a trace function (python/cpython#103615)",
)
@pytest.mark.parametrize("listening", [False, True])
def test_wherever_it_comes_all_gradients_arrive_or_none(listening: bool) -> None:
    """Also when gradients are there already, in place of which others are added."""
    wanted = expected(listening)
    doubled = [[2 * v for v in values] for values in wanted]
    total = places_in(Net(listening).loss.backward)
    told = 0
    for n in range(1, total + 1):
        for before, complete in ((None, wanted), (wanted, doubled)):
            net = Net(listening)
            if before is not None:
                for x, values in zip(net.leaves, before, strict=True):
                    x.grad = wengert.tensor(values)
            with pytest.raises(KeyboardInterrupt), interrupted_at(n):
                net.loss.backward()
            assert innermost.walk is None
            if net.grads() == complete:
                continue
            assert net.grads() == (before or [None] * 3), f"at place {n} of {total}"
            error = failure_of(net.loss.backward)
            if error is None:
                np.testing.assert_allclose(net.grads(), complete, rtol=1e-6)
            else:
                told += 1
                assert "interrupted" in str(error)
                assert net.grads() == (before or [None] * 3)
    assert told > 0


def test_a_walk_that_never_began_is_forgotten() -> None:
    total = places_in(Net().loss.backward)
    left = 0
    for n in range(1, total):
        net = Net()
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(n):
            net.loss.backward()
        left += len(running_walks.walks)
    assert left == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
def test_signals_between_many_leaves() -> None:
    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    leaves = [wengert.zeros(4, requires_grad=True) for _ in range(60)]
    for x in leaves:
        x.grad = wengert.zeros(4)
    before = signal.signal(signal.SIGALRM, interrupt)
    outcomes = set()
    wengert.stack(leaves).sum().backward()  # the first compiles
    times = [perf_counter()]
    for _ in range(5):
        wengert.stack(leaves).sum().backward()
        times.append(perf_counter())
    takes, done = min(b - a for a, b in pairwise(times)), 6.0
    try:
        for k in range(150):
            loss = wengert.stack(leaves).sum()
            try:
                signal.setitimer(signal.ITIMER_REAL, takes * (0.1 + k / 50))
                loss.backward()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                outcomes.add("interrupted")
            values = {float(v) for x in leaves for v in x.grad.tolist()}
            assert len(values) == 1, f"some of the leaves have a gradient more: {values}"
            assert values <= {done, done + 1}
            (done,) = values
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert done > 6
    assert outcomes == {"interrupted"}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, ValueError, MemoryError])
def test_in_a_hook_nothing_has_happened(kind: type[BaseException]) -> None:
    net = Net()

    def fail(*grads: Any) -> None:
        raise kind

    for register in (net.leaves[0].register_hook, net.trunk.register_hook,
                     net.trunk.grad_fn.register_hook):  # fmt: skip
        handle = register(fail)
        with pytest.raises(kind):
            net.loss.backward()
        assert net.grads() == [None] * 3
        handle.remove()
    net.loss.backward()
    assert net.grads() == expected()


def test_in_a_users_function_nothing_has_happened() -> None:
    class Stubborn(Function):
        calls = 0

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            Stubborn.calls += 1
            if Stubborn.calls == 1:
                signal.raise_signal(signal.SIGINT)
            return g * 2

    x, w = (wengert.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
    loss = (Stubborn.apply(x.exp()) * w.exp()).sum()
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    assert (x.grad, w.grad) == (None, None)
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * np.exp(2 * np.array([1.0, 2.0])), rtol=1e-6)


def test_the_error_tells_that_the_call_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wengert.tensor([1.0, 2.0], requires_grad=True)
    middle = x.exp()
    loss = middle.sin().sum()

    def stop(node: Any, g: Any, pending: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(middle.grad_fn), "send", stop)
        with pytest.raises(KeyboardInterrupt):
            loss.backward()
    with pytest.raises(GraphReleasedError) as caught:
        loss.backward()
    text = str(caught.value)
    assert text.startswith("Trying to backward through the graph a second time")
    assert "was interrupted: no .grad has changed, but part of the graph is gone" in text
    assert "released by: backward()  at" in text
    assert x.grad is None
    middle.sum().backward()  # the walk did not come that far
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)


def test_an_exception_of_a_rule_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    x = wengert.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()  # this line
    loss = y.sum()

    def fail(node: Any, g: Any, pending: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(type(y.grad_fn), "send", fail)
    with pytest.raises(MemoryError) as caught:
        loss.backward()
    assert str(caught.value) == "no room"
    (note,) = caught.value.__notes__
    assert "in the derivative of exp" in note
    assert "# this line" in note
    assert "backward()  at" in note


def test_a_failing_accumulation_changes_nothing() -> None:
    leaves = [wengert.tensor([1.0, 2.0], requires_grad=True) for _ in range(3)]
    for x in leaves:
        x.grad = wengert.ones(2)
    leaves[1].grad._array = np.ones(5, np.float32)  # what no program does
    a, b, c = leaves
    with pytest.raises(RuntimeError, match="must match the size"):
        (a * b * c).sum().backward()
    assert [x.grad.tolist() for x in leaves] == [[1.0] * 2, [1.0] * 5, [1.0] * 2]


def test_a_grad_call_that_is_interrupted_gives_the_graph_up_or_leaves_it() -> None:
    def call(net: Net) -> Any:
        return wengert.autograd.grad(net.loss, net.leaves)

    total = places_in(lambda: call(Net()))
    for n in range(1, total, 3):
        net = Net()
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(n):
            call(net)
        assert net.grads() == [None] * 3
        try:
            grads = call(net)
        except GraphReleasedError:
            continue
        assert [g.tolist() for g in grads] == expected()


def test_locks_are_free_after_an_interrupt() -> None:
    total = places_in(Net().loss.backward)
    for n in range(1, total, 5):
        net = Net()
        with contextlib.suppress(KeyboardInterrupt), interrupted_at(n):
            net.loss.backward()
        other = Net()
        thread = threading.Thread(target=other.loss.backward)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        assert other.grads() == expected()
