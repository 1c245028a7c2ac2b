"""Training steps with and without checkpoints, eager and compiled: their time, and their memory.

    python benchmarks/checkpoint_compiled.py

Times are of the processor, on one thread: the least of some steps, taken in turn. Memory is the
most that Python's allocators have during a step beyond what they have between steps.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from time import process_time, sleep
from typing import Any

import wengert
from wengert import nn
from wengert.utils.checkpoint import checkpoint

Step = Callable[[Any], Any]
ROUNDS, WARM = 12, 30


def transformer() -> tuple[nn.ModuleList, Any]:
    """8 layers of 128, and 16 sequences of 128."""
    layers = [
        nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True) for _ in range(8)
    ]
    return nn.ModuleList(layers), wengert.randn(16, 128, 128)


def mlp() -> tuple[nn.ModuleList, Any]:
    """50 layers of 128 units, and a batch of 512."""
    layers = [nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(50)]
    return nn.ModuleList(layers), wengert.randn(512, 128)


def training(model: nn.ModuleList, checkpoints: bool) -> Step:
    """A step of AdamW."""
    optimizer = wengert.optim.AdamW(model.parameters(), lr=1e-4)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        for layer in model:
            x = checkpoint(layer, x, use_reentrant=False) if checkpoints else layer(x)
        loss = x.square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def peak(step: Step, x: Any) -> float:
    """The most megabytes that a step takes."""
    gc.collect()
    tracemalloc.start()
    step(x)
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    step(x)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (most - before) / 1e6


def prepared(build: Any, checkpoints: bool, compiled: bool) -> tuple[Step, Any]:
    """A step that is warm, and its argument."""
    wengert.manual_seed(0)
    model, x = build()
    step = training(model, checkpoints)
    if compiled:
        step = wengert.compiler.compile(step)
    for k in range(WARM if compiled else 2):
        step(x)
        if compiled and k in (3, 6):
            sleep(3)  # its program is compiled beside
    return step, x


def measure() -> None:
    """Print all rows."""
    wengert.set_num_threads(1)
    for build in (transformer, mlp):
        ways = [(kept, compiled) for kept in (False, True) for compiled in (False, True)]
        steps = [prepared(build, *way) for way in ways]
        least = [float("inf")] * len(ways)
        for _ in range(ROUNDS):
            for k, (step, x) in enumerate(steps):
                start = process_time()
                step(x)
                least[k] = min(least[k], process_time() - start)
        for (kept, compiled), seconds, (step, x) in zip(ways, least, steps, strict=True):
            name = "checkpoints" if kept else "no checkpoints"
            how = "compiled" if compiled else "eager"
            text = f"{seconds * 1e3:7.1f} ms  {peak(step, x):7.1f} MB"
            print(f"{build.__name__}, {name}, {how}: {text}", flush=True)


if __name__ == "__main__":
    measure()
