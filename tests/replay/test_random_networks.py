"""Random convolutional networks over some steps, compiled and eager, with changes in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.replay.harness import compare
from wengert import nn
from wengert.replay import blocks

F = nn.functional


class Network(nn.Module):
    """Layers drawn at random, some with a sum or a concatenation around them."""

    def __init__(self, rng: random.Random, width: int, size: int) -> None:
        super().__init__()
        first = nn.Conv2d(width, width, 1)
        self.layers, self.ways = nn.ModuleList([first]), ["through"]
        for _ in range(rng.randint(4, 7)):
            way, layer, size = drawn(rng, width, size)
            self.layers.append(layer)
            self.ways.append(way)
        self.layers.append(first)  # once more
        self.ways.append("sum")
        self.head = nn.Linear(width, 3)

    def forward(self, x: Any) -> Any:
        for way, layer in zip(self.ways, self.layers, strict=True):
            if way == "sum":
                x = x + layer(x).relu()
            elif way == "joined":
                x = layer(wengert.cat([x, x.tanh()], 1))
            else:
                x = layer(x)
        return self.head(x.mean((2, 3)))


def drawn(rng: random.Random, width: int, size: int) -> tuple[str, nn.Module, int]:
    """How a layer is called, the layer, and the size of its output."""
    bias, groups = rng.random() < 0.6, rng.choice([1, 1, 1, 2, width])
    kind = rng.choice(["one", "one", "sum", "joined", "patches", "up", "three", "norm", "pool"])
    if kind == "sum":
        return "sum", nn.Conv2d(width, width, 1, groups=groups, bias=bias), size
    if kind == "joined":
        return "joined", nn.Conv2d(2 * width, width, 1, bias=bias), size
    if kind == "one":
        stride = rng.choice([1, 1, 2])
        layer = nn.Conv2d(width, width, 1, stride, groups=groups, bias=bias)
        return "through", layer, (size - 1) // stride + 1
    if kind == "patches" and size > 4:
        dilation = rng.choice([1, 2])
        layer = nn.Conv2d(width, width, 2, dilation + 1, 0, dilation, groups, bias)
        return "through", layer, size // (dilation + 1)
    if kind == "up" and size < 12:
        more = rng.choice([0, 1])
        wide = nn.ConvTranspose2d(width, width, 1, 2, 0, more, groups, bias)
        return "through", wide, 2 * size - 1 + more
    if kind == "pool" and size > 1:
        return "through", nn.MaxPool2d(2), size // 2
    if kind == "norm":
        return "through", nn.BatchNorm2d(width, eps=0.1), size
    return "through", nn.Conv2d(width, width, 3, 1, 1, groups=groups, bias=bias), size


def images(rng: random.Random, samples: int, width: int, size: int) -> Any:
    """A batch that lies in memory in one of several ways."""
    way = rng.randrange(6)
    if way == 0:
        return wengert.randn(samples, size, size, width).permute(0, 3, 1, 2)
    if way == 1:
        return wengert.randn(samples, 2 * width, size, size)[:, ::2]
    return wengert.randn(samples, width, size, size)


@pytest.mark.parametrize("seed", range(10))
def test_random_network(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_MUCH", 0)  # small segments have many phases, too

    def program(wrap: Callable[[Any], Any], log: list[Any]) -> None:
        rng = random.Random(seed)
        width, size = rng.choice([4, 8, 16]), rng.choice([5, 8, 13])
        network, whole = Network(rng, width, size), seed % 2

        def training(x: Any, classes: Any) -> Any:
            scores = network(x)
            loss = F.cross_entropy(scores, classes)
            if whole:
                loss.backward()
            return loss, scores

        step = wrap(training)
        for k in range(7):
            network.train(k != 4)
            network.layers[0].requires_grad_(k != 5)
            samples = 1 if k == 3 else 4
            x = images(rng if k > 3 else random.Random(seed), samples, width, size)
            x = x.detach().requires_grad_(k != 2)
            network.zero_grad()
            loss, scores = step(x, wengert.randint(0, 3, (samples,)))
            if not whole:
                loss.backward()
            gradients = [None if p.grad is None else p.grad.clone() for p in network.parameters()]
            log += [loss, scores.detach(), x.grad, *gradients]
            log += [b.clone() for b in network.buffers()]

    compare(program)
