"""What looking at graphs takes: a row for each look, with wengert alone.

python benchmarks/graph.py
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

from _measure import Row, in_clean_process, shown

import wengert
from wengert import nn

NODES = 3000
ROUNDS = 5


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


PARTS = (drawing,)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for part in PARTS for row in part()]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
