"""One of the libraries that benchmarks/compare.py compares, in a process of its own.

_peer.py serve NAME             steps of workloads on demand, in JSON by standard input
_peer.py first NAME WORKLOAD    seconds of the first step
_peer.py peak NAME WORKLOAD     megabytes that the first steps add to the memory in use
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from time import perf_counter, process_time
from typing import Any, TextIO

import numpy as np
from _measure import peak_of
from workloads import BY_NAME
from workloads._workload import Compile, Step, Workload

STEPS = 3  # first steps, whose losses are compared

# The imports that a peer's steps need: they belong to its start.
PEERS = {
    "wengert": "wengert",
    "compiled": "wengert",
    "torch": "torch",
    "compile": "torch",
    "jax": "jax",
}


CLOCKS = {"wall": perf_counter, "processor": process_time}


class MissingStepError(Exception):
    """Why a peer has no such step."""


def built(peer: str, workload: Workload) -> Step:
    """The workload's step, which has not run yet."""
    if peer == "jax":
        if isinstance(workload.jax, str):
            raise MissingStepError(workload.jax)
        step = workload.jax()
        wait = import_module("jax").block_until_ready
        return lambda: wait(step())
    if peer == "compile" and workload.compiled:
        raise MissingStepError(workload.compiled)
    library = import_module(PEERS[peer])
    compiled: Compile = lambda function: function  # noqa: E731
    if peer == "compile":
        compiled = library.compile
    elif peer == "compiled":
        compiled = import_module("wengert.compiler").compile
    step = workload.make(library, compiled)
    return (lambda: computed(step())) if peer == "compiled" else step


def computed(result: Any) -> Any:
    """A result that a compiled function has deferred, once it is there."""
    for part in result if isinstance(result, tuple) else (result,):
        part.data_ptr()
    return result


def numbers(result: Any) -> list[float]:
    """What stands for a result when libraries are compared: a loss, or moments of arrays."""
    found: list[float] = []
    for part in result if isinstance(result, tuple) else (result,):
        array = np.asarray(part.detach() if hasattr(part, "detach") else part, np.float64)
        if array.size == 1:
            found.append(array.item())
        else:
            # Places and signs count in the second.
            place = np.linspace(0.5, 1.5, array.size).reshape(array.shape)
            found += [float(np.abs(array).mean()), float(np.abs(array * place + 1).mean())]
    return found


def seconds_of(step: Step) -> float:
    """Of one step."""
    start = perf_counter()
    step()
    return perf_counter() - start


class Server:
    """Answers requests: what to load, and how long to run."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.step: Step | None = None
        self.count = 1

    def load(self, load: str) -> dict[str, Any]:
        """Build a workload's step and say what its first runs give."""
        self.step = None
        workload = BY_NAME[load]
        step = built(self.peer, workload)
        # Before the next step writes to the arrays of this one.
        found = [numbers(step()) for _ in range(STEPS)]
        self.count = max(1, int(workload.seconds / min(seconds_of(step) for _ in range(3))))
        self.step = step
        return {"numbers": found}

    def run(self, clock: str) -> dict[str, Any]:
        """Seconds of a step, by the clock on the wall or by this process's own."""
        step, count, now = self.step, self.count, CLOCKS[clock]
        assert step is not None
        start = now()
        for _ in range(count):
            step()
        return {"seconds": (now() - start) / count}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """To one request; an error is an answer, too."""
        try:
            return self.load(**request) if "load" in request else self.run(**request)
        except MissingStepError as error:
            return {"reason": str(error)}
        except Exception as error:
            return {"reason": f"{type(error).__name__}: {error}"[:500], "failed": True}


def serve(peer: str, answers: TextIO) -> None:
    """Answer until the input ends."""
    import_module(PEERS[peer])
    answer_all(Server(peer), answers)


def answer_all(server: Any, answers: TextIO) -> None:
    """Let a server answer until the input ends."""
    for line in sys.stdin:
        print(json.dumps(server.answer(json.loads(line))), file=answers, flush=True)


def first(peer: str, name: str) -> float:
    """Seconds of the first step."""
    return seconds_of(built(peer, BY_NAME[name]))


def peak(peer: str, name: str) -> float:
    """Megabytes of the first steps' peak, beside those in use before."""
    step = built(peer, BY_NAME[name])

    def steps() -> None:
        for _ in range(STEPS):
            step()

    return peak_of(steps) / 1e6


def main() -> None:
    """The command line above."""
    task, peer, *names = sys.argv[1:]
    # What libraries print goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if task == "serve":
        serve(peer, answers)
        return
    measure: Callable[[str, str], float] = {"first": first, "peak": peak}[task]
    try:
        found: Any = measure(peer, *names)
    except MissingStepError as error:
        found = str(error)
    print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
