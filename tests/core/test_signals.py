"""Signals at the edges of `with` blocks, delivered at every instruction: nothing stays changed.

A trace function raises a real signal right before an instruction. Python sees it where it looks
for signals next, as it would outside of a test.
"""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import wengert
from wengert import nn
from wengert.amp import autocast_mode
from wengert.autograd.engine import anomaly
from wengert.autograd.saved.packing import saver_stack
from wengert.autograd.transforms.levels import transform_stack
from wengert.checkpointing import _api, _recompute
from wengert.core.signals import call_despite_signals, contextmanager, without_entry_signals
from wengert.core.storage import guards
from wengert.core.tensor import inference, mode
from wengert.graph.memory import without_collecting
from wengert.nn.utils import parametrize
from wengert.utils import checkpoint

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signals"),
    pytest.mark.skipif(
        sys.version_info[:2] == (3, 12),
        reason="3.12 does not report every opcode to a trace function (python/cpython#103615)",
    ),
]

PACKAGE = str(Path(wengert.__file__).parent)
FILES = (PACKAGE, __file__, "<op")


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """The signal raises KeyboardInterrupt."""

    def interrupt(*arguments: Any) -> None:
        sys.settrace(None)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield
    signal.signal(signal.SIGUSR1, before)


def signalled(run: Callable[[], Any], n: int) -> tuple[int, BaseException | None]:
    """Run with a signal right before the n-th instruction; how many there were, what was raised."""
    count = 0
    # What a subscription calls: after it, unlike after a call, Python does not look for signals.
    kill = defaultdict(partial(ctypes.CDLL(None)["raise"], int(signal.SIGUSR1)))

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(FILES):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            count += 1
            if count == n:
                frame.f_trace = None
                sys.settrace(None)
                kill[0]
                return None
        return trace

    try:
        sys.settrace(trace)
        run()
        sys.settrace(None)
    except KeyboardInterrupt as interrupt:
        return count, interrupt
    return count, None


def instructions_of(run: Callable[[], Any]) -> int:
    """How many there are, when it has been traced before: 3.13 then sees more of them."""
    return max(signalled(run, -1)[0] for _ in range(3))


LAYER = nn.Linear(2, 2)


def state() -> dict[str, Any]:
    """All that contexts change."""
    return {
        "mode": (mode.site, mode.where),
        "inference": inference.block,
        "autocast": (
            wengert.is_autocast_enabled("cpu"),
            wengert.get_autocast_dtype("cpu"),
            autocast_mode.state.cache,
        ),
        "anomaly": (anomaly.enabled, anomaly.check_nan, anomaly.check_writes, anomaly.check),
        "savers": (list(saver_stack.entries), saver_stack.refusal, saver_stack.witness),
        "guards": list(guards),
        "levels": list(transform_stack.levels),
        "collector": gc.isenabled(),
        "random": wengert.get_rng_state().tolist(),
        "cudnn": wengert.backends.cudnn.benchmark,
        "threads": wengert.get_num_threads(),
        "allowed": wengert.serialization.get_safe_globals(),
        "profile": sys.getprofile(),
        "checkpoints": (_api._Settings.debug, _api._Settings.early_stop, _recompute.group.current),
        "cache": (parametrize._cache.depth, dict(parametrize._cache.values)),
        "parameters": (LAYER.weight, LAYER.bias),
    }


X = wengert.ones(1, 2)


def use(context: Callable[[], AbstractContextManager[Any]]) -> None:
    with context():
        X + X


def identity(value: Any) -> Any:
    return value


CONTEXTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": wengert.no_grad,
    "enable_grad": wengert.enable_grad,
    "inference_mode": wengert.inference_mode,
    "autocast": lambda: wengert.autocast("cpu"),
    "detect_anomaly": lambda: wengert.autograd.detect_anomaly(check_writes=True),
    "saved_tensors_hooks": lambda: wengert.autograd.graph.saved_tensors_hooks(identity, identity),
    "save_on_cpu": wengert.autograd.graph.save_on_cpu,
    "disable_saved_tensors_hooks": lambda: wengert.autograd.graph.disable_saved_tensors_hooks(
        "not here"
    ),
    "allow_mutation_on_saved_tensors": wengert.autograd.graph.allow_mutation_on_saved_tensors,
    "fork_rng": wengert.random.fork_rng,
    "dual_level": wengert.autograd.forward_ad.dual_level,
    "without_collecting": without_collecting,
    "cudnn.flags": lambda: wengert.backends.cudnn.flags(benchmark=True),
    "safe_globals": lambda: wengert.serialization.safe_globals([Path]),
    "profiler": wengert.autograd.profiler.profile,
    "checkpoint debug": lambda: checkpoint.set_checkpoint_debug_enabled(True),
    "checkpoint early stop": lambda: checkpoint.set_checkpoint_early_stop(False),
    "GraphExecGroup": checkpoint.GraphExecGroup,
    "cached": parametrize.cached,
    "random_state": lambda: _recompute.random_state(wengert.get_rng_state()),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_block_leaves_nothing_changed(name: str) -> None:
    run = partial(use, CONTEXTS[name])
    run()
    before = state()
    total = instructions_of(run)
    assert state() == before
    interrupted = 0
    for n in range(1, total + 1, 1 + total // 250):
        _, interrupt = signalled(run, n)  # whose traceback keeps the frames
        assert state() == before, f"a signal before instruction {n} of {total}"
        interrupted += interrupt is not None
    assert interrupted > 5


def nested() -> None:
    with wengert.no_grad(), wengert.enable_grad(), wengert.no_grad():
        pass


@wengert.no_grad()
def decorated() -> Any:
    return X + X


@wengert.no_grad()
def generating() -> Iterator[Any]:
    yield X + X
    yield X * X


def drawing() -> None:
    with wengert.random.fork_rng():
        wengert.rand(2)
    with _recompute.random_state(wengert.get_rng_state()):
        wengert.rand(2)


def transformed() -> None:
    wengert.func.vmap(wengert.func.grad(lambda x: (x * x).sum()))(X)


def functional() -> None:
    wengert.func.functional_call(LAYER, {"weight": wengert.zeros(2, 2)}, X)


def recomputed() -> None:
    x = wengert.ones(2, requires_grad=True)
    checkpoint.checkpoint(wengert.exp, x, use_reentrant=False).sum().backward()


def double_backward() -> None:
    x = wengert.ones(2, requires_grad=True)
    wengert.autograd.grad((x**3).sum(), x, create_graph=True)


class Twice(wengert.autograd.Function):
    """A function of the user's, whose forward runs without recording."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def applied() -> None:
    Twice.apply(wengert.ones(2, requires_grad=True)).sum().backward()


CALLS: dict[str, Callable[[], Any]] = {
    "nested modes": nested,
    "a decorated function": decorated,
    "a decorated generator": lambda: list(generating()),
    "random numbers": drawing,
    "a module": lambda: LAYER(X),
    "a module under no_grad": wengert.no_grad()(lambda: LAYER(X)),
    "transforms": transformed,
    "functional_call": functional,
    "checkpoint": recomputed,
    "double backward": double_backward,
    "Function": applied,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_leaves_nothing_changed(name: str) -> None:
    run = CALLS[name]
    run()
    before = state()
    total = instructions_of(run)
    for n in range(1, total + 1, 1 + total // 250):
        _, interrupt = signalled(run, n)
        assert state() == before, f"a signal before instruction {n} of {total}"
        del interrupt


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
def test_signals_in_time() -> None:
    """Not where a test puts them, but where they come."""

    def interrupt(*arguments: Any) -> None:
        raise KeyboardInterrupt

    before, site, kept = signal.signal(signal.SIGALRM, interrupt), mode.site, []
    gc.disable()  # hypothesis has a callback of collections, which a signal may end
    try:
        for k in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-6 + k * 1e-7)
                for _ in range(30):
                    with wengert.no_grad():
                        pass
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt as error:
                kept.append(error)
            assert mode.site is site
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert len(kept) > 100


def test_an_exception_of_the_block_is_the_blocks() -> None:
    @contextmanager
    def block() -> Iterator[int]:
        try:
            yield 3
        except KeyError:
            story.append("seen")
            raise
        finally:
            call_despite_signals(story.append, "over")

    story: list[str] = []
    with block() as value:
        assert value == 3
    assert story == ["over"]
    with pytest.raises(KeyError), block():
        raise KeyError
    assert story == ["over", "seen", "over"]


def test_what_is_done_surely_is_done_again_after_an_exception() -> None:
    calls = []

    def restore(value: int) -> None:
        calls.append(value)
        if len(calls) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_despite_signals(restore, 3)
    assert calls == [3, 3]


def test_a_function_without_entry_signals_is_as_it_was() -> None:
    @without_entry_signals
    def add(a: int, b: int = 2) -> int:
        """A sum."""
        return a + b

    assert (add(1), add(1, b=5), add.__doc__, add.__name__) == (3, 6, "A sum.", "add")
    closed = 4

    @without_entry_signals
    def inner() -> int:
        return closed

    assert inner() == 4
