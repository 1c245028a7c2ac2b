"""Forks while a thread computes: neither the child nor the thread hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source import ROOT

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

# A thread compiles and imports for the first time, and children do the same.
FIRST_USES = """
import os, signal, sys, threading, time
import wengert
begun, ended = threading.Event(), []

def work():
    begun.set()
    x = wengert.ones(1 << 16, requires_grad=True)
    wengert.nn.functional.gelu(x * 2).sum().backward()
    wengert.linalg.lu_factor(wengert.eye(3))
    wengert.fft.fft(x)
    ended.append(x.grad)

thread = threading.Thread(target=work)
thread.start()
begun.wait()
children = []
for delay in map(float, sys.argv[1:]):
    time.sleep(delay)
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        work()
        os._exit(0)
    children.append(pid)
assert [os.waitpid(pid, 0)[1] for pid in children] == [0] * len(children)
thread.join(60)
assert len(ended) == 1
"""


def test_threads_and_children_go_on() -> None:
    command = [sys.executable, "-m", "tests.property.forking", "1", "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.stdout.strip() == "all went on", done.stderr


def test_first_uses_in_threads_and_children() -> None:
    command = [sys.executable, "-c", FIRST_USES, "0.05", "0.3"]
    environment = os.environ | {"WENGERT_CACHE": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr


IMPORTS = """
import os, sys, threading, time
from wengert.core import forks
assert "logging" not in sys.modules
import logging
forks._LATE = frozenset({"slowly"})
sys.path.insert(0, sys.argv[1])
thread = threading.Thread(target=__import__, args=("slowly",))
thread.start()
time.sleep(0.1)
pid = os.fork()
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
thread.join(20)
assert sys.modules["slowly"].logger.name == "slowly"
"""


def test_an_import_that_waits_for_logging_lets_a_fork_come(tmp_path: Path) -> None:
    """Before a fork logging takes its lock; first, if it was imported after this library."""
    (tmp_path / "slowly.py").write_text(
        "import logging, time\ntime.sleep(0.5)\nlogger = logging.getLogger('slowly')\n"
    )
    command = [sys.executable, "-c", IMPORTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
