"""Running the command line, and Python, in processes of their own."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from functools import cache
from pathlib import Path

from tests.source import ROOT

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
Result = subprocess.CompletedProcess[str]
# What takes long to import, for whom.
IMPORTS = {
    "wengert": ["wengert.cli"],
    "torch": ["torch", "torch._dynamo"],  # which the optimizers of PyTorch import
    "sklearn": ["sklearn.datasets"],
}


def python(*arguments: str, **options: object) -> Result:
    """Run the interpreter; output as text, no exception for a failure."""
    options = {"env": ENVIRONMENT, "timeout": 300, **options}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload]


def wengert(*arguments: str, **options: object) -> Result:
    """Run ``python -m wengert``."""
    return python("-m", "wengert", *arguments, **options)


def forked(libraries: str, *arguments: str) -> Result:
    """As `python`, in a fork of a process that has imported these libraries of `IMPORTS`.

    For tests of what a program does; those of how a process starts have to start one.
    """
    if not hasattr(os, "fork"):
        return python(*arguments, cwd=ROOT)
    host = _host(libraries)
    assert host.stdin is not None
    assert host.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        print(json.dumps([str(output), str(errors), *arguments]), file=host.stdin, flush=True)
        code = int(host.stdout.readline())
        return Result([*arguments], code, output.read_text(), errors.read_text())


@cache
def _host(libraries: str) -> subprocess.Popen[str]:
    names = [library for library in libraries.split() if importlib.util.find_spec(library)]
    imports = [module for name in names for module in IMPORTS[name]]
    host = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.host", *imports],
        cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    atexit.register(host.communicate)  # it ends with its input
    return host


def script(folder: Path, text: str, name: str = "script.py") -> Path:
    """Write a script; returns its path."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def good(result: Result) -> str:
    """The standard output of a process that must have succeeded."""
    assert result.returncode == 0, result.stderr
    return result.stdout
