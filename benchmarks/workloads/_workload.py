"""What a workload is, and the numbers that every library starts from.

Weights are made by NumPy from their names and shapes alone, so that each process makes the
same ones for its library.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]
Compile = Callable[[Any], Any]
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Workload:
    """One row: the same step in PyTorch's API and in jax.

    `make(library, compiled)` builds the step for torch or wengert; `compiled` is what to pass
    the functions through that torch.compile should have. A step returns its loss, or the arrays
    that it has computed. A text in the place of a function says why there is none.
    """

    name: str
    make: Callable[[Any, Compile], Step]
    jax: Callable[[], Step] | str
    compiled: str = ""  # why there is nothing for torch.compile
    unit: str = "ms"
    seconds: float = 0.25  # of steps in a turn


def weight(name: str, shape: Sequence[int]) -> Array:
    """The parameter of that name: activations keep about their size."""
    noise = data(name, *shape)
    if len(shape) > 1:
        return noise / np.float32(math.sqrt(math.prod(shape[1:])))
    return noise * np.float32(0.1) + np.float32(not name.rpartition(".")[2].startswith("bias"))


def weights(shapes: Shapes) -> dict[str, Array]:
    """`weight` of several names."""
    return {name: weight(name, shape) for name, shape in shapes.items()}


def data(name: str, *shape: int) -> Array:
    """Normal float32 numbers that only depend on a name."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    return generator.standard_normal(shape, dtype=np.float32)


def labels(count: int, classes: int) -> Array:
    """All classes, over and over."""
    return np.arange(count) % classes


def fill(library: Any, model: Any) -> Any:
    """The model with the weights that belong to the names of its parameters."""
    with library.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(library.from_numpy(weight(name, tuple(parameter.shape))))
    return model


def training(compiled: Compile, optimizer: Any, loss_of: Callable[..., Any], *batch: Any) -> Step:
    """A step of training, in PyTorch's way; `loss_of` has gone through `compiled` before."""
    update = compiled(optimizer.step)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        update()
        return loss

    return step


def linear(name: str, inputs: int, outputs: int, bias: bool = True) -> Shapes:
    """The parameters of nn.Linear."""
    return {f"{name}.weight": (outputs, inputs)} | ({f"{name}.bias": (outputs,)} if bias else {})


def conv(name: str, inputs: int, outputs: int, size: int, bias: bool = True) -> Shapes:
    """The parameters of nn.Conv2d."""
    shape = {f"{name}.weight": (outputs, inputs, size, size)}
    return shape | ({f"{name}.bias": (outputs,)} if bias else {})


def norm(name: str, channels: int) -> Shapes:
    """The parameters of a normalisation."""
    return {f"{name}.weight": (channels,), f"{name}.bias": (channels,)}
