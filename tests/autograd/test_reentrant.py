"""Backward inside of backward, deeper than Python's stack."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wengert
from wengert.autograd import Function
from wengert.autograd.engine import innermost, running_walks
from wengert.autograd.relay import is_deep, relay, this_thread

DEPTH = 300  # levels, of which about sixty fit a stack


class Nested(Function):
    """Goes backward in its backward, as often as the value says, and calls `at_the_bottom`."""

    at_the_bottom: Callable[[], Any]

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        with wengert.enable_grad():
            ctx.inner = x.detach().requires_grad_() - 1
        return ctx.inner.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.inner < 0:
            Nested.at_the_bottom()
        else:
            with wengert.enable_grad():
                Nested.apply(ctx.inner).backward()
        return g


@pytest.fixture(autouse=True)
def _all_is_as_before() -> Iterator[None]:
    Nested.at_the_bottom = lambda: None
    threads = set(sys._current_frames())
    yield
    assert not running_walks.walks
    assert innermost.walk is None
    assert relay.leg is None
    assert relay.thread is None
    assert wengert.is_grad_enabled()
    end = time.monotonic() + 10  # a thread has let go of all before it is gone
    while not set(sys._current_frames()) <= threads and time.monotonic() < end:
        time.sleep(0.01)
    assert set(sys._current_frames()) <= threads


def nested(depth: int = DEPTH) -> Any:
    """A leaf whose gradient takes `depth` backward calls inside of each other."""
    x = wengert.tensor(float(depth), requires_grad=True)
    Nested.apply(x).backward()
    return x.grad


def test_functions() -> None:
    assert nested().item() == 1


def test_hooks() -> None:
    gradients = []

    @wengert.enable_grad()
    def at(depth: int) -> None:
        x = wengert.ones(2, requires_grad=True)
        if depth:
            x.register_hook(lambda g: at(depth - 1))
        (x * 3).sum().backward()
        gradients.append(x.grad.tolist())

    at(DEPTH)
    assert gradients == [[3.0, 3.0]] * (DEPTH + 1)


def test_it_is_one_thread_to_the_program() -> None:
    seen: list[Any] = []
    Nested.at_the_bottom = lambda: seen.append(
        (
            this_thread(),
            threading.get_ident(),
            wengert.is_grad_enabled(),
            wengert.is_autocast_enabled("cpu"),
            is_deep(),
        )
    )
    with wengert.autocast("cpu", dtype=wengert.bfloat16):
        nested()
    ((program, system, recording, autocast, _),) = seen
    assert program == threading.get_ident() != system
    assert not recording
    assert autocast


def test_state_that_changes_comes_back() -> None:
    Nested.at_the_bottom = lambda: wengert.set_autocast_dtype("cpu", wengert.float16)
    before = wengert.get_autocast_dtype("cpu")
    try:
        nested()
        assert wengert.get_autocast_dtype("cpu") == wengert.float16
    finally:
        wengert.set_autocast_dtype("cpu", before)


def test_saved_tensor_hooks_go_along() -> None:
    packed = []

    def bottom() -> None:
        with wengert.enable_grad():
            packed.append(0)
            wengert.ones(2, requires_grad=True).exp().sum().backward()

    def pack(value: Any) -> Any:
        packed.append(1)
        return value

    Nested.at_the_bottom = bottom
    with wengert.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        nested()
    assert 1 in packed[packed.index(0) :]


def test_an_exception_comes_out_and_leaves_nothing_behind() -> None:
    held = []

    def bottom() -> None:
        local = wengert.ones(2)
        held.append(weakref.ref(local))
        raise ArithmeticError("at the bottom")

    Nested.at_the_bottom = bottom
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ArithmeticError, match="at the bottom") as caught:
            nested()
        del caught
        assert held[0]() is None
    finally:
        gc.enable()
    Nested.at_the_bottom = lambda: None
    assert nested().item() == 1


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, TimeoutError])
def test_a_signal_reaches_the_innermost_call(kind: type[BaseException]) -> None:
    """It comes to the main thread, which only waits."""
    reached = []

    def bottom() -> None:
        try:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            while True:  # until the exception comes
                pass
        except kind:
            reached.append(threading.get_ident())
            raise

    def handle(*_: Any) -> None:
        raise kind("a signal")

    Nested.at_the_bottom = bottom
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with pytest.raises(kind, match="a signal"):
            nested()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert reached != [threading.get_ident()]
    assert len(reached) == 1


def test_without_end_it_is_a_recursion_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.autograd.relay._MOST", 3)

    @wengert.enable_grad()
    def without_end(g: Any) -> None:
        x = wengert.ones((), requires_grad=True)
        x.register_hook(without_end)
        (x * 2).backward()

    with pytest.raises(RecursionError, match="nested backward calls"):
        without_end(None)


def test_a_hook_that_recurses_by_itself_is_one_too() -> None:
    def deeper(n: int) -> int:
        return deeper(n + 1)

    x = wengert.ones((), requires_grad=True)
    x.register_hook(lambda g: deeper(0))
    with pytest.raises(RecursionError):
        (x * 2).backward()


@pytest.mark.torch
def test_pytorch_goes_as_deep(torch: Any) -> None:
    class Theirs(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with torch.enable_grad():
                ctx.inner = x.detach().requires_grad_() - 1
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if ctx.inner >= 0:
                with torch.enable_grad():
                    Theirs.apply(ctx.inner).backward()
            return g

    x = torch.tensor(float(DEPTH), requires_grad=True)
    Theirs.apply(x).backward()
    assert x.grad.item() == nested().item()
