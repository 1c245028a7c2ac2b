"""Rows of `wengert.ops.recurrent`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs


def weights(rng: Rng, gates: int, widths: list[int], biases: bool, projected: int = 0) -> list[Any]:
    """The parameters of layers for inputs of these widths, with states of width 4."""
    made = []
    for width in widths:
        shapes: list[tuple[int, ...]] = [(4 * gates, width), (4 * gates, projected or 4)]
        shapes += [(4 * gates,)] * (2 * biases) + [(projected, 4)] * bool(projected)
        made += [rng.standard_normal(s) * 0.5 for s in shapes]
    return made


def layers(
    gates: int, widths: list[int], biases: bool, depth: int, *options: bool, projected: int = 0
) -> Callable[[Rng], tuple[Any, ...]]:
    """Sequences of 3 steps in a batch of 2, states, parameters; and what follows `dropout`."""

    def make(rng: Rng) -> tuple[Any, ...]:
        batch_first = options[-1]
        x = rng.standard_normal((2, 3, 3) if batch_first else (3, 2, 3))
        h = rng.standard_normal((len(widths), 2, projected or 4))
        hx = (h, rng.standard_normal((len(widths), 2, 4))) if gates == 4 else h
        params = weights(rng, gates, widths, biases, projected)
        return x, hx, params, biases, depth, 0.0, *options

    return make


PLAIN, BOTH, BATCH_FIRST = (False, False, False), (False, True, False), (True, False, True)

ROWS = [
    row
    for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4))
    for row in (
        Row(name, layers(gates, [3], True, 1, *PLAIN)),
        Row(name, layers(gates, [3, 3, 8, 8], False, 2, *BOTH), tag="both"),
        Row(name, layers(gates, [3, 4], True, 2, *BATCH_FIRST), tag="batch_first"),
    )
]
ROWS += [
    # In float32 PyTorch warns that it has no fast kernel for it.
    Row("lstm", layers(4, [3, 3], True, 1, *BOTH, projected=2), tag="projected", dtypes=()),
    Row("rnn_tanh_cell", inputs((2, 3), (2, 4), (4, 3), (4, 4), (4,), (4,))),
    Row("rnn_relu_cell", inputs((2, 3), (2, 4), (4, 3), (4, 4))),
    Row("gru_cell", inputs((2, 3), (2, 4), (12, 3), (12, 4), (12,), (12,))),
    Row(
        "lstm_cell",
        lambda rng: (
            rng.standard_normal((2, 3)),
            (rng.standard_normal((2, 4)), rng.standard_normal((2, 4))),
            *weights(rng, 4, [3], True),
        ),
    ),
]


def call(steps: int = 3, width: int = 3, state: int = 4, count: int = 4, layers: int = 1):
    """Arguments of `gru` of which one does not fit."""
    return lambda rng: (
        np.zeros((steps, 2, width)),
        np.zeros((layers, 2, state)),
        weights(rng, 3, [3], True)[:count],
        True, 1, 0.0, False, False, False,
    )  # fmt: skip


def cell(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


ERRORS = [
    ErrorRow("gru", call(steps=0), RuntimeError, "sequence length to be larger than 0"),
    ErrorRow("gru", call(width=5), RuntimeError, "mat1 and mat2 shapes", tag="width"),
    ErrorRow("gru", call(state=5), RuntimeError, "mat1 and mat2 shapes", tag="state"),
    ErrorRow("gru", call(count=3), RuntimeError, "incorrect number of RNN param", tag="count"),
    ErrorRow("gru", call(layers=2), RuntimeError, "states of shape", tag="layers"),
    ErrorRow(
        "gru",
        lambda rng: (np.zeros((3, 3)), *call()(rng)[1:]),
        IndexError,
        "3 dimensions",
    ),
    ErrorRow(
        "gru",
        lambda rng: (np.zeros((3, 2, 3), np.float32), *call()(rng)[1:]),
        RuntimeError,
        "same dtype",
        tag="dtype",
    ),
    ErrorRow(
        "lstm",
        lambda rng: (np.zeros((3, 2, 3)), (np.zeros((1, 2, 4)),), *call()(rng)[2:]),
        RuntimeError,
        "two hidden states",
    ),
    ErrorRow("gru_cell", cell((1, 3), (1, 2), (6, 2), (6, 2)), RuntimeError, "input_size"),
    ErrorRow(
        "gru_cell", cell((1, 2), (1, 3), (6, 2), (6, 2)), RuntimeError, "hidden_size", tag="state"
    ),
    ErrorRow(
        "gru_cell", cell((1, 2), (2, 2), (6, 2), (6, 2)), RuntimeError, "batch size", tag="batch"
    ),
    ErrorRow(
        "rnn_tanh_cell", cell((1, 2), (1, 3), (4, 2), (4, 3)), RuntimeError, "weight_ih first dim"
    ),
    ErrorRow(
        "lstm_cell",
        lambda rng: (np.zeros((1, 2)), (np.zeros((1, 3)),), np.zeros((12, 2)), np.zeros((12, 3))),
        RuntimeError,
        "two hidden states",
    ),
]
