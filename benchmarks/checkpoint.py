"""Steps with and without checkpoints in wengert and in torch: their time, and their memory.

    python benchmarks/checkpoint.py

Memory is what the process grows by at most during a step, as Linux counts it; each figure
comes from a process of its own.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from _measure import Row, in_clean_process, interleaved, peak_of, shown

LIBRARIES = ("wengert", "torch")
Step = Callable[[], None]


def array(*shape: int) -> np.ndarray[Any, Any]:
    """The same float32 numbers for both libraries."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def mlp(library: Any) -> tuple[list[Any], Any]:
    """12 blocks of two layers of 256 units, with normalisation and dropout, and a batch of 1024."""
    nn = library.nn

    def block() -> Any:
        return nn.Sequential(
            nn.Linear(256, 256), nn.LayerNorm(256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 256)
        )

    return [block() for _ in range(12)], library.from_numpy(array(1024, 256))


def resnet(library: Any) -> tuple[list[Any], Any]:
    """8 residual blocks of two 3x3 convolutions of 32 channels, and 8 images of 32x32."""
    nn = library.nn

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                nn.Conv2d(32, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return library.relu(x + self.body(x))

    return [Block() for _ in range(8)], library.from_numpy(array(8, 32, 32, 32))


MODELS = {"MLP 12 blocks": mlp, "ResNet 8 blocks": resnet}
PLAIN, REENTRANT, NOT_REENTRANT = "no checkpoints", "use_reentrant=True", "use_reentrant=False"


def training_step(name: str, model: str, mode: str) -> Step:
    """Forward and backward of a model whose blocks are checkpointed, or not."""
    library = import_module(name)
    checkpoint = import_module(f"{name}.utils.checkpoint").checkpoint
    blocks, x = MODELS[model](library)
    x.requires_grad_()
    parameters = [x, *(p for block in blocks for p in block.parameters())]

    def step() -> None:
        h = x
        for block in blocks:
            options = {} if mode == PLAIN else {"use_reentrant": mode == REENTRANT}
            h = checkpoint(block, h, **options) if options else block(h)
        (h * h).mean().backward()
        for p in parameters:
            p.grad = None

    return step


def timed(step: Step) -> tuple[float]:
    """Seconds of a step."""
    start = perf_counter()
    step()
    return (perf_counter() - start,)


def growth(step: Step) -> int:
    """The most bytes that this process has during a step, beside those that it had before."""
    for _ in range(2):
        step()
    import_module("wengert").empty_cache()  # what it keeps would be there before, and not count
    ctypes.CDLL(None).malloc_trim(0)
    return peak_of(step)


def peak(name: str, model: str, mode: str) -> float:
    """`growth` in a fresh process, in MB."""
    command = [sys.executable, __file__, "--peak", name, model, mode]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1e6


def rows() -> Iterator[Row]:
    """Milliseconds and megabytes of each way of doing a step."""
    for model in MODELS:
        for mode in (PLAIN, REENTRANT, NOT_REENTRANT):
            steps = {name: training_step(name, model, mode) for name in LIBRARIES}
            found = interleaved({n: lambda s=s: timed(s) for n, s in steps.items()}, 9)
            ours, theirs = (found[name][0] * 1e3 for name in LIBRARIES)
            yield Row(f"step, {model}, {mode}", "ms", ours, theirs)
            ours, theirs = (peak(name, model, mode) for name in LIBRARIES)
            yield Row(f"peak of a step, {model}, {mode}", "MB", ours, theirs)


def measure() -> list[Row]:
    """All rows, printed as they are found."""
    return [shown(row) for row in rows()]


if __name__ == "__main__":
    if "--peak" in sys.argv:
        print(growth(training_step(*sys.argv[sys.argv.index("--peak") + 1 :])))
    else:
        in_clean_process(__file__, measure)
