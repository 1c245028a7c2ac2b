"""Recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts

# The blocks of rows of the weights in ONNX's order, by their places in PyTorch's.
_ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN_TANH": (0,), "RNN_RELU": (0,)}


@converts("over_time")
def _over_time(
    b: Builder, mode: str, input: Value, hx: Any, params: Any, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> Any:  # fmt: skip
    directions = 2 if bidirectional else 1
    each = len(params) // (num_layers * directions)
    if each != (4 if has_biases else 2):
        raise b.refuse("a recurrent layer with a projection")
    if dropout and train:
        raise b.refuse("dropout between recurrent layers in training mode")
    x: str = b("Transpose", input, perm=[1, 0, 2]) if batch_first else input.name
    finals: list[list[str]] = []
    for layer in range(num_layers):
        start = layer * directions
        weights = [params[k * each : (k + 1) * each] for k in range(start, start + directions)]
        states = [_part(b, s, start, directions, num_layers) for s in hx or ()]
        x, *last = _layer(b, mode, x, weights, states, bidirectional)
        finals.append(last)
    states = [
        b("Concat", *of_layers, axis=0) if num_layers > 1 else of_layers[0]
        for of_layers in zip(*finals, strict=True)
    ]
    return (b("Transpose", x, perm=[1, 0, 2]) if batch_first else x), states


def _part(b: Builder, state: Value, start: int, count: int, layers: int) -> str:
    if layers == 1:
        return state.name
    return b("Slice", state, b.ints([start]), b.ints([start + count]), b.ints([0]))


def _layer(
    b: Builder, mode: str, x: str, weights: list[Any], states: list[str], bidirectional: bool
) -> list[str]:
    """The outputs (time, batch, directions * width), and the last states."""
    op = mode.split("_")[0]
    hidden = weights[0][1].shape[1]
    w, r = (_both(b, mode, [of[k] for of in weights], hidden) for k in (0, 1))
    bias = None
    if len(weights[0]) == 4:
        rows = [_both(b, mode, [of[k] for of in weights], hidden) for k in (2, 3)]
        bias = b("Concat", *rows, axis=1)
    options: dict[str, Any] = {"hidden_size": hidden}
    options["direction"] = "bidirectional" if bidirectional else "forward"
    if op == "GRU":
        options["linear_before_reset"] = 1
    if op == "RNN":
        options["activations"] = ["Relu" if mode == "RNN_RELU" else "Tanh"] * len(weights)
    outs = b.several(op, 3 if op == "LSTM" else 2, x, w, r, bias, None, *states, **options)
    if bidirectional:
        # (time, directions, batch, width)
        y = b("Transpose", outs[0], perm=[0, 2, 1, 3])
        y = b("Reshape", y, b.constant([0, 0, -1], np.int64))
    else:
        y = b("Squeeze", outs[0], b.ints([1]))
    return [y, *outs[1:]]


def _both(b: Builder, mode: str, directions: list[Value], hidden: int) -> str:
    """The weights of the directions, with their gates in ONNX's order."""
    parts = []
    for weight in directions:
        gates: Any = weight
        order = _ORDER[mode]
        if len(order) > 1:
            sizes = b.ints([hidden] * len(order))
            blocks = b.several("Split", len(order), weight, sizes, axis=0)
            gates = b("Concat", *[blocks[k] for k in order], axis=0)
        parts.append(b("Unsqueeze", gates, b.ints([0])))
    return parts[0] if len(parts) == 1 else b("Concat", *parts, axis=0)
