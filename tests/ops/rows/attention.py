"""Rows of `wengert.ops.attention`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

NAME = "nn.functional.scaled_dot_product_attention"
QKV = inputs((2, 3, 4), (2, 5, 4), (2, 5, 6))


def masked(rng):
    mask = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
    return (*QKV(rng), mask)


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def mixed(rng):
    return np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), np.zeros((2, 5, 4), np.float32)


ROWS = [
    Row(NAME, QKV),
    Row(NAME, inputs((3, 4), (5, 4), (5, 4)), {"scale": 0.5}, tag="matrices"),
    Row(NAME, inputs((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4)), {"is_causal": True}, tag="causal"),
    Row(NAME, inputs((1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)), {"enable_gqa": True}, tag="groups"),
    Row(NAME, inputs((2, 3, 4), (2, 5, 4), (2, 5, 6), (3, 5)), tag="added"),
    Row(NAME, masked, tag="mask"),
]

ERRORS = [
    ErrorRow(
        NAME,
        lambda rng: (*QKV(rng), np.zeros((3, 5))),
        RuntimeError,
        "is_causal",
        {"is_causal": True},
    ),
    ErrorRow(
        NAME,
        zeros((2, 3, 4), (2, 5, 6), (2, 5, 6)),
        RuntimeError,
        "cannot be multiplied",
        tag="width",
    ),
    ErrorRow(NAME, zeros((4,), (5, 4), (5, 6)), RuntimeError, "at least 2 dimensional", tag="rank"),
    ErrorRow(NAME, mixed, RuntimeError, "same dtype", tag="dtype"),
]
