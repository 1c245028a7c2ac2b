"""What jax leaves to other packages: optimizers and layers as functions. Imported by jax's peer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from workloads._workload import Step

Params = dict[str, Any]
# From parameters to a state; from parameters, gradients and state to new parameters and state.
Optimizer = tuple[Callable[[Params], Any], Callable[[Params, Params, Any], tuple[Params, Any]]]


def arrays(tree: Any) -> Any:
    """NumPy's arrays as jax's."""
    return jax.tree.map(jnp.array, tree)


def training(
    params: Params, optimizer: Optimizer, loss_of: Callable[..., Any], *batch: Any
) -> Step:
    """A step of training, all of it one compiled function that reuses the old weights' memory."""
    start, update = optimizer

    @partial(jax.jit, donate_argnums=(0, 1))
    def stepped(params: Params, state: Any, *batch: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        return *update(params, grads, state), loss

    params, batch = arrays(params), arrays(batch)
    state = start(params)

    def step() -> Any:
        nonlocal params, state
        params, state, loss = stepped(params, state, *batch)
        return loss

    return step


def sgd(lr: float, momentum: float = 0.0) -> Optimizer:
    """Gradient descent."""

    def start(params: Params) -> Any:
        return jax.tree.map(jnp.zeros_like, params) if momentum else ()

    def update(params: Params, grads: Params, state: Any) -> tuple[Params, Any]:
        if momentum:
            state = grads = jax.tree.map(lambda v, g: momentum * v + g, state, grads)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), state

    return start, update


def adam(
    lr: float, betas: tuple[float, float] = (0.9, 0.999), weight_decay: float = 0.0
) -> Optimizer:
    """Adam, and AdamW by `weight_decay`."""
    b1, b2 = betas

    def start(params: Params) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return zeros, jax.tree.map(jnp.zeros_like, params), jnp.zeros(())

    def update(params: Params, grads: Params, state: Any) -> tuple[Params, Any]:
        first, second, count = state
        count = count + 1
        first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, first, grads)
        second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, second, grads)
        rate, scale = lr / (1 - b1**count), jnp.sqrt(1 - b2**count)

        def moved(p: Any, m: Any, v: Any) -> Any:
            return p * (1 - lr * weight_decay) - rate * m / (jnp.sqrt(v) / scale + 1e-8)

        return jax.tree.map(moved, params, first, second), (first, second, count)

    return start, update


def linear(params: Params, name: str, x: Any) -> Any:
    """nn.Linear of that name."""
    y = x @ params[f"{name}.weight"].T
    return y + params[f"{name}.bias"] if f"{name}.bias" in params else y


def conv(params: Params, name: str, x: Any, stride: int = 1, padding: int = 0) -> Any:
    """nn.Conv2d of that name."""
    pads = [(padding, padding)] * 2
    y = lax.conv_general_dilated(x, params[f"{name}.weight"], (stride, stride), pads)
    return y + params[f"{name}.bias"][:, None, None] if f"{name}.bias" in params else y


def conv_transposed(params: Params, name: str, x: Any, stride: int, padding: int) -> Any:
    """nn.ConvTranspose2d of that name, without a bias."""
    kernel = jnp.flip(params[f"{name}.weight"], (2, 3)).swapaxes(0, 1)
    pads = [(kernel.shape[2] - 1 - padding,) * 2] * 2
    return lax.conv_general_dilated(x, kernel, (1, 1), pads, lhs_dilation=(stride, stride))


def max_pool(x: Any) -> Any:
    """The largest of each 2x2 pixels."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def batch_norm(params: Params, name: str, x: Any) -> Any:
    """nn.BatchNorm2d in training, without its running statistics, which no loss reads."""
    mean = x.mean((0, 2, 3), keepdims=True)
    y = (x - mean) * lax.rsqrt(x.var((0, 2, 3), keepdims=True) + 1e-5)
    return y * params[f"{name}.weight"][:, None, None] + params[f"{name}.bias"][:, None, None]


def layer_norm(params: Params, name: str, x: Any) -> Any:
    """nn.LayerNorm of that name over the last axis."""
    y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return y * params[f"{name}.weight"] + params[f"{name}.bias"]


def cross_entropy(scores: Any, target: Any) -> Any:
    """nn.CrossEntropyLoss of rows of scores."""
    chosen = jnp.take_along_axis(jax.nn.log_softmax(scores), target[:, None], 1)
    return -chosen.mean()


def binary_cross_entropy(scores: Any, target: float) -> Any:
    """nn.BCEWithLogitsLoss with the same target for all."""
    return (jax.nn.softplus(scores) - target * scores).mean()
