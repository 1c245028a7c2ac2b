"""What runs in a fork of a prepared process runs as under `python`."""

from __future__ import annotations

import pytest

from tests.cli.process import forked, python, script
from tests.source import ROOT

PROGRAMS = {
    "start": "import os, sys; print(sys.argv, sys.path[0], __name__, __file__, os.getcwd())",
    "input": "import sys; print(repr(sys.stdin.read()))",
    "status": "import sys; sys.exit(3)",
    "text": "import sys; print('before'); sys.exit('not good')",
    "at exit": "import atexit; atexit.register(print, 'bye')",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_fork_is_like_a_process_of_its_own(tmp_path, program):
    file = str(script(tmp_path, PROGRAMS[program]))
    ours = forked("wengert", file, "a b", "-c")
    theirs = python(file, "a b", "-c", cwd=ROOT, input="")
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        theirs.returncode, theirs.stdout, theirs.stderr
    )  # fmt: skip


def test_error_in_a_fork_is_told(tmp_path):
    result = forked("wengert", str(script(tmp_path, "def f():\n    1 / 0\n\nf()\n")))
    assert result.returncode == 1
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert f'File "{tmp_path}/script.py", line 2, in f' in result.stderr


def test_modules_run_too():
    result = forked("wengert", "-m", "wengert", "show", "zork")
    assert (result.returncode, result.stdout) == (1, "")
    assert "zork" in result.stderr
