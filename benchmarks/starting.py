"""The first steps of compiled functions, beside eager ones: while programs are made, and after.

    python benchmarks/starting.py [part of a workload's name ...]

Each run is a process of its own, on one thread. "cold" finds on disk what the eager run has left
there, "warm" what compiled runs have. Ratios are to eager steps of a process that compiles nothing;
each is the best of several runs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from _measure import clean_environment
from workloads import BY_NAME
from workloads._workload import Step

ROUNDS = 3
CALLS = 20  # at the beginning, which are summed
LINKS = 300
NAMES = {
    "chain of 900": "",
    "small MLP, Adam": "MLP 64-128-128-10",
    "LSTM in operations": "LSTM in operations",
    "ResNet-8": "ResNet-8",
    "GPT": "GPT",
}


def chain(library: Any) -> Step:
    """900 operations on ten elements, and their backward."""
    x = library.tensor([0.1 * (i + 1) for i in range(10)], requires_grad=True)

    def step() -> Any:
        x.grad = None
        y = x
        for _ in range(LINKS):
            y = y * x
            y = y + x
            y = y.tanh()
        loss = y.sum()
        loss.backward()
        return loss

    return step


def made(library: Any, name: str) -> Step:
    """The step of a workload."""
    if not NAMES[name]:
        return chain(library)
    start = NAMES[name]
    workload = next(w for full, w in BY_NAME.items() if start in full)
    return workload.make(library, lambda function: function)


def inside(name: str, compiled: bool) -> None:
    """Print the seconds of the first steps, and those while programs are made."""
    import wengert
    import wengert.compiler
    from wengert.replay.background import background

    wengert.set_num_threads(1)
    step = made(wengert, name)
    if compiled:
        step = wengert.compiler.compile(step)
    walls, works, during = list[float](), list[float](), list[float]()
    more = 0
    while len(walls) < 400 and more < 40:
        wall, work = perf_counter(), process_time()
        step().item()
        walls.append(perf_counter() - wall)
        works.append(process_time() - work)
        if len(walls) > 3 and background.waiting:
            during.append(walls[-1])
        more += len(walls) > CALLS and not background.waiting
    print(json.dumps({"walls": walls, "works": works, "during": during}))


def run(name: str, kind: str, cache: Path) -> dict[str, list[float]]:
    """What `inside` prints in a process of its own."""
    environment = clean_environment() | {"WENGERT_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--inside", name, kind]
    out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, list[float]] = json.loads(out.stdout.splitlines()[-1])
    return found


def rounds(name: str) -> dict[str, list[dict[str, list[float]]]]:
    """All runs of a workload, by kind."""
    found: dict[str, list[dict[str, list[float]]]] = {"eager": [], "cold": [], "warm": []}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            run(name, "eager", Path(folder))
            for kind in found:
                found[kind].append(run(name, kind, Path(folder)))
    return found


def report(name: str) -> None:
    """Print the rows of a workload."""
    found = rounds(name)
    for clock, unit in (("walls", "wall"), ("works", "processor")):
        for kind in ("cold", "warm"):
            cells = []
            for count in (1, 5, CALLS):
                ours, eager = (
                    min(sum(r[clock][:count]) for r in found[k]) for k in (kind, "eager")
                )
                cells.append(f"{ours * 1e3:9.1f} /{eager * 1e3:8.1f} = {ours / eager:5.2f}")
            print(f"{name:<20}{unit:<10}{kind:<5}" + "".join(cells), flush=True)
    eager = min(statistics.median(r["walls"]) for r in found["eager"])
    # Those of eager runs say how much of it is other processes' work.
    for kind, part in {"eager": "walls", "cold": "during", "warm": "during"}.items():
        during = [sorted(r[part][CALLS * (kind == "eager") :]) for r in found[kind] if r[part]]
        if not during:
            continue
        parts = [min(d[int(q * (len(d) - 1))] for d in during) / eager for q in (0.5, 0.9, 1)]
        after = min(statistics.median(r["walls"][-20:]) for r in found[kind]) / eager
        names = "median", "90%", "longest"
        shown = ", ".join(f"{n} {x:.2f}" for n, x in zip(names, parts, strict=True))
        print(f"{name:<20}{kind:<6}steps while programs are made / median eager one: {shown}"
              f" ({min(map(len, during))} steps); later {after:.2f}", flush=True)  # fmt: skip


def main() -> None:
    """All workloads whose names have one of the arguments."""
    if sys.argv[1:2] == ["--inside"]:
        inside(sys.argv[2], sys.argv[3] != "eager")
        return
    wanted = sys.argv[1:] or [""]
    print(f"# {os.cpu_count()} cores; milliseconds of the first 1, 5 and {CALLS} steps, compiled /"
          " eager")  # fmt: skip
    for name in NAMES:
        if any(text in name for text in wanted):
            report(name)


if __name__ == "__main__":
    main()
