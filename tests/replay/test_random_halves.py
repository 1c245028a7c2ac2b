"""Random programs of halves and under autocast, compiled and eager, with changes in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import wengert
from tests.replay.harness import Log, run
from tests.replay.test_halves import WAYS, check_alike
from tests.replay.test_random_programs import BINARY, UNARY, clear, descend
from wengert import autocast
from wengert.compiler import reset
from wengert.nn import functional
from wengert.utils.checkpoint import checkpoint

DTYPES = (wengert.bfloat16, wengert.float16, wengert.float32)

# Functions of tensors (n, 16) of some dtype that keep their shape, and of a number below 3.
FURTHER: tuple[Callable[[Any, int], Any], ...] = (
    lambda x, k: x.to(DTYPES[k]),
    lambda x, k: x.bfloat16() + x.float(),
    lambda x, k: x.half() + x.bfloat16(),
    lambda x, k: x * wengert.tensor(0.3, dtype=DTYPES[k]),
    lambda x, k: x * 0.3,
    lambda x, k: 0.5 * x,
    lambda x, k: x / 3,
    lambda x, k: 1.5 / (x.abs() + 1) + 2.0 / (x * x + 1),
    lambda x, k: x.mean() + x,
    lambda x, k: x - x.sum(1, keepdim=True) / 16,
    lambda x, k: wengert.where(x.bfloat16() > x.half() * 0.9, x, -x),
    lambda x, k: (x > 0).to(x.dtype) * x + (x > 0) * x,
    lambda x, k: x + wengert.arange(16) / 16,
    lambda x, k: x.clone().add_(x.mean()).mul_(0.7),
    lambda x, k: (x * 1).view(-1, 2, 8)[:, 0].repeat(1, 2),
    lambda x, k: wengert.cat([x[:, :8].bfloat16(), x[:, 8:].half()], 1),
    lambda x, k: checkpoint(lambda v: (v * 0.5).tanh() + v, x, use_reentrant=False),
    lambda x, k: functional.rms_norm(x, (16,)),
    lambda x, k: functional.silu(x),
    lambda x, k: x.long().to(x.dtype) + x,
    lambda x, k: functional.conv1d(x.view(-1, 1, 16), wengert.ones(1, 1, 3, dtype=x.dtype) / 3,
                                   padding=1).view(-1, 16),
    lambda x, k: functional.max_pool1d(x.view(-1, 1, 16), 3, 1, 1).view(-1, 16),
    lambda x, k: x.double().to(x.dtype),
    lambda x, k: x.float().log_softmax(1).to(x.dtype),
    lambda x, k: functional.scaled_dot_product_attention(*[x.view(1, -1, 16)] * 3)[0],
    lambda x, k: wengert.einsum("ij,kj->ik", x, x).mean(1, keepdim=True) * 0.1 + x,
)  # fmt: skip


def next_value(one: list[Any], values: list[Any], layer: Callable[[Any, int], Any]) -> Any:
    """What an item of a plan makes of earlier values; None of one that reads them."""
    kind, a, b, c = one
    y = values[a % len(values)]
    if kind < 0.3:
        return UNARY[b % len(UNARY)](y)
    if kind < 0.6:
        return FURTHER[b % len(FURTHER)](y, c % 3)
    if kind < 0.75:
        return layer(y, b)
    # `lerp` is not for several dtypes.
    return BINARY[b % 4](y, values[b % len(values)]) if kind < 0.95 else None


def random_step(seed: int, weights: list[Any], regions: bool, log: Log) -> Callable[..., Any]:
    """A function of a batch and the number of a step, of regions if it may have some."""
    rng = random.Random(seed)
    plan = [[rng.random(), *[rng.randrange(1000) for _ in range(3)]] for _ in range(14)]
    reads, second = rng.random() < 0.5, rng.random() < 0.25

    def layer(y: Any, k: int) -> Any:
        weight = weights[k % 3]
        return functional.linear(y.to(weight.dtype), weight, weights[3])

    def values_of(x: Any, step: int) -> list[Any]:
        values = [layer(x, 0)]
        for one in plan:
            with autocast("cpu", enabled=regions and one[3] % 6 > 0):
                y = next_value(one, values, layer)
                if y is None:
                    y = values[one[1] % len(values)]
                    if reads and step % 3 == 2 and y.square().mean() > 0.3:
                        log.append(y.dtype)
                        y = -y
            values.append(y)
        return values

    def step(x: Any, k: int) -> Any:
        with autocast("cpu", dtype=DTYPES[seed % 2], enabled=regions and k != 4):
            values = values_of(x, k)
            loss = sum(v.float().square().mean() for v in values[-4:])
        if second:
            loss = loss + of_gradients(loss, weights)
        loss.backward()
        return loss, values[-2]

    return step


def of_gradients(loss: Any, weights: list[Any]) -> Any:
    """A further loss, of gradients with a graph."""
    asked = [w for w in weights if w.requires_grad]
    found = wengert.autograd.grad(loss, asked, create_graph=True, allow_unused=True)
    return sum(g.float().square().sum() for g in found if g is not None) * 0.1


def program(seed: int, steps: int, wrap: Callable[[Any], Any], log: Log) -> None:
    regions = seed % 3 == 2
    dtype = DTYPES[seed % 3]
    weights = [wengert.randn(16, 16) / 4 for _ in range(3)] + [wengert.randn(16) / 4]
    weights = [w.to(dtype).requires_grad_() for w in weights]
    step = wrap(random_step(seed, weights, regions, log))
    for k in range(steps):
        weights[1 + seed % 2].requires_grad_(k not in (5, 6))
        if k % 4 != 3:  # otherwise they accumulate
            clear(weights)
        try:
            loss, inner = step(wengert.randn(304 if k == 6 else 32, 16), k)
        except RuntimeError as error:  # a saved value was overwritten
            log.append(str(error).split(":")[0])
            continue
        log += [loss, *(None if w.grad is None else w.grad.clone() for w in weights)]
        descend(weights)
        if k % 2:
            log.append(inner)


# What is rounded otherwise grows from step to step: fewer of them are compared.
@pytest.mark.parametrize(("way", "steps"), [("exact", 9), ("default", 4), ("reduce-overhead", 4)])
@pytest.mark.parametrize("seed", range(18))
def test_random_program(seed: int, way: str, steps: int) -> None:
    made: list[Any] = []

    def wrap(function: Any) -> Any:
        made.append(WAYS[way](function))
        return made[-1]

    reset()
    eager = run(partial(program, seed, steps), lambda f: f)
    ours = run(partial(program, seed, steps), wrap)
    assert not any(p.problem for p in made[0].compiled.record.plans.values())
    assert len(ours) == len(eager)
    for a, b in zip(ours, eager, strict=True):
        check_alike(a, b, way == "exact")
