"""What an operation costs beside its arithmetic: time, memory, import, installed size.

    python benchmarks/overhead.py

Tensors have 10 elements, both libraries run in one process, on one thread, in turns.
Garbage collection is on, as it is for users.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import torch
from _measure import Row, in_clean_process, interleaved, shown
from packaging.requirements import Requirement
from workloads import BY_NAME
from workloads._workload import Step

import wengert
import wengert.compiler
from wengert.replay.background import background

LIBRARIES: dict[str, Any] = {"wengert": wengert, "torch": torch}
START = [0.1 * (i + 1) for i in range(10)]
LINKS = 300
OPS = 3 * LINKS


def chain_with_number(y: Any, x: Any) -> Any:
    """300 times multiply by a number, add, tanh."""
    for _ in range(LINKS):
        y = y * 1.0001
        y = y + x
        y = y.tanh()
    return y.sum()


def chain_with_tensor(y: Any, x: Any) -> Any:
    """300 times multiply by a tensor, add, tanh."""
    for _ in range(LINKS):
        y = y * x
        y = y + x
        y = y.tanh()
    return y.sum()


CHAINS = {"y*1.0001, y+x, tanh": chain_with_number, "y*x, y+x, tanh": chain_with_tensor}
Chain = Callable[[Any, Any], Any]


def leaf(library: Any) -> Any:
    """Ten floats that want a gradient."""
    return library.tensor(START, requires_grad=True)


def first_order(library: Any, chain: Chain) -> tuple[float, float]:
    """Seconds of a forward and of its backward."""
    x = leaf(library)
    start = perf_counter()
    y = chain(x, x)
    middle = perf_counter()
    y.backward()
    return middle - start, perf_counter() - middle


def without_graph(library: Any, chain: Chain) -> tuple[float]:
    """Seconds of a forward under no_grad."""
    x = leaf(library)
    with library.no_grad():
        start = perf_counter()
        chain(x, x)
        return (perf_counter() - start,)


def second_order(library: Any, chain: Chain) -> tuple[float]:
    """Seconds of a forward, a recorded backward, and a backward through that."""
    x = leaf(library)
    start = perf_counter()
    (g,) = library.autograd.grad(chain(x, x), x, create_graph=True)
    g.sum().backward()
    return (perf_counter() - start,)


def measure_chains() -> Iterator[Row]:
    """Microseconds an operation."""
    parts = [
        (first_order, ["forward", "backward"], 61),
        (without_graph, ["forward under no_grad"], 61),
        (second_order, ["forward, backward, double backward"], 15),
    ]
    for label, chain in CHAINS.items():
        for part, names, rounds in parts:
            found = interleaved(
                {n: lambda lib=lib, part=part, chain=chain: part(lib, chain)
                 for n, lib in LIBRARIES.items()}, rounds)  # fmt: skip
            for i, name in enumerate(names):
                ours, theirs = (found[n][i] * 1e6 / OPS for n in LIBRARIES)
                yield Row(f"{name}, {label}", "us/op", ours, theirs)


def long_chain(library: Any, nodes: int) -> tuple[float]:
    """Seconds of building a chain of nodes, its backward, and dropping it."""
    x = leaf(library)
    start = perf_counter()
    y = x
    for _ in range(nodes - 1):
        y = y * 1.0001
    y.sum().backward()
    del y
    return (perf_counter() - start,)


def traced(library: Any, chain: Chain) -> Callable[[], tuple[float]]:
    """Seconds of a call of the program that `jit.trace` makes."""
    y, x = (library.tensor(START) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        program = library.jit.trace(chain, (y, x))

    def call() -> tuple[float]:
        start = perf_counter()
        program(y, x)
        return (perf_counter() - start,)

    return call


def wait_for_kernels() -> None:
    """Until those that are made in the background are there."""
    while background.waiting:
        sleep(0.1)


def measure_programs() -> Iterator[Row]:
    """Microseconds of a chain without Python."""
    for label, chain in CHAINS.items():
        calls = {n: traced(lib, chain) for n, lib in LIBRARIES.items()}
        interleaved(calls, 40)
        wait_for_kernels()
        found = interleaved(calls, 61)
        ours, theirs = (found[n][0] * 1e6 for n in LIBRARIES)
        yield Row(f"traced program of {OPS} operations, {label}", "us", ours, theirs)


STEPS = 10  # in a row, as in training


def computed(step: Step) -> Callable[[], tuple[float]]:
    """Seconds of a step, until its result is there."""

    def call() -> tuple[float]:
        start = perf_counter()
        for _ in range(STEPS):
            result = step()
            (result[0] if isinstance(result, tuple) else result).item()
        return ((perf_counter() - start) / STEPS,)

    return call


def measure_steps() -> Iterator[Row]:
    """Whole steps that are compiled, Python run and skipped, beside PyTorch's eager ones."""
    names = [*[w for w in BY_NAME if "64-128-128-10" in w], "LSTM in operations", "GPT"]
    for name in names:
        workload = next(w for n, w in BY_NAME.items() if n.startswith(name))
        scale = 1e6 if workload.unit == "us" else 1e3
        for mode in ("default", "reduce-overhead"):
            theirs = computed(workload.make(torch, lambda function: function))
            step = workload.make(wengert, lambda function: function)
            ours = computed(wengert.compiler.compile(step, mode=mode))
            for _ in range(4):
                ours()
            wait_for_kernels()
            for _ in range(2):  # a trial, of how long calls take
                ours()
            found = interleaved({"wengert": ours, "torch": theirs}, 15)
            label = "" if mode == "default" else ", Python skipped"
            times = [found[n][0] * scale for n in LIBRARIES]
            yield Row(f"compiled step{label}, {workload.name}", workload.unit, *times)


def measure_depth() -> Iterator[Row]:
    """Microseconds a node, forward and backward, as the graph grows."""
    for nodes, rounds in ((100, 101), (1_000, 31), (10_000, 11), (100_000, 5), (1_000_000, 1)):
        found = interleaved(
            {n: lambda lib=lib, nodes=nodes: long_chain(lib, nodes)
             for n, lib in LIBRARIES.items()}, rounds)  # fmt: skip
        ours, theirs = (found[n][0] * 1e6 / nodes for n in LIBRARIES)
        yield Row(f"forward and backward, chain of {nodes:,} nodes", "us/node", ours, theirs)


# In a process of its own: how much the resident memory grows by a chain whose nodes save nothing.
GROWTH = """
import sys, {library} as library
nodes = 200_000
def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096
x = library.tensor([0.1] * 10, requires_grad=True)
y = x
for _ in range(1000):
    y = y + 1.0
before = resident()
for _ in range(nodes):
    y = y + 1.0
print((resident() - before) / nodes)
"""


def measure_memory() -> Iterator[Row]:
    """Bytes that a node takes beside the arrays that it saves."""
    if Path("/proc/self/statm").exists():
        ours, theirs = (float(_run(GROWTH.format(library=n))) for n in LIBRARIES)
        yield Row("memory of a node that saves nothing (resident)", "bytes", ours, theirs)
    node = (leaf(wengert) + 1.0)._edge
    yield Row("the same by sys.getsizeof", "bytes", sys.getsizeof(node) + _edges_size(node))


def _edges_size(node: Any) -> int:
    edges = getattr(node, "edges", None)
    return sys.getsizeof(edges) if type(edges) is tuple and "edges" in _slots(node) else 0


def _slots(node: Any) -> set[str]:
    return {name for cls in type(node).__mro__ for name in getattr(cls, "__slots__", ())}


def _run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True).stdout  # fmt: skip


def measure_import() -> Iterator[Row]:
    """Milliseconds of a fresh interpreter beyond an empty program."""
    programs = ["pass", "import numpy", "import wengert", "import torch"]
    times: dict[str, list[float]] = {p: [] for p in programs}
    for turn in range(12):
        for program in programs:
            start = perf_counter()
            _run(program)
            if turn:  # the first turn compiles
                times[program].append((perf_counter() - start) * 1e3)
    empty, numpy, ours, theirs = (statistics.median(times[p]) for p in programs)
    yield Row("import", "ms", ours - empty, theirs - empty)
    yield Row("import, of which numpy", "ms", numpy - empty)


def measure_size() -> Iterator[Row]:
    """Megabytes on disk."""
    package = Path(wengert.__file__).parent
    alone = sum(p.stat().st_size for p in package.rglob("*") if p.suffix in (".py", ".pyi"))
    ours, theirs = alone / 1e6, _distribution_size("torch") / 1e6
    yield Row("installed size, alone", "MB", ours, theirs)
    extra = sum(_distribution_size(n) for n in _needs("wengert") - {"wengert"}) / 1e6
    with_needs = sum(map(_distribution_size, _needs("torch"))) / 1e6
    yield Row("installed size, with dependencies", "MB", ours + extra, with_needs)


def _distribution_size(name: str) -> int:
    files = metadata.files(name) or []
    paths = [Path(str(f.locate())) for f in files if f.suffix != ".pyc"]
    return sum(p.stat().st_size for p in paths if p.exists())


def _needs(name: str) -> set[str]:
    """A distribution and everything that it requires, extras left out."""
    found, todo = set[str](), [name]
    while todo:
        current = todo.pop()
        if current not in found:
            found.add(current)
            wanted = map(Requirement, metadata.requires(current) or [])
            todo += [r.name for r in wanted if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def measure() -> list[Row]:
    """All parts, printed as they are found."""
    torch.set_num_threads(1)
    parts = (
        measure_chains,
        measure_programs,
        measure_steps,
        measure_depth,
        measure_memory,
        measure_import,
        measure_size,
    )
    return [shown(row) for part in parts for row in part()]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
