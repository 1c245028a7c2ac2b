"""The pool: every chunk once, on any number of threads, from several callers, after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from wengert.kernels import jit
from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import i64, i64s

pytestmark = pytest.mark.skipif(not available(), reason="no llvmlite")


@kernel
def count(seen: i64s, starts: i64s, chunk: i64, start: i64, stop: i64) -> None:
    """Count how often each element of the work comes, and note the chunks."""
    starts[start // chunk] = stop
    for i in range(start, stop):
        seen[i] = seen[i] + 1


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """The number of threads as it was."""
    before = jit.get_threads()
    yield
    jit.set_threads(before)


def counted(size: int, chunk: int) -> tuple[np.ndarray, np.ndarray]:
    seen, starts = np.zeros(size + 1, np.int64), np.zeros(size // chunk + 2, np.int64)
    count.f32(seen, starts, chunk, size, chunk)
    return seen[:size], starts


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize(("size", "chunk"), [(1, 1), (7, 3), (1000, 1), (100_000, 999), (5, 9)])
def test_every_chunk_comes_once(number: int, size: int, chunk: int) -> None:
    jit.set_threads(number)
    for _ in range(20):
        seen, starts = counted(size, chunk)
        assert (seen == 1).all()
        # The same chunks whatever the number of threads.
        ends = [min(size, at + chunk) for at in range(0, size, chunk)]
        assert starts[: len(ends)].tolist() == ends


def test_no_work() -> None:
    seen, _ = counted(0, 5)
    assert seen.size == 0


def test_several_callers() -> None:
    jit.set_threads(3)
    wrong = []

    def call() -> None:
        for _ in range(200):
            seen, _ = counted(5000, 50)
            if not (seen == 1).all():
                wrong.append(seen)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not any(caller.is_alive() for caller in callers)
    assert wrong == []


def test_workers_that_slept_wake_up() -> None:
    jit.set_threads(2)
    counted(5000, 50)
    time.sleep(0.05)
    assert (counted(5000, 50)[0] == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_workers_of_its_own() -> None:
    code = """
import os, sys
sys.path.insert(0, "")
from tests.kernels.jit.test_thread_pool import counted
from wengert.kernels import jit
jit.set_threads(3)
assert (counted(5000, 50)[0] == 1).all()
for _ in range(5):
    child = os.fork()
    if not child:
        ok = all((counted(5000, 50)[0] == 1).all() for _ in range(50))
        os._exit(0 if ok else 1)
    assert (counted(5000, 50)[0] == 1).all()
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "done\n", done.stderr


def test_the_process_ends_while_workers_look_for_work() -> None:
    code = """
import sys
sys.path.insert(0, "")
from tests.kernels.jit.test_thread_pool import counted
from wengert.kernels import jit
jit.set_threads(4)
counted(5000, 50)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")


def test_the_wrong_number_of_arguments_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"count_\w+: wrong number of arguments, 5 are needed"):
        count.f32(np.zeros(1, np.int64))
    with pytest.raises(TypeError):
        count.f32(np.zeros(1, np.int64), np.zeros(1, np.int64), "1", 1, 1)


def test_symbols_that_others_register_do_not_reach_kernels() -> None:
    """As Numba does: its name of an exception is that of the object."""
    code = """
from llvmlite import binding as llvm
for kind in (TypeError, ValueError, RuntimeError, SystemError):
    llvm.add_symbol("PyExc_" + kind.__name__, id(kind))
import sys
sys.path.insert(0, "")
from tests.kernels.jit import test_thread_pool
test_thread_pool.test_the_wrong_number_of_arguments_is_an_error()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_count_is_set_while_another_thread_imports_the_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "wengert.kernels.jit.compiler", ModuleType("begun"))
    count = jit.get_threads() + 1
    jit.set_threads(count)
    assert jit.get_threads() == count
