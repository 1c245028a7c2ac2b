"""Matrix products and convolutions as shares of the processor's peak, on one thread and on all.

    python benchmarks/products.py
    python benchmarks/products.py --only 1024 conv --threads 2 --peers wengert,torch
    python benchmarks/products.py --write      # and put the table into docs/kernels.md

The peak is what the innermost loop of wengert's products reaches on operands in the L1 cache.
Winograd's method needs fewer operations than a convolution has, so its shares may exceed 100.
Each library has a process of its own, as in compare.py, and the least time of some turns counts.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from math import prod
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, NamedTuple

import numpy as np
from _measure import clean_environment, machine, save
from _peer import answer_all
from compare import THREADS, Conditions, Peer
from workloads._workload import data
from workloads.kernels import DIRECTIONS, SHAPES, conv
from workloads.kernels import Shape as Convolution

from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, f32s, i64
from wengert.kernels.products.microkernel import lanes, product, tiles

PEERS = ("wengert", "numpy", "torch")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "kernels.md"
BEGIN, END = "<!-- products: begin -->", "<!-- products: end -->"
SECONDS = 0.02  # of a turn
# Seconds before a turn: the workers of OpenBLAS wait in a loop for some 30 milliseconds, in which
# others do not get the core.
PAUSE = 0.08
Step = Callable[[], Any]


class Product(NamedTuple):
    """A product of matrices or batches of them; which factors lie transposed ("nt": the second)."""

    rows: int
    columns: int
    depth: int
    layout: str = "nn"
    batch: tuple[int, ...] = ()

    def __str__(self) -> str:
        sizes = (*self.batch, f"{self.rows}x{self.columns}x{self.depth} {self.layout}")
        return " x ".join(map(str, sizes))

    @property
    def operations(self) -> int:
        return 2 * prod(self.batch) * self.rows * self.columns * self.depth

    def step(self, peer: str) -> Step:
        a, b = (
            self._factor(name, shape, turned)
            for name, shape, turned in (
                ("a", (self.rows, self.depth), self.layout[0] == "t"),
                ("b", (self.depth, self.columns), self.layout[1] == "t"),
            )
        )
        if peer == "numpy":
            return lambda: a @ b
        library = __import__(peer)
        x, y = library.from_numpy(a), library.from_numpy(b)
        return lambda: x @ y

    def _factor(self, name: str, shape: tuple[int, int], turned: bool) -> Any:
        if not turned:
            return data(name, *self.batch, *shape)
        return data(name, *self.batch, *shape[::-1]).swapaxes(-1, -2)


class Map(NamedTuple):
    """One direction of a convolution."""

    shape: Convolution
    direction: int

    def __str__(self) -> str:
        return f"{self.shape}, {DIRECTIONS[self.direction]}"

    @property
    def operations(self) -> int:
        batch, channels, size, filters, k, stride, padding, transposed = self.shape
        positions = size if transposed else (size + 2 * padding - k) // stride + 1
        return 2 * batch * channels * filters * (k * positions) ** 2

    def step(self, peer: str) -> Step:
        return conv(self.shape, self.direction)(__import__(peer), lambda function: function)


SMALL = Convolution(32, 64, 16, 64)
CASES: tuple[Product | Map, ...] = (
    *(Product(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
    *(Product(32, 512, 128, layout) for layout in ("nn", "nt")),
    *(Product(768, 384, 128, layout) for layout in ("nn", "nt", "tn")),
    *(Product(512, 512, 2048, layout) for layout in ("nn", "nt", "tn")),
    # A layer of a GPT, its gradients, its logits; a step of an LSTM and its gradients.
    Product(768, 512, 128, "nt"), Product(768, 128, 512, "nt"), Product(512, 128, 768, "tn"),
    Product(768, 65, 128, "nt"), Product(32, 128, 512, "nn"), Product(512, 128, 32, "tn"),
    Product(64, 256, 784, "nt"), Product(64, 10, 256, "nt"), Product(1, 4096, 1024, "nt"),
    Product(128, 128, 32, "nt", (12, 4)), Product(128, 32, 128, "nn", (12, 4)),
    Product(64, 64, 64, "nn", (64,)),
    *(Map(shape, i) for shape in (*SHAPES, SMALL) for i in range(3)),
)  # fmt: skip
BY_NAME = {str(case): case for case in CASES}


@kernel
def _peak(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, times: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """One tile, again and again."""
    for task in range(start, stop):
        for _ in range(times):
            product(rows, vectors, a, b, pitch, depth, at(c, task * rows * pitch), pitch, 0)


def peak(threads: int) -> float:
    """The operations in a nanosecond of the innermost loop of products."""
    rows = max(tiles())
    vectors, depth, times = tiles()[rows], 128, 1000
    width = vectors * lanes()
    a, b = data("a", rows * depth), data("b", width * depth)
    c = np.empty(threads * rows * width, np.float32)
    seconds = []
    for _ in range(50):
        start = perf_counter()
        _peak.f32(rows, vectors, a, b, width, depth, c, times, threads, 1)
        seconds.append(perf_counter() - start)
    return 2 * rows * width * depth * times * threads / min(seconds) / 1e9


class Server:
    """A library's steps on demand."""

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.step: Step | None = None
        self.count = 1

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Build a step, or give the seconds that it takes."""
        if "peak" in request:
            return {"peak": peak(request["peak"])}
        if "load" in request:
            self.step = BY_NAME[request["load"]].step(self.peer)
            self.count = max(1, int(SECONDS / min(self._run(n) for n in (1, 1, 2))))
        return {"seconds": self._run(self.count)}

    def _run(self, count: int) -> float:
        assert self.step is not None
        start = perf_counter()
        for _ in range(count):
            self.step()
        return (perf_counter() - start) / count


def rates(case: Product | Map, peers: list[Peer], rounds: int) -> dict[str, float]:
    """The operations in a nanosecond of each library that has the case."""
    able = [p for p in peers if p.name != "numpy" or isinstance(case, Product)]
    seconds: dict[str, list[float]] = {peer.name: [] for peer in able}
    for turn in range(rounds):
        for peer in able if turn % 2 else reversed(able):
            sleep(PAUSE)
            peer.send(**({} if seconds[peer.name] else {"load": str(case)}))
            seconds[peer.name].append(peer.answer()["seconds"])
    return {name: case.operations / min(found) / 1e9 for name, found in seconds.items()}


def measured(threads: int, cases: list[Any], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a number of threads, printed as they are found."""
    environment = clean_environment() | dict.fromkeys(THREADS, str(threads))
    conditions = Conditions(arguments.rounds, environment)
    peers = [Peer(name, conditions, Path(__file__).resolve()) for name in arguments.peers]
    probe = Peer("wengert", conditions, Path(__file__).resolve())
    probe.send(peak=threads)
    top = probe.answer()["peak"]
    probe.end()
    print(f"# {threads} threads, peak {top:.0f} GFLOP/s; percent of it:")
    print(f"{'':<56}" + "".join(f"{name:>10}" for name in arguments.peers))
    rows = []
    for case in cases:
        found = rates(case, peers, arguments.rounds)
        shares = {name: 100 * rate / top for name, rate in found.items()}
        texts = (f"{shares[n]:.0f}" if n in shares else "-" for n in arguments.peers)
        print(f"{case!s:<56}" + "".join(f"{text:>10}" for text in texts), flush=True)
        rows.append({"name": str(case), "threads": threads, "peak": top, "shares": shares})
    for peer in peers:
        peer.end()
    return rows


def page(rows: list[dict[str, Any]], peers: list[str]) -> str:
    """The rows as a table in Markdown: all products, and one size of each kind of convolution."""
    shown = [row for row in rows if isinstance(BY_NAME[row["name"]], Product)]
    kinds: dict[str, dict[str, Any]] = {}
    for row in rows:
        case = BY_NAME[row["name"]]
        if isinstance(case, Map):
            kind = f"{case.shape.kernel} {case.shape.stride} {case.direction} {row['threads']}"
            kinds.setdefault(kind + str(case.shape.transposed), row)
    shown += kinds.values()
    threads = sorted({row["threads"] for row in rows})
    peaks = {row["threads"]: row["peak"] for row in rows}
    text = ", ".join(f"{peaks[n]:.0f} on {n}" for n in threads)
    lines = [f"{machine()}; peak in GFLOP/s by threads: {text}", ""]
    titles = [f"{peer}, {n}" for n in threads for peer in peers]
    lines += [f"| | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    for name in dict.fromkeys(row["name"] for row in shown):
        shares = {row["threads"]: row["shares"] for row in shown if row["name"] == name}
        figures = [
            f"{shares[n][p]:.0f}" if p in shares.get(n, {}) else "-" for n in threads for p in peers
        ]
        lines.append(f"| {name} | {' | '.join(figures)} |")
    return "\n".join(lines)


def write(text: str) -> None:
    """Put the table into its page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}")


def main() -> None:
    """Measure, print; save if all was measured."""
    if sys.argv[1:2] == ["serve"]:
        answers = sys.stdout
        sys.stdout = sys.stderr
        answer_all(Server(sys.argv[2]), answers)
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="parts of names")
    everything = sorted({1, os.cpu_count() or 1})
    parser.add_argument("--threads", nargs="+", type=int, default=everything)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library")
    parser.add_argument("--write", action="store_true", help="put the table into docs/kernels.md")
    arguments = parser.parse_args()
    print(f"# {machine()}")
    wanted = arguments.only
    cases = [c for c in CASES if not wanted or any(text in str(c) for text in wanted)]
    rows = [row for n in arguments.threads for row in measured(n, cases, arguments)]
    if not arguments.only:
        save(__file__, {"rows": rows})
    if arguments.write:
        write(page(rows, arguments.peers))


if __name__ == "__main__":
    main()
