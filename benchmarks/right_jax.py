"""The programs of tests/replay/test_programs.py as somebody who knows jax writes them.

Parameters, random keys and the state of optimizers are arguments and results of a step, as jax
wants it. What makes a program what it is, a print, a list, a branch on a value, stays where it was.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

Wrap = Callable[[Any], Any]
Log = list[Any]
PROGRAMS: dict[str, Callable[[Wrap, Log], None]] = {}
# What jax has no counterpart of.
ABSENT = {"hooks_added_later": "there are no hooks"}


def program(function: Callable[[Wrap, Log], None]) -> Callable[[Wrap, Log], None]:
    """Put a program into the table."""
    PROGRAMS[function.__name__] = function
    return function


def mlp(*widths: int, seed: int = 0) -> list[Any]:
    """Weights and biases."""
    rng = np.random.RandomState(seed)
    layers = []
    for a, b in pairwise(widths):
        bound = 1 / math.sqrt(a)
        layers.append([jnp.array(rng.uniform(-bound, bound, s)) for s in ((a, b), (b,))])
    return layers


def forward(layers: list[Any], x: Any) -> Any:
    """Linear layers with tanh between them."""
    for w, b in layers[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = layers[-1]
    return x @ w + b


def squares(layers: list[Any], x: Any) -> Any:
    """The mean of squares of the outputs."""
    return (forward(layers, x) ** 2).mean()


def descend(layers: Any, gradients: Any, lr: Any) -> Any:
    """One step of gradient descent."""
    return jax.tree.map(lambda p, g: p - lr * g, layers, gradients)


def batches(count: int, *shape: int) -> Any:
    """Batches of normal numbers."""
    rng = np.random.RandomState(1)
    return [jnp.array(rng.randn(*(shape or (64, 8)))) for _ in range(count)]


def numbers(tree: Any) -> Any:
    """What a tree holds now, as arrays."""
    return [np.array(leaf) for leaf in jax.tree.leaves(tree)]


@program
def two_losses_with_retain_graph(wrap: Wrap, log: Log) -> None:
    def losses(model: Any, x: Any) -> Any:
        trunk, first, second = model
        hidden = jnp.tanh(forward(trunk, x))
        return (forward(first, hidden) ** 2).mean(), jnp.exp(forward(second, hidden)).mean()

    @wrap
    def step(model: Any, x: Any) -> Any:
        values, back = jax.vjp(lambda m: losses(m, x), model)
        (one,), (two,) = back((1.0, 0.0)), back((0.0, 1.0))
        return values, descend(model, jax.tree.map(jnp.add, one, two), 0.01)

    model = [mlp(8, 64), mlp(64, 3), mlp(64, 2)]
    for x in batches(5):
        values, model = step(model, x)
        log += [*numbers(values), *numbers(model)]


@program
def loss_appended_to_a_list(wrap: Wrap, log: Log) -> None:
    model, losses = mlp(8, 64, 1), []

    @wrap
    def step(model: Any, x: Any) -> Any:
        loss, gradients = jax.value_and_grad(squares)(model, x)
        losses.append(loss)
        return gradients

    for x in batches(4):
        log += numbers(step(model, x))
    log += [len(losses), *(float(loss) for loss in losses)]


@program
def print_in_the_loop(wrap: Wrap, log: Log) -> None:
    model = mlp(8, 64, 1)

    @wrap
    def step(model: Any, x: Any) -> Any:
        log.append("called")
        loss, gradients = jax.value_and_grad(squares)(model, x)
        log.append(f"{loss.item():.4f}")
        return descend(model, gradients, 0.1)

    for x in batches(5):
        model = step(model, x)
    log += numbers(model)


@program
def branch_on_the_best_loss(wrap: Wrap, log: Log) -> None:
    model, best = mlp(8, 64, 1), [math.inf]

    @wrap
    def step(model: Any, x: Any) -> Any:
        def value(model: Any) -> Any:
            loss = squares(model, x)
            if loss.item() < best[0]:
                best[0] = loss.item()
                log.append("better")
                return loss
            return loss * 2

        value(model)
        return descend(model, jax.grad(squares)(model, x), 0.05)

    for x in batches(8):
        model = step(model, x)
    log += [best[0], *numbers(model)]


@program
def counter_as_an_argument(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(x: Any, i: Any) -> Any:
        return jnp.tanh(x * i + i / 3).sum()

    data = batches(12)
    for i in range(6):
        log.append(float(step(data[i], i)))
    for i in range(3):
        log.append(float(step(data[6 + i], float(i))))
        log.append(float(step(data[9 + i], bool(i))))


@program
def global_that_changes(wrap: Wrap, log: Log) -> None:
    scale = {"by": 1.0, "on": True}

    @wrap
    def step(x: Any) -> Any:
        y = x * scale["by"]
        return jnp.exp(y).sum() if scale["on"] else y.sum()

    for k, x in enumerate(batches(8)):
        scale["by"], scale["on"] = 0.5 * k, k % 3 > 0
        log.append(float(step(x)))


@program
def learning_rate_schedule(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(model: Any, velocity: Any, lr: Any, x: Any) -> Any:
        gradients = jax.grad(squares)(model, x)
        velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradients)
        return descend(model, velocity, lr), velocity

    model, lr = mlp(8, 64, 1), 0.5
    velocity = jax.tree.map(jnp.zeros_like, model)
    for x in batches(5):
        model, velocity = step(model, velocity, lr, x)
        lr *= 0.8
        log += [lr, *numbers(model)]


@program
def dropout_and_noise(wrap: Wrap, log: Log) -> None:
    def loss(model: Any, x: Any, key: Any) -> Any:
        noise, dropped, shift = jax.random.split(key, 3)
        (w, b), last = model
        hidden = (x + 0.1 * jax.random.normal(noise, x.shape)) @ w + b
        hidden = jnp.where(jax.random.bernoulli(dropped, 0.7, hidden.shape), hidden / 0.7, 0.0)
        return ((forward([last], jnp.tanh(hidden)) + jax.random.uniform(shift)) ** 2).mean()

    step, model, key = wrap(jax.value_and_grad(loss)), mlp(8, 64, 1), jax.random.PRNGKey(0)
    for x in batches(4):
        key, own = jax.random.split(key)
        log += numbers(step(model, x, own))
    log += numbers(jax.random.uniform(key, (3,)))


@program
def teacher_forcing(wrap: Wrap, log: Log) -> None:
    def loss(model: Any, xs: Any) -> Any:
        (w_in, b), (w_hidden, _), readout = model
        h, x, total = jnp.zeros((8, 16)), xs[0], 0.0
        for k in range(1, 5):
            h = jnp.tanh(x @ w_in + h @ w_hidden + b)
            out = forward([readout], h)
            total = total + ((out - xs[k]) ** 2).mean()
            x = xs[k] if random.random() < 0.5 else out
        return total

    step, model = wrap(jax.value_and_grad(loss)), [*mlp(4, 16), *mlp(16, 16), *mlp(16, 4)]
    for xs in batches(8, 5, 8, 4):
        log += numbers(step(model, xs))


@program
def last_batch_smaller(wrap: Wrap, log: Log) -> None:
    def loss(model: Any, x: Any, t: Any) -> Any:
        return -jax.nn.log_softmax(forward(model, x))[jnp.arange(len(x)), t].mean()

    step, model = wrap(jax.value_and_grad(loss)), mlp(8, 64, 3)
    for n, x in zip((64, 64, 64, 7, 64, 7, 1, 64), batches(8), strict=True):
        log += numbers(step(model, x[:n], jnp.arange(n) % 3))


@program
def train_and_eval(wrap: Wrap, log: Log) -> None:
    mode = {"training": True}

    @wrap
    def step(model: Any, running: Any, x: Any, key: Any) -> Any:
        hidden = forward(model[:1], x)
        if mode["training"]:
            mean, running = hidden.mean(0), 0.9 * running + 0.1 * hidden.mean(0)
            hidden = (hidden - mean) * jax.random.bernoulli(key, 0.5, hidden.shape) * 2
        else:
            hidden = hidden - running
        return (forward(model[1:], hidden) ** 2).mean(), running

    model, running, key = mlp(8, 64, 1), jnp.zeros(64), jax.random.PRNGKey(0)
    for k, x in enumerate(batches(8)):
        mode["training"] = k % 4 < 2
        key, own = jax.random.split(key)
        loss, running = step(model, running, x, own)
        log += [float(loss), *numbers(running)]


@program
def layer_replaced_and_frozen(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(trained: Any, frozen: Any, x: Any) -> Any:
        return jax.value_and_grad(lambda m: squares(frozen + m, x))(trained)

    model, cut = mlp(8, 64, 64, 1), 0
    for k, x in enumerate(batches(12)):
        cut = 1 if 4 <= k < 8 else 0
        if k == 6:
            model[1] = mlp(64, 64, seed=2)[0]
        log += numbers(step(model[cut:], model[:cut], x))


@program
def parameter_written_from_outside(wrap: Wrap, log: Log) -> None:
    step, model = wrap(jax.value_and_grad(squares)), mlp(8, 64, 1)
    for k, x in enumerate(batches(6)):
        log += numbers(step(model, x))
        (w, b), (v, _) = model
        model = [[w * 0.9, b], [v * 1.1, jnp.ones(1) * k]]


@program
def array_written_between_steps(wrap: Wrap, log: Log) -> None:
    memory, model = np.ones((64, 8)), mlp(8, 64, 1)

    @wrap
    def step() -> Any:
        x = jnp.array(memory)
        memory[0] += 1
        return squares(model, x), forward(model, jnp.array(memory)).mean()

    for _ in range(5):
        log += numbers(step())
        memory[:] *= 1.1
        log += numbers(step())
        memory[:] -= 0.5


@program
def gradients_accumulated(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(model: Any, total: Any, x: Any, k: Any) -> Any:
        gradients = jax.grad(lambda m: squares(m, x) / 4)(model)
        total = jax.tree.map(jnp.add, total, gradients)
        if k % 4 == 3:
            return descend(model, total, 0.1), jax.tree.map(jnp.zeros_like, total)
        return model, total

    model = mlp(8, 64, 1)
    total = jax.tree.map(jnp.zeros_like, model)
    for k, x in enumerate(batches(16)):
        model, total = step(model, total, x, k)
        log += numbers((model, total))


@program
def clip_and_skip_on_nan(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(model: Any, x: Any) -> Any:
        gradients = jax.grad(squares)(model, x)
        norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(gradients)))
        if not jnp.isfinite(norm):
            log.append("skipped")
            return model
        log.append(float(norm))
        return descend(model, gradients, 0.1 * jnp.minimum(1.0, 0.5 / norm))

    model = mlp(8, 64, 1)
    for k, x in enumerate(batches(6)):
        model = step(model, x * (math.nan if k == 3 else 1.0))
        log += numbers(model)


@program
def exception_in_the_middle(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(model: Any, x: Any, bad: Any) -> Any:
        loss, gradients = jax.value_and_grad(squares)(model, x)
        if bad:
            raise ValueError("in the middle")
        return loss, gradients

    model = mlp(8, 64, 1)
    for k, x in enumerate(batches(6)):
        try:
            log += numbers(step(model, x, k in (1, 4)))
        except ValueError as error:
            log.append(str(error))


@program
def two_models_in_turn(wrap: Wrap, log: Log) -> None:
    @wrap
    def step(generator: Any, critic: Any, real: Any, noise: Any) -> Any:
        def of_critic(critic: Any) -> Any:
            return forward(critic, forward(generator, noise)).mean() - forward(critic, real).mean()

        loss, gradients = jax.value_and_grad(of_critic)(critic)
        critic = descend(critic, gradients, 0.01)
        other, gradients = jax.value_and_grad(lambda g: -forward(critic, forward(g, noise)).mean())(
            generator
        )
        return loss, other, descend(generator, gradients, 0.01), critic

    generator, critic = mlp(8, 64, 8), mlp(8, 64, 1, seed=2)
    for real, noise in zip(batches(5), reversed(batches(5)), strict=True):
        loss, other, generator, critic = step(generator, critic, real, noise)
        log += [float(loss), float(other), *numbers((generator, critic))]


@program
def nested_functions(wrap: Wrap, log: Log) -> None:
    inner = wrap(lambda x: (x * x).sum())
    step = wrap(jax.value_and_grad(lambda m, x: inner(forward(m, x)) + inner(x)))
    model = mlp(8, 64, 1)
    for x in batches(5):
        log += [*numbers(step(model, x)), float(inner(x))]


@program
def from_two_threads(wrap: Wrap, log: Log) -> None:
    models, inputs = [mlp(8, 64, 1), mlp(8, 64, 1, seed=2)], batches(2)
    step = wrap(jax.value_and_grad(squares))
    results: list[Any] = [None, None]

    def train(k: int) -> None:
        for _ in range(8):
            results[k] = step(models[k], inputs[k])

    threads = [threading.Thread(target=train, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log += numbers(results)
