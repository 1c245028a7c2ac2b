"""A library in a process of its own, which does its part of a benchmark when it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

Step = Callable[[], Any]
SECONDS = 0.25  # of steps in a turn


def answer(step: Step, first: list[float]) -> None:
    """In that process: print what comes first, then for each line read the time of a step."""
    print(json.dumps(first), flush=True)
    for _ in sys.stdin:
        print(_timed(step), flush=True)


def _timed(step: Step) -> float:
    """Seconds of a step, on average."""
    start = perf_counter()
    count = 0
    while (passed := perf_counter() - start) < SECONDS:
        step()
        count += 1
    return passed / count


class Contender:
    """A process that runs ``script --serve *arguments``, which calls `answer`."""

    def __init__(self, script: str, *arguments: str) -> None:
        command = [sys.executable, script, "--serve", *arguments]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.first: list[float] = json.loads(self._answer())

    def __call__(self) -> tuple[float]:
        """Seconds of a step."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return (float(self._answer()),)

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{' '.join(self.process.args)} ended early")  # type: ignore[arg-type]
        return line

    def end(self) -> None:
        """Let the process come to its end."""
        self.process.communicate()
