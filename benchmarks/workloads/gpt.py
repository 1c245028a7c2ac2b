"""A language model of characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads._workload import (
    Array,
    Compile,
    Shapes,
    Step,
    Workload,
    fill,
    linear,
    norm,
    training,
    weights,
)

ALPHABET, CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 96, 64, 128, 4, 4, 16
RATE = 1e-3


def codes() -> tuple[Array, Array]:
    """Characters, and those that follow."""
    text = np.random.default_rng(0).integers(ALPHABET, size=(BATCH, CONTEXT + 1))
    return text[:, :-1].copy(), text[:, 1:].copy()


def gpt(library: Any, compiled: Compile) -> Step:
    """As examples/gpt.py: norm first, and scores are products with the embeddings."""
    nn, functional = library.nn, library.nn.functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            parts = self.qkv(self.norm1(x)).view(BATCH, CONTEXT, 3, HEADS, WIDTH // HEADS)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    model = nn.Module()
    model.characters = nn.Embedding(ALPHABET, WIDTH)
    model.positions = nn.Embedding(CONTEXT, WIDTH)
    model.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
    model.norm = nn.LayerNorm(WIDTH)
    fill(library, model)

    @compiled
    def loss_of(inputs: Any, targets: Any) -> Any:
        x = model.characters(inputs) + model.positions.weight
        scores = functional.linear(model.norm(model.blocks(x)), model.characters.weight)
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten())

    update = library.optim.AdamW(model.parameters(), lr=RATE)
    return training(compiled, update, loss_of, *map(library.from_numpy, codes()))


def gpt_jax() -> Step:
    """The same in jax."""
    import jax
    import jax.numpy as jnp

    from workloads import _jax

    shapes: Shapes = {"characters.weight": (ALPHABET, WIDTH), "positions.weight": (CONTEXT, WIDTH)}
    shapes |= norm("norm", WIDTH)
    for i in range(LAYERS):
        name = f"blocks.{i}"
        shapes |= norm(f"{name}.norm1", WIDTH) | norm(f"{name}.norm2", WIDTH)
        shapes |= linear(f"{name}.qkv", WIDTH, 3 * WIDTH) | linear(f"{name}.out", WIDTH, WIDTH)
        shapes |= linear(f"{name}.up", WIDTH, 4 * WIDTH) | linear(f"{name}.down", 4 * WIDTH, WIDTH)

    def block(params: Any, name: str, x: Any) -> Any:
        y = _jax.linear(params, f"{name}.qkv", _jax.layer_norm(params, f"{name}.norm1", x))
        q, k, v = jnp.moveaxis(y.reshape(BATCH, CONTEXT, 3, HEADS, WIDTH // HEADS), 2, 0)
        mixed = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + _jax.linear(params, f"{name}.out", mixed.reshape(BATCH, CONTEXT, WIDTH))
        y = _jax.linear(params, f"{name}.up", _jax.layer_norm(params, f"{name}.norm2", x))
        return x + _jax.linear(params, f"{name}.down", jax.nn.gelu(y, approximate=False))

    def loss_of(params: Any, inputs: Any, targets: Any) -> Any:
        x = params["characters.weight"][inputs] + params["positions.weight"]
        for i in range(LAYERS):
            x = block(params, f"blocks.{i}", x)
        scores = _jax.layer_norm(params, "norm", x) @ params["characters.weight"].T
        return _jax.cross_entropy(scores.reshape(-1, ALPHABET), targets.reshape(-1))

    optimizer = _jax.adam(RATE, weight_decay=0.01)
    return _jax.training(weights(shapes), optimizer, loss_of, *codes())


FAMILY = [
    Workload(
        f"GPT, {LAYERS} layers of {WIDTH}, context {CONTEXT}, AdamW, batch {BATCH}", gpt, gpt_jax
    )
]
