"""Steps of programs for the leak lint, with leaks and without."""

from __future__ import annotations

import wengert
from wengert import nn
from wengert.graph import Leak, live

model = nn.Linear(6, 6)


def batch() -> wengert.Tensor:
    return wengert.randn(3, 6)


def train() -> None:
    """A backward that has nothing to do with what is kept."""
    model(batch()).square().sum().backward()


def a_loss() -> wengert.Tensor:
    return model(batch()).exp().sum()


def found() -> list[Leak]:
    return live().leaks()


def fails() -> None:
    loss = a_loss()
    raise ValueError(loss.item())
