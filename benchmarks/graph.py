"""What looking at graphs takes: a row for each look, with wengert alone.

python benchmarks/graph.py
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any

from _measure import Row, in_clean_process, shown, turns

import wengert
from wengert import nn

NODES = 3000
ROUNDS = 5
PAIRS = 21


def transformer() -> tuple[Any, Any]:
    """A loss over 3,000 nodes, three quarters of them operations: 68 equal layers."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 68)
    return model, model(wengert.randn(2, 8, 32)).sum()


def loop() -> tuple[Any, Any]:
    """A loss over 3,000 nodes: a cell of a recurrent network, 499 steps."""
    cell, state, total = nn.RNNCell(4, 8), wengert.zeros(2, 8), wengert.zeros(())
    for _ in range(499):
        state = cell(wengert.randn(2, 4), state)
        total = total + state.sum()
    return cell, total


def tangle() -> tuple[Any, Any]:
    """A loss over 3,000 nodes without any structure: the worst case of a drawing."""
    dice = random.Random(0)
    made = [wengert.randn(3, 3, requires_grad=True) for _ in range(20)]
    for _ in range(NODES - 22):
        one, other = dice.choice(made[-30:]), dice.choice(made[-200:])
        made.append([one + other, one * other, one.tanh(), one @ other][dice.randrange(4)])
    return None, wengert.stack(made).sum()


GRAPHS = {"68 layers": transformer, "499 steps": loop, "no structure": tangle}


def seconds(work: Callable[[], object]) -> float:
    """The median of some runs, the first one left out."""
    times = []
    for _ in range(ROUNDS + 1):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return statistics.median(times[1:])


def drawing() -> Iterator[Row]:
    """`draw`, with `describe` in it, and each of its formats."""
    for name, make in GRAPHS.items():
        _model, loss = make()
        drawn = wengert.graph.draw(loss)
        label = f"of {len(drawn.nodes):,} nodes, {name}"
        for what, work in (
            ("describe", lambda loss=loss: wengert.graph.describe(loss)),
            ("draw", lambda loss=loss: wengert.graph.draw(loss)),
            ("draw, html", lambda loss=loss: wengert.graph.draw(loss).html()),
            ("draw, svg", lambda loss=loss: wengert.graph.draw(loss).svg()),
            ("png of a drawing", drawn.png),
        ):
            yield Row(f"{what} {label}", "s", seconds(work))


def mlp() -> Callable[[], None]:
    """A step of six layers of 256 on a batch of 64."""
    model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(256, 256), nn.ReLU())])
    batch = wengert.randn(64, 256)
    return training(model, lambda: model(batch).square().mean())


def cnn() -> Callable[[], None]:
    """A step of two convolutions on 32 pictures of 28 x 28."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(16 * 25, 10),
    )  # fmt: skip
    pictures, labels = wengert.randn(32, 1, 28, 28), wengert.randint(0, 10, (32,))
    return training(model, lambda: nn.functional.cross_entropy(model(pictures), labels))


def training(model: nn.Module, loss: Callable[[], Any]) -> Callable[[], None]:
    """A step of SGD."""
    optimizer = wengert.optim.SGD(model.parameters(), 1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def chain(length: int) -> Callable[[], None]:
    """Operations on 10 floats and their backward: nothing but the engine."""
    x = wengert.randn(10, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(length // 2):
            y = (y * 1.01).tanh()
        y.sum().backward()

    return step


STEPS = {
    "a step of an MLP, 6 layers of 256, batch 64": (mlp, 50),
    "a step of a small CNN, 32 pictures of 28 x 28": (cnn, 20),
    "1000 operations on 10 floats": (lambda: chain(1000), 10),
    "10 operations on 10 floats": (lambda: chain(10), 1000),
}


def profiling() -> Iterator[Row]:
    """A step while `profile` records, as a multiple of what it takes otherwise."""
    for name, (make, times) in STEPS.items():
        step = make()
        found = turns(
            {
                "plain": lambda step=step, times=times: [each(step, times, nullcontext)],
                "profile": lambda step=step, times=times: [
                    each(step, times, wengert.graph.profile)
                ],
            },
            PAIRS,
        )
        pairs = zip(found["plain"], found["profile"], strict=True)
        yield Row(f"profile, {name}", "ratio", statistics.median(b[0] / a[0] for a, b in pairs))


def each(step: Callable[[], None], times: int, around: Callable[[], Any]) -> float:
    """Seconds of a step inside of a context, without its begin and end."""
    with around():
        start = perf_counter()
        for _ in range(times):
            step()
        return (perf_counter() - start) / times


def describing() -> Iterator[Row]:
    """`describe`, and its tables."""
    y = x = wengert.ones(10, requires_grad=True)
    for _ in range(3333):
        y = (y * x + 1.0).tanh()
    report = wengert.graph.describe(y)
    label = f"of {len(report.nodes):,} nodes, elementwise"
    yield Row(f"describe {label}", "s", seconds(lambda: wengert.graph.describe(y)))
    yield Row(f"tables {label}", "s", seconds(report._repr_html_))


class Cell:
    """An object with an attribute."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept


def counting() -> Iterator[Row]:
    """`live`, with 1,000 graphs in a list or in objects, and a million other objects."""
    others = [[k] for k in range(1_000_000)]
    x = wengert.ones(10, requires_grad=True)
    for name, around in (("a list", lambda y: y), ("objects", Cell)):
        kept = [around((x * 2).exp().sum()) for _ in range(1000)]
        label = f"live, {len(kept):,} graphs in {name} and {len(others):,} other objects"
        yield Row(label, "s", seconds(wengert.graph.live))


EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUNS = (("two_heads.py", "--epochs", "4"), ("char_lstm.py", "--steps", "60", "--sample", "10"))


def run(*arguments: str) -> tuple[float]:
    """Seconds of a process with `wengert run`."""
    start = perf_counter()
    command = [sys.executable, "-m", "wengert", "run", "--quiet", *arguments]
    subprocess.run(command, capture_output=True, check=False)  # an accuracy may not be reached
    return (perf_counter() - start,)


def reporting() -> Iterator[Row]:
    """`wengert run --report` as a multiple of the same run without it, the page included."""
    with tempfile.TemporaryDirectory() as folder:
        page = ("--report", f"{folder}/page.html")
        for script, *arguments in RUNS:
            command = (f"{EXAMPLES}/{script}", *arguments)
            ways = {"bare": (), "report": page}
            found = turns(
                {n: lambda o=options: run(*o, *command) for n, options in ways.items()},  # noqa: B023
                ROUNDS,
            )
            pairs = zip(found["report"], found["bare"], strict=True)
            ratio = statistics.median(with_page / bare for (with_page,), (bare,) in pairs)
            yield Row(f"wengert run --report {' '.join([script, *arguments])}", "ratio", ratio)


PARTS = (drawing, profiling, describing, counting, reporting)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for part in PARTS for row in part()]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
