"""Random programs over many steps, compiled and eager, with changes in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import wengert
from tests.replay.harness import compare

Tensors = list[wengert.Tensor]

# Functions of tensors (n, 16) that keep their shape and stay finite.
UNARY: tuple[Callable[[Any], Any], ...] = (
    lambda x: x.tanh(),
    lambda x: x.sigmoid() * 2 - 1,
    lambda x: wengert.nn.functional.gelu(x),
    lambda x: x.softmax(1),
    lambda x: wengert.nn.functional.layer_norm(x, (16,)),
    lambda x: (x * x + 1).sqrt(),
    lambda x: x.clamp(-1, 1),
    lambda x: x - x.mean(1, keepdim=True),
    lambda x: x.t().contiguous().t(),
    lambda x: x.view(-1, 4, 4).transpose(1, 2).reshape(-1, 16),
    lambda x: wengert.cat(x.chunk(4, 1)[::-1], 1),
    lambda x: wengert.stack(x.unbind(1)[1:] + x.unbind(1)[:1], 1),
    lambda x: wengert.nn.functional.dropout(x, 0.2),
    lambda x: x + 0.1 * wengert.randn_like(x),
    lambda x: x[:, [3, 1, 2, 0] * 4],
    lambda x: x.detach() * x,
    lambda x: wengert.where(x > 0, x, x * 0.1),
    lambda x: x.masked_fill(x > 1, 1.0),
    lambda x: x.cumsum(1) / 16,
    lambda x: x * random.uniform(0.5, 1),
    lambda x: x.add_(0.25),
    lambda x: (x * 0.5).relu_(),
    lambda x: (x + 1).mul_(x).clamp_(-1, 1),
    lambda x: wengert.nn.functional.batch_norm(x, None, None, training=True),
    lambda x: wengert.nn.functional.pad(x, (1, 2))[:, 2:-1],
    lambda x: x.sort(1)[0],
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x * y,
    lambda x, y: wengert.maximum(x, y),
    lambda x, y: (x - y) / (y.abs() + 1),
    lambda x, y: wengert.lerp(x, y, 0.3),
)


def random_step(seed: int, weights: Tensors, log: list[Any]) -> Callable[..., Any]:
    """A function of a batch and the number of a step, which depends on its values now and then."""
    rng = random.Random(seed)
    plan = [(rng.random(), rng.randrange(1000), rng.randrange(1000)) for _ in range(14)]
    reads = rng.random() < 0.5
    twice = rng.random() < 0.5

    def step(x: Any, k: int) -> Any:
        values = [x @ weights[0]]
        for kind, a, b in plan:
            y = values[a % len(values)]
            if kind < 0.5:
                y = UNARY[b % len(UNARY)](y)
            elif kind < 0.7:
                y = wengert.nn.functional.linear(y, weights[b % 3], weights[3])
            elif kind < 0.95:
                y = BINARY[b % len(BINARY)](y, values[b % len(values)])
            elif reads and k % 3 == 2 and y.square().mean() > 0.3:
                log.append(y.mean().item())
                y = -y
            values.append(y)
        loss = sum(v.square().mean() for v in values[-4:])
        if twice:
            loss.backward(retain_graph=True)
            values[-1].sum().backward()
        else:
            loss.backward()
        return loss, values[-2]

    return step


def clear(weights: Tensors) -> None:
    for w in weights:
        w.grad = None


@wengert.no_grad()
def descend(weights: Tensors) -> None:
    for w in weights:
        if w.grad is not None:
            w -= 0.01 * w.grad.clamp(-1, 1)


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed: int) -> None:
    def program(wrap: Callable[[Any], Any], log: list[Any]) -> None:
        weights = [wengert.randn(16, 16) / 4 for _ in range(3)] + [wengert.randn(16) / 4]
        for w in weights:
            w.requires_grad_()
        step = wrap(random_step(seed, weights, log))
        for k in range(9):
            weights[1 + seed % 2].requires_grad_(k not in (5, 6))
            if k % 4 != 3:  # otherwise they accumulate
                clear(weights)
            try:
                loss, inner = step(wengert.randn(300 if k == 6 else 32, 16), k)
            except RuntimeError as error:  # a saved value was overwritten
                log.append(str(error).split(":")[0])
                continue
            log += [loss, *(None if w.grad is None else w.grad.clone() for w in weights)]
            descend(weights)
            if k % 2:
                log.append(inner)

    compare(program)
