"""A training step in wengert and in torch, with each library's default threads.

    python benchmarks/steps.py

Small networks, as in the examples. Informative: it says what the cost of an operation
(benchmarks/overhead.py) comes to in a whole step, not how fast large kernels are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
import torch
from _measure import Row, in_clean_process, interleaved, shown

import wengert

LIBRARIES: dict[str, Any] = {"wengert": wengert, "torch": torch}
STEPS = 20
Step = Callable[[], None]


def array(*shape: int) -> np.ndarray[Any, Any]:
    """The same float32 numbers for both libraries."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def mlp(library: Any, batch: int) -> Step:
    """64-128-128-10, cross entropy, Adam."""
    nn = library.nn
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10)
    )
    optimizer = library.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    x = library.from_numpy(array(batch, 64))
    target = library.from_numpy(np.arange(batch) % 10)

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(x), target).backward()
        optimizer.step()

    return step


def two_heads(library: Any, batch: int) -> Step:
    """The network of examples/two_heads.py: a convolutional trunk, two losses in turn, Adam."""
    nn = library.nn
    trunk = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    )  # fmt: skip
    digit, odd = (
        nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n))
        for n in (10, 2)
    )
    parameters = [p for part in (trunk, digit, odd) for p in part.parameters()]
    optimizer = library.optim.Adam(parameters, lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    x = library.from_numpy(array(batch, 1, 8, 8))
    labels = library.from_numpy(np.arange(batch) % 10)

    def step() -> None:
        features = trunk(x)
        digit_loss = loss_of(digit(features), labels)
        odd_loss = loss_of(odd(features), labels % 2)
        optimizer.zero_grad()
        digit_loss.backward(retain_graph=True)
        odd_loss.backward()
        optimizer.step()

    return step


def timed(step: Step) -> tuple[float]:
    """Seconds of some steps."""
    start = perf_counter()
    for _ in range(STEPS):
        step()
    return (perf_counter() - start,)


def rows() -> Iterator[Row]:
    """Milliseconds a step."""
    for label, make in (("MLP 64-128-128-10", mlp), ("two heads on digits", two_heads)):
        for batch in (32, 256):
            steps = {name: make(library, batch) for name, library in LIBRARIES.items()}
            found = interleaved({n: lambda s=s: timed(s) for n, s in steps.items()}, 21)
            ours, theirs = (found[n][0] * 1e3 / STEPS for n in LIBRARIES)
            yield Row(f"training step, {label}, batch {batch}", "ms", ours, theirs)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for row in rows()]


if __name__ == "__main__":
    in_clean_process(__file__, measure)
