"""Every function and layer that scripts use beside PyTorch, at 1e3, 1e5 and 1e7 elements.

    python benchmarks/sweep.py
    python benchmarks/sweep.py --only sort "linalg.inv" --sizes 3 5
    python benchmarks/sweep.py --dtype float64

Each library has a process of its own with its default number of threads; they run in turns, as
in compare.py. Forward, with the graph recorded, and backward are timed apart. What is at least half
as slow again as PyTorch is measured once more with more turns, so that noise makes no rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import _peer
from _measure import clean_environment, machine, save, turns
from compare import Conditions, Peer, alike
from sweeps import BY_NAME, FAMILIES
from sweeps._sample import Sample, numbers

LIBRARIES = ("wengert", "torch")
PARTS = ("forward", "backward")
SIZES = (3, 5, 7)
# Seconds of a turn; of a step that is measured in one turn; of one that is too long to start.
TURN, LONG, TOO_LONG = 0.005, 0.3, 10.0
# Ratio from which a row is measured again, and the turns that it then has.
SUSPECT, TURNS_OF_SUSPECTS = 1.5, 9
# Seconds before each turn: threads that look for more work come to rest.
PAUSE = 0.002
# Elements up to which results are compared.
COMPARED = 5


@dataclass
class Timing:
    """One row: microseconds of one part of a sample at one size in both libraries."""

    name: str
    family: str
    exponent: int
    part: str
    wengert: float
    torch: float
    disagrees: bool = False

    @property
    def ratio(self) -> float:
        """wengert's time as a multiple of torch's."""
        return self.wengert / self.torch

    def text(self) -> str:
        """The row as a line of a plain table."""
        wrong = "  DISAGREES" if self.disagrees else ""
        title = f"{self.name}, {self.part}, 1e{self.exponent}"
        return f"{title:<64}{self.wengert:12.1f}{self.torch:12.1f}{self.ratio:9.2f}{wrong}"


# In the processes of the libraries


def flat(result: Any) -> Iterator[Any]:
    """The tensors of a result."""
    if isinstance(result, tuple | list):
        for part in result:
            yield from flat(part)
    elif hasattr(result, "requires_grad"):
        yield result


class Step:
    """A sample's forward and backward, on inputs of one size."""

    def __init__(self, library: Any, sample: Sample, exponent: int, dtype: str) -> None:
        self.library, self.call = library, sample.call
        library.set_default_dtype(getattr(library, dtype))
        self.inputs, self.wanted = [], []
        if sample.prepare is not None:
            made = sample.prepare(library, exponent)
            self.inputs.append(made)
            self.wanted += made.parameters() if hasattr(made, "parameters") else ()
        for place, one in enumerate(sample.inputs):
            x = library.from_numpy(one.array(exponent, place, dtype).copy())
            if sample.backward and one.wants and x.is_floating_point():
                self.wanted.append(x.requires_grad_())
            self.inputs.append(x)
        self.backward = sample.backward
        self.cotangents: list[Any] | None = None

    def forward(self) -> Any:
        """What the sample computes."""
        return self.call(self.library, *self.inputs)

    def differentiate(self, result: Any) -> None:
        """Backward from the outputs that have a graph: gradients of inputs and parameters.

        They are arrays of their own in both libraries, as in training.
        """
        outputs = [x for x in flat(result) if x.requires_grad]
        if self.cotangents is None:
            self.cotangents = [self.cotangent(x) for x in outputs]
        self.library.autograd.backward(outputs, self.cotangents)

    def cotangent(self, output: Any) -> Any:
        """Normal numbers in the output's shape."""
        if output.is_complex() or not output.ndim:
            return self.library.ones_like(output)
        dtype = str(output.dtype).rpartition(".")[2]
        if dtype not in ("float32", "float64"):
            return self.library.ones_like(output)
        return self.library.from_numpy(numbers(tuple(output.shape), "normal", 0, 1, 9, dtype))

    def timed(self, count: int, now: Callable[[], float] = perf_counter) -> list[float]:
        """Seconds of a forward, and of a backward."""
        forward = backward = 0.0
        for _ in range(count):
            start = now()
            result = self.forward()
            middle = now()
            forward += middle - start
            if self.backward:
                self.differentiate(result)
                backward += now() - middle
                for x in self.wanted:
                    x.grad = None
            del result
        return [forward / count, backward / count] if self.backward else [forward / count]

    def numbers(self) -> list[list[float]]:
        """What stands for all results."""
        self.library.manual_seed(0)
        result = self.forward()
        found = [*flat(result)]
        if self.backward:
            self.differentiate(result)
            found += [x.grad for x in self.wanted if x.grad is not None]
            for x in self.wanted:
                x.grad = None
        return [_peer.numbers(self.real(x)) for x in found]

    def real(self, x: Any) -> Any:
        """A tensor that NumPy takes."""
        x = self.library.view_as_real(x.detach().resolve_conj()) if x.is_complex() else x.detach()
        return x.to(self.library.float64)


class Server:
    """Answers requests: what to load, and how long to run."""

    def __init__(self, library: str) -> None:
        self.library = import_module(library)
        self.step: Step | None = None
        self.count = 1

    def load(self, load: str, exponent: int, dtype: str) -> dict[str, Any]:
        """Build a step; what it computes, and the seconds of it."""
        self.step = None
        sample = BY_NAME[load]
        step = Step(self.library, sample, exponent, dtype)
        compared = sample.alike and exponent <= COMPARED
        found = step.numbers() if compared else step.timed(1) and []
        # More than once: after a pause a call is slow.
        seconds = min(sum(step.timed(1)) for _ in range(1 if exponent > COMPARED else 4))
        self.count = max(1, int(TURN / max(seconds, 1e-6)))
        self.step = step
        return {"numbers": found, "seconds": seconds}

    def run(self, clock: str) -> dict[str, Any]:
        """Seconds of each part."""
        assert self.step is not None
        return {"seconds": self.step.timed(self.count, _peer.CLOCKS[clock])}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """To one request; an error is an answer, too."""
        try:
            return self.load(**request) if "load" in request else self.run(**request)
        except Exception as error:
            return {"reason": f"{type(error).__name__}: {error}"[:300]}


# In the process that compares them


class Sweep:
    """The processes of both libraries, and what they were asked for."""

    def __init__(self, rounds: int, dtype: str, busy: bool) -> None:
        self.conditions = Conditions(rounds, clean_environment())
        if busy:
            self.conditions.on_busy_machine()
        self.dtype = dtype
        self.peers = {name: Peer(name, self.conditions, Path(__file__)) for name in LIBRARIES}

    def ask(self, **request: Any) -> dict[str, dict[str, Any]]:
        """One request to both, one after the other."""
        answers = {}
        for name, peer in self.peers.items():
            peer.send(**request)
            answers[name] = peer.answer()
        return answers

    def turn(self, name: str) -> list[float]:
        """Seconds of each part in one library."""
        time.sleep(PAUSE)
        peer = self.peers[name]
        peer.send(clock=self.conditions.clock)
        return peer.answer().get("seconds", [])

    def rows(self, family: str, sample: Sample, exponent: int) -> list[Timing]:
        """Of a sample at one size."""
        answers = self.ask(load=sample.name, exponent=exponent, dtype=self.dtype)
        for name, answer in answers.items():
            if "reason" in answer:
                raise ReasonError(f"{name}: {answer['reason']}")
        long = max(answer["seconds"] for answer in answers.values()) > LONG
        wrong = not alike(*(answer["numbers"] for answer in answers.values()))
        timings = self.measured(1 if long else self.conditions.rounds)
        if not long and any(ours > SUSPECT * theirs for ours, theirs in timings):
            timings = self.measured(TURNS_OF_SUSPECTS)
        return [
            Timing(sample.name, family, exponent, part, ours * 1e6, theirs * 1e6, wrong)
            for part, (ours, theirs) in zip(PARTS, timings, strict=False)
        ]

    def measured(self, rounds: int) -> list[tuple[float, float]]:
        """Medians of each part: wengert's and torch's."""
        found = turns({name: lambda name=name: self.turn(name) for name in LIBRARIES}, rounds, 1)
        if not all(all(samples) for samples in found.values()):
            raise ReasonError("a process ended")
        medians = [map(statistics.median, zip(*found[name], strict=True)) for name in LIBRARIES]
        return list(zip(*medians, strict=True))

    def end(self) -> None:
        """Let the processes come to their ends."""
        for peer in self.peers.values():
            peer.end()


class ReasonError(Exception):
    """Why there is no figure."""


def chosen(only: list[str]) -> Iterator[tuple[str, Sample]]:
    """The samples that names select: a family's, or part of a sample's."""
    for family, samples in FAMILIES.items():
        for sample in samples:
            if not only or family in only or any(part in sample.name for part in only):
                yield family, sample


def measure(arguments: argparse.Namespace) -> tuple[list[Timing], list[str]]:
    """All rows, printed as they are found, and why others are missing."""
    sweep = Sweep(arguments.rounds, arguments.dtype, arguments.busy)
    found: list[Timing] = []
    missing: list[str] = []
    with suppress(KeyboardInterrupt):  # what is there is kept
        for family, sample in chosen(arguments.only):
            last = 0.0
            for exponent in dict.fromkeys(min(k, sample.most) for k in arguments.sizes):
                try:
                    if last * 100 > TOO_LONG:
                        raise ReasonError(f"wengert took {last:.2g} s for a hundredth")
                    rows = sweep.rows(family, sample, exponent)
                except ReasonError as error:
                    missing.append(f"{sample.name}, 1e{exponent}: {error}")
                    print(f"# {missing[-1]}", flush=True)
                    continue
                last = sum(row.wengert for row in rows) / 1e6
                for row in rows:
                    print(row.text(), flush=True)
                found += rows
    sweep.end()
    return found, missing


def parsed(command: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME",
                        help=f"families ({', '.join(FAMILIES)}), or parts of names; nothing is"
                        " saved")  # fmt: skip
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), choices=range(3, 8),
                        help="exponents of the numbers of elements")  # fmt: skip
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each library that count")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="for a machine with other work: processor time, one thread each",
    )
    parser.add_argument("--worst", type=int, default=20, help="how many rows come at the end")
    return parser.parse_args(command)


def summary(rows: list[Timing], worst: int) -> str:
    """Geometric means, and the rows with the largest ratios."""
    lines = []
    for exponent in sorted({row.exponent for row in rows}):
        for part in PARTS:
            ratios = [r.ratio for r in rows if (r.exponent, r.part) == (exponent, part)]
            if ratios:
                mean = statistics.geometric_mean(ratios)
                slow = sum(ratio > 2 for ratio in ratios)
                lines.append(f"{part}, 1e{exponent}: {len(ratios)} rows, geometric mean"
                             f" {mean:.2f}, {slow} above 2")  # fmt: skip
    ranked = sorted(rows, key=lambda row: -row.ratio)[:worst]
    return "\n".join([*lines, *(row.text() for row in ranked)])


def main(command: list[str]) -> int:
    """Measure, print, save; 1 if libraries disagree or a row is missing."""
    arguments = parsed(command)
    print(f"# {machine()}")
    print(f"{'us':<64}{'wengert':>12}{'torch':>12}{'ratio':>9}")
    rows, missing = measure(arguments)
    print(summary(rows, arguments.worst))
    if not arguments.only:  # the results of all rows stay
        save(__file__, {"rows": [asdict(row) | {"ratio": row.ratio} for row in rows],
                        "missing": missing, "dtype": arguments.dtype})  # fmt: skip
    return int(bool(missing) or any(row.disagrees for row in rows))


def serve(library: str) -> None:
    """Answer on standard output; what libraries print goes elsewhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _peer.answer_all(Server(library), answers)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
