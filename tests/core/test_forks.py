"""Forks wait for what they would cut in two."""

from __future__ import annotations

import importlib.abc
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import wengert
from wengert.core.forks import cached_property, compile_lock, hold_forks, once

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

WAIT = 30


def code_of_child(run: Callable[[], Any]) -> int:
    """How a forked child ends that runs a function: 0 if it does not raise, and not for ever."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(WAIT)
            run()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


class Inside:
    """A thread that is inside of a context for a while; `over` when it has left."""

    def __init__(self, context: Callable[[], Any], seconds: float = 0.1) -> None:
        self.context, self.seconds, self.over = context, seconds, False
        self.entered = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        assert self.entered.wait(WAIT)

    def run(self) -> None:
        with self.context():
            self.entered.set()
            time.sleep(self.seconds)
            self.over = True


GENERATOR = wengert.Generator()
CONTEXTS: dict[str, Callable[[], Any]] = {
    "hold_forks": hold_forks,
    "compile_lock": lambda: compile_lock,
    "generator": lambda: GENERATOR._lock,
    "default generator": lambda: wengert.default_generator._lock,
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_fork_waits_until_a_thread_is_out(name: str) -> None:
    inside = Inside(CONTEXTS[name])

    def enter() -> None:
        assert inside.over
        with CONTEXTS[name]():
            assert code_of_child(lambda: None) == 0

    assert code_of_child(enter) == 0
    inside.thread.join(WAIT)
    with CONTEXTS[name]():
        pass


@pytest.mark.parametrize("name", CONTEXTS)
def test_the_thread_that_forks_may_be_inside(name: str) -> None:
    def enter() -> None:
        with CONTEXTS[name]():
            pass

    with CONTEXTS[name]():
        assert code_of_child(enter) == 0
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join(WAIT)
    assert not thread.is_alive()


def test_a_thread_that_comes_back_at_once_lets_a_fork_in() -> None:
    stop = False

    def work() -> None:
        while not stop:
            with hold_forks():
                time.sleep(0.001)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    begin = time.monotonic()
    assert [code_of_child(lambda: None) for _ in range(10)] == [0] * 10
    assert time.monotonic() - begin < WAIT
    stop = True
    for thread in threads:
        thread.join(WAIT)


def test_threads_may_fork_at_once() -> None:
    codes: list[int] = []

    def fork() -> None:
        with hold_forks():
            pass
        codes.extend(code_of_child(lambda: None) for _ in range(5))

    threads = [threading.Thread(target=fork) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert codes == [0] * 20


class Slow(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module that takes a while to import."""

    name = "wengert._slow_to_import"

    def __init__(self) -> None:
        self.began = threading.Event()

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        return importlib.util.spec_from_loader(name, self) if name == self.name else None

    def exec_module(self, module: Any) -> None:
        self.began.set()
        time.sleep(0.1)
        module.whole = True


@pytest.fixture
def slow() -> Iterator[Slow]:
    finder = Slow()
    sys.meta_path.insert(0, finder)
    yield finder
    sys.meta_path.remove(finder)
    sys.modules.pop(finder.name, None)


def test_a_fork_waits_for_imports(slow: Slow) -> None:
    thread = threading.Thread(target=importlib.import_module, args=(slow.name,))
    thread.start()
    assert slow.began.wait(WAIT)

    def use() -> None:
        assert importlib.import_module(slow.name).whole

    assert code_of_child(use) == 0
    thread.join(WAIT)
    use()


def test_an_import_may_fork(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = []
    monkeypatch.setattr(slow, "exec_module", lambda module: codes.append(code_of_child(list)))
    importlib.import_module(slow.name)
    assert codes == [0]


def test_ctrl_c_while_a_fork_waits_comes_after_it() -> None:
    inside = Inside(hold_forks, 0.3)
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    children = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 (where it comes is what is tested)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if inside.over else 1)
        children.append(pid)
        time.sleep(WAIT)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0]
    inside.thread.join(WAIT)
    timer.join(WAIT)
    with hold_forks():
        assert code_of_child(lambda: None) == 0


def test_properties_share_no_lock() -> None:
    begun, end = threading.Event(), threading.Event()

    class Kind:
        def __init__(self, slow: bool) -> None:
            self.slow = slow

        @cached_property
        def value(self) -> int:
            """A value."""
            if self.slow:
                begun.set()
                assert end.wait(WAIT)
            return 3

    slow, fast = Kind(True), Kind(False)
    thread = threading.Thread(target=lambda: slow.value)
    thread.start()
    assert begun.wait(WAIT)
    assert fast.value == fast.value == 3
    assert vars(fast) == {"slow": False, "value": 3}
    end.set()
    thread.join(WAIT)
    assert vars(slow)["value"] == 3
    assert Kind.value.__doc__ == "A value."


def test_what_runs_once_runs_in_one_thread() -> None:
    calls = []

    @once
    def value() -> int:
        calls.append(threading.get_ident())
        time.sleep(0.05)
        return len(calls)

    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(value())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert (found, len(calls)) == ([1] * 4, 1)
