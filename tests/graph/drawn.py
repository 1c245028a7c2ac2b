"""Graphs that the tests of drawings draw."""

from __future__ import annotations

import random
from functools import cache, partial

import wengert
import wengert.nn.functional as F
from wengert import nn
from wengert.graph import Drawing, draw


@cache
def mlp() -> Drawing:
    """Two layers: fewer boxes than would be worth a repetition."""
    model = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 10))
    logits = model(wengert.randn(32, 100))
    return draw(F.cross_entropy(logits, wengert.zeros(32, dtype=wengert.int64)))


class Residual(nn.Module):
    """Two convolutions beside a skip connection."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: wengert.Tensor) -> wengert.Tensor:
        return (self.second(self.first(x).relu()) + self.skip(x)).relu()


class ResNet(nn.Module):
    """Two stages; the first block of the second differs from those behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1)
        self.stages = nn.Sequential(
            nn.Sequential(*[Residual(4, 4) for _ in range(3)]),
            nn.Sequential(Residual(4, 8), *[Residual(8, 8) for _ in range(4)]),
        )
        self.head = nn.Linear(8, 10)

    def forward(self, x: wengert.Tensor) -> wengert.Tensor:
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


@cache
def resnet() -> Drawing:
    """Skip connections, and stages of equal blocks."""
    model = ResNet()
    return draw(model(wengert.randn(2, 3, 8, 8)).square().sum())


@cache
def recurrent(steps: int = 300) -> Drawing:
    """A cell in a loop, and a sum that goes along."""
    cell, state, total = nn.RNNCell(4, 8), wengert.zeros(2, 8), wengert.zeros(())
    for _ in range(steps):
        state = cell(wengert.randn(2, 4), state)
        total = total + state.sum()
    return draw(total)


@cache
def transformer(layers: int = 12) -> Drawing:
    """An embedding in front of equal layers."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    embedding, model = nn.Embedding(10, 32), nn.TransformerEncoder(layer, layers)
    return draw(model(embedding(wengert.zeros(2, 5, dtype=wengert.int64))).sum())


@cache
def two_losses() -> Drawing:
    """A trunk and two heads."""
    trunk = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
    one, two = nn.Linear(32, 1), nn.Linear(32, 4)
    hidden = trunk(wengert.randn(16, 10))
    loss_one = one(hidden).square().mean()
    loss_two = two(hidden).logsumexp(1).mean()
    return draw(loss_one, loss_two)


@cache
def tangled(count: int = 150) -> Drawing:
    """No structure at all: each operation uses something computed before."""
    dice = random.Random(0)
    made = [wengert.randn(3, 3, requires_grad=True) for _ in range(20)]
    for _ in range(count):
        one, other = dice.choice(made[-30:]), dice.choice(made[-200:])
        kind = dice.randrange(4)
        if kind == 0:
            made.append(one + other)
        elif kind == 1:
            made.append(one * other)
        elif kind == 2:
            made.append(one.tanh())
        else:
            made.append(one @ other)
    return draw(wengert.stack(made).sum())


ALL = {
    "mlp": mlp,
    "resnet": resnet,
    "recurrent": partial(recurrent, 60),
    "transformer": partial(transformer, 6),
    "two_losses": two_losses,
    "tangled": tangled,
}
