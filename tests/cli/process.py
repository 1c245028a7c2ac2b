"""Running the command line, and Python, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
Result = subprocess.CompletedProcess[str]


def python(*arguments: str, **options: object) -> Result:
    """Run the interpreter; output as text, no exception for a failure."""
    options = {"env": ENVIRONMENT, "timeout": 300, **options}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, **options)  # type: ignore[call-overload]


def wengert(*arguments: str, **options: object) -> Result:
    """Run ``python -m wengert``."""
    return python("-m", "wengert", *arguments, **options)


def script(folder: Path, text: str, name: str = "script.py") -> Path:
    """Write a script; returns its path."""
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return path


def good(result: Result) -> str:
    """The standard output of a process that must have succeeded."""
    assert result.returncode == 0, result.stderr
    return result.stdout
