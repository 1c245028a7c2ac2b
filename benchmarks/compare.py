"""wengert, eager and compiled, beside PyTorch, torch.compile and jax.jit.

Training steps, operations, kernels.

    python benchmarks/compare.py
    python benchmarks/compare.py --quick                        # wengert and torch, in 3 minutes
    python benchmarks/compare.py --only gpt "layer norm" --peers wengert,torch,jax
    python benchmarks/compare.py --only cold --update        # the other rows as they were saved

Each library has a process of its own with its default number of threads. In turns, each runs
for a moment, while the others wait for their input. All start from the same weights, and what
they compute first has to agree; a row in which it does not says so, and fails the command.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from _measure import RESULTS, clean_environment, machine, save, turns
from workloads import DEEP_MLP, FAMILIES, TRAINING
from workloads._workload import Workload

PEERS = ("wengert", "torch", "compile", "jax", "compiled")
CHILD = Path(__file__).resolve().parent / "_peer.py"
TOLERANCE = 1e-3
# What the libraries take their number of threads from.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Seconds before each turn: threads that look for more work after a step come to rest.
PAUSE = 0.01


@dataclass
class Comparison:
    """One row: the same quantity in every library that has it."""

    name: str
    kind: str
    unit: str
    medians: dict[str, float] = field(default_factory=dict)
    minima: dict[str, float] = field(default_factory=dict)
    # Why a library has no figure.
    reasons: dict[str, str] = field(default_factory=dict)
    # Libraries that computed something else than the reference.
    disagreeing: list[str] = field(default_factory=list)

    @property
    def ratios(self) -> dict[str, float]:
        """wengert's median as a multiple of each peer's: below 1 is less."""
        ours = self.medians.get("wengert")
        if ours is None:
            return {}
        return {peer: ours / m for peer, m in self.medians.items() if peer != "wengert"}

    def text(self, peers: list[str]) -> str:
        """The row as a line of a plain table."""
        times = "".join(shown(self.medians.get(peer), 10) for peer in peers)
        ratios = "".join(shown(self.ratios.get(peer), 9) for peer in others(peers))
        wrong = f"  DISAGREES: {', '.join(self.disagreeing)}" if self.disagreeing else ""
        return f"{self.name:<58}{self.unit:>4}{times}{ratios}{wrong}"


def others(peers: list[str]) -> list[str]:
    """Those that wengert has a ratio to."""
    return [peer for peer in peers if peer != "wengert"] if "wengert" in peers else []


def shown(value: float | None, width: int) -> str:
    """A number with three digits that mean something, or a dash."""
    if value is None:
        return "-".rjust(width)
    return (f"{value:.0f}" if value >= 100 else f"{value:.3g}").rjust(width)


@dataclass
class Conditions:
    """How everything is measured."""

    rounds: int
    environment: dict[str, str]
    clock: str = "wall"  # or "processor"

    def on_busy_machine(self) -> None:
        """Measure processor time, of one thread in each library."""
        self.environment |= dict.fromkeys(THREADS, "1")
        self.clock = "processor"


class Peer:
    """A process that serves the steps of a library; started again when it has ended."""

    def __init__(self, name: str, conditions: Conditions, script: Path | None = None) -> None:
        self.name = name
        self.conditions = conditions
        self.script = script or CHILD
        self.process: subprocess.Popen[str] | None = None

    def send(self, **request: Any) -> None:
        """Ask for something; `answer` says what came of it."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, self.script, "serve", self.name], env=self.conditions.environment,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )  # fmt: skip
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # the answer says so
            print(json.dumps(request), file=self.process.stdin, flush=True)

    def answer(self) -> dict[str, Any]:
        """To the last request."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        status = self.process.wait()
        self.end()
        return {"reason": f"the process ended with status {status}", "failed": True}

    def end(self) -> None:
        """Let the process come to its end."""
        if self.process is not None:
            self.process.communicate()
            self.process = None

    def turn(self, row: Comparison) -> Iterable[float]:
        """Seconds of a step, after a pause; an error goes into the row."""
        time.sleep(PAUSE)
        self.send(clock=self.conditions.clock)
        answer = self.answer()
        if "reason" in answer:
            row.reasons[self.name] = answer["reason"]
        return (answer.get("seconds", math.nan),)


def disagreeing(numbers: dict[str, Any]) -> list[str]:
    """The libraries whose numbers are not those of torch, or of the first that is there."""
    if not numbers:
        return []
    reference = numbers.get("torch", next(iter(numbers.values())))
    return [name for name, found in numbers.items() if not alike(found, reference)]


def alike(found: list[list[float]], reference: list[list[float]]) -> bool:
    """Whether all steps gave about the same."""
    return all(
        len(a) == len(b) and np.allclose(a, b, rtol=TOLERANCE, atol=1e-7)
        for a, b in zip(found, reference, strict=True)
    )


def compare(kind: str, workload: Workload, peers: list[Peer], conditions: Conditions) -> Comparison:
    """A row, measured in turns."""
    row = Comparison(workload.name, kind, workload.unit)
    for peer in peers:
        peer.send(load=workload.name)
    numbers: dict[str, Any] = {}
    for peer in peers:
        answer = peer.answer()
        if "reason" in answer:
            row.reasons[peer.name] = answer["reason"]
        else:
            numbers[peer.name] = answer["numbers"]
    row.disagreeing = disagreeing(numbers)
    ready = {p.name: lambda p=p: p.turn(row) for p in peers if p.name in numbers}
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[workload.unit]
    for name, samples in turns(ready, conditions.rounds).items():
        if name not in row.reasons:
            seconds = [sample[0] for sample in samples]
            row.medians[name] = statistics.median(seconds) * scale
            row.minima[name] = min(seconds) * scale
    return row


def measured(task: str, peer: str, workload: Workload, environment: dict[str, str]) -> float | str:
    """A figure from a fresh process, or the reason why there is none."""
    done = subprocess.run(
        [sys.executable, CHILD, task, peer, workload.name],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return f"{done.stderr.strip().rpartition(chr(10))[2]} (status {done.returncode})"[:500]
    return json.loads(done.stdout)


def from_fresh(row: Comparison, found: dict[str, list[float | str]]) -> Comparison:
    """The row with the figures of fresh processes."""
    for peer, values in found.items():
        figures = [value for value in values if not isinstance(value, str)]
        if figures:
            row.medians[peer], row.minima[peer] = statistics.median(figures), min(figures)
        else:
            row.reasons[peer] = str(values[0])
    return row


def memory(peers: list[str], conditions: Conditions) -> Iterator[Comparison]:
    """How much the first steps of a deep network add to a process."""
    row = Comparison(f"peak of the first steps, {DEEP_MLP.name}", "memory", "MB")
    yield from_fresh(
        row, {p: [measured("peak", p, DEEP_MLP, conditions.environment)] for p in peers}
    )


def cold_start(peers: list[str], conditions: Conditions) -> Iterator[Comparison]:
    """How long the first step takes in a fresh process: by what there is on disk.

    Nothing, so that all kernels are compiled; those of the package, with an empty cache; and the
    cache that this left.
    """
    times = range(1 + conditions.rounds // 10)
    states = ("all compiled", "empty cache", "warm cache")
    for workload in (w for family in TRAINING.values() for w in family):
        found: dict[str, dict[str, list[float | str]]] = {state: {} for state in states}
        for _, peer in product(times, [p for p in ("wengert", "compiled") if p in peers]):
            with tempfile.TemporaryDirectory() as folder:
                own = conditions.environment | {"WENGERT_CACHE": folder}
                bare = conditions.environment | {"WENGERT_CACHE": "", "WENGERT_PREBUILT": "0"}
                for state, environment in zip(states, (bare, own, own), strict=True):
                    seconds = measured("first", peer, workload, environment)
                    found[state].setdefault(peer, []).append(seconds)
        if "torch" in peers:
            torch = [measured("first", "torch", workload, conditions.environment) for _ in times]
            for figures in found.values():
                figures["torch"] = torch
        for state, figures in found.items():
            yield from_fresh(Comparison(f"{state}, {workload.name}", "cold", "s"), figures)


# Families that are not served, but measured in fresh processes.
FRESH: dict[str, Callable[[list[str], Conditions], Iterator[Comparison]]] = {
    "memory": memory,
    "cold": cold_start,
}


def geometric_means(rows: list[Comparison]) -> dict[str, dict[str, float]]:
    """Of wengert's ratios to each peer, by kind of row."""
    found: dict[str, dict[str, float]] = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        ratios = {
            peer: [row.ratios[peer] for row in rows if row.kind == kind and peer in row.ratios]
            for peer in PEERS
        }
        means = {p: math.exp(statistics.fmean(map(math.log, r))) for p, r in ratios.items() if r}
        if means:
            found[kind] = means
    return found


def replaced(found: list[Comparison]) -> list[Comparison]:
    """The rows that were saved last, those that were found again in their places."""
    saved = json.loads((RESULTS / "compare.json").read_text())
    if saved["machine"] != machine():
        sys.exit(f"the results that are saved are of another machine: {saved['machine']}")
    names = [field.name for field in fields(Comparison)]
    again = {row.name: row for row in found}
    before = [Comparison(**{name: row[name] for name in names}) for row in saved["rows"]]
    return [again.get(row.name, row) for row in before]


def chosen(only: list[str], quick: bool) -> dict[str, list[Workload]]:
    """The rows of families that names select: a family's, or part of a row's."""
    found = {}
    for family, workloads in FAMILIES.items():
        kept = [
            w for w in workloads
            if (not only or family in only or any(part.lower() in w.name.lower() for part in only))
            and not (quick and w.name.endswith(("1e4", "1e6")))
        ]  # fmt: skip
        if kept:
            found[family] = kept
    return found


def rows(arguments: argparse.Namespace) -> Iterator[Comparison]:
    """All that are asked for, as they are found."""
    conditions = Conditions(arguments.rounds, clean_environment())
    if arguments.busy:
        conditions.on_busy_machine()
    for family, workloads in chosen(arguments.only, arguments.quick).items():
        kind = "training" if family in TRAINING else family
        peers = [Peer(name, conditions) for name in arguments.peers]
        try:
            for workload in workloads:
                yield compare(kind, workload, peers, conditions)
        finally:
            for peer in peers:
                peer.end()
    for family, measure in FRESH.items():
        if family in arguments.only or not (arguments.only or arguments.quick):
            yield from measure(arguments.peers, conditions)


def parsed(command: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    families = ", ".join((*FAMILIES, *FRESH))
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="NAME",
        help=f"families ({families}), or parts of rows' names; nothing is saved",
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="with --only: what is found replaces those rows in what is saved",
    )
    parser.add_argument("--peers", help=f"some of {','.join(PEERS)}")
    parser.add_argument("--rounds", type=int, help="turns of each library that count")
    parser.add_argument("--busy", action="store_true",
                        help="for a machine with other work: processor time, one thread each"
                        " (but jax, which has its own)")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="fewer rows, rounds and peers")
    arguments = parser.parse_args(command)
    peers = PEERS[:2] if arguments.quick else PEERS
    arguments.peers = (arguments.peers or ",".join(peers)).split(",")
    arguments.rounds = arguments.rounds or (3 if arguments.quick else 7)
    if unknown := set(arguments.peers) - set(PEERS):
        parser.error(f"argument --peers: {', '.join(sorted(unknown))}: expected {', '.join(PEERS)}")
    if arguments.update and arguments.only and not (RESULTS / "compare.json").exists():
        parser.error("argument --update: no rows are saved yet: leave out --only")
    return arguments


def main(command: list[str]) -> int:
    """Measure, print, save; 1 if libraries disagree or wengert fails."""
    arguments = parsed(command)
    peers = arguments.peers
    print(f"# {machine()}")
    titles = "".join(f"{p:>10}" for p in peers)
    titles += "".join(f"{'/' + p:>9}" for p in others(peers))
    print(f"{'':<62}{titles}")
    found = []
    with suppress(KeyboardInterrupt):  # what is there is kept
        for row in rows(arguments):
            print(row.text(peers), flush=True)
            found.append(row)
    means = geometric_means(found)
    for kind, ratios in means.items():
        texts = (f"{ratio:.2f} of {peer}" for peer, ratio in ratios.items())
        print(f"geometric mean, {kind}: {', '.join(texts)}")
    for row in found:
        for peer, reason in row.reasons.items():
            print(f"no figure of {peer} for {row.name}: {reason}")
    if arguments.update or not arguments.only:
        kept = replaced(found) if arguments.only else found
        save(__file__, {"rows": [asdict(row) | {"ratios": row.ratios} for row in kept],
                        "means": geometric_means(kept)})  # fmt: skip
    return int(any(row.disagreeing or "wengert" in row.reasons for row in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
