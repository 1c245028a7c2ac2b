"""Rows of `wengert.ops.attention`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

NAME = "nn.functional.scaled_dot_product_attention"
QKV = inputs((2, 3, 4), (2, 5, 4), (2, 5, 6))


def masked(rng):
    mask = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
    return (*QKV(rng), mask)


def causal_with_mask(rng):
    mask = np.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [1, 0, 1, 1, 1]], bool)
    return (*inputs((2, 1, 3, 4), (2, 1, 5, 4), (2, 1, 5, 4))(rng), mask)


def blind(rng):
    """An added mask, under which one query sees nothing."""
    mask = rng.standard_normal((3, 5))
    mask[1] = -np.inf
    return (*QKV(rng), mask)


def with_mask(mask):
    return lambda rng: (*QKV(rng), mask)


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def mixed(rng):
    return np.zeros((2, 3, 4)), np.zeros((2, 5, 4)), np.zeros((2, 5, 4), np.float32)


ROWS = [
    Row(NAME, QKV),
    Row(NAME, inputs((3, 4), (5, 4), (5, 4)), {"scale": 0.5}, tag="matrices"),
    Row(NAME, inputs((2, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4)), {"is_causal": True}, tag="causal"),
    Row(NAME, causal_with_mask, {"is_causal": True}, tag="causal with a mask"),
    Row(NAME, inputs((1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)), {"enable_gqa": True}, tag="groups"),
    Row(NAME, inputs((2, 3, 4), (2, 5, 4), (2, 5, 6), (3, 5)), tag="added"),
    Row(NAME, inputs((2, 3, 4), (2, 5, 4), (2, 5, 6), (2, 1, 5)), tag="added to all queries"),
    Row(NAME, masked, tag="mask", dtypes=("float32", "float16", "bfloat16")),
    Row(NAME, inputs((1, 4, 3, 4), (1, 2, 5, 4), (1, 1, 5, 4)), {"enable_gqa": True}, tag="one"),
    Row(NAME, inputs((2, 1, 3, 4), (3, 5, 4), (3, 5, 6)), tag="broadcast"),
    Row(NAME, inputs((2, 3, 4), (2, 0, 4), (2, 0, 6)), tag="no keys"),
    # The derivative with respect to the mask would step away from -inf.
    Row(NAME, blind, grad=False, tag="blind"),
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
        causal_with_mask,
        RuntimeError,
        "is_causal",
        {"is_causal": True, "dropout_p": 0.5},
        tag="dropout with a mask",
    ),
    ErrorRow(
        NAME,
        zeros((2, 3, 4), (2, 5, 6), (2, 5, 6)),
        RuntimeError,
        "cannot be multiplied",
        tag="width",
    ),
    ErrorRow(NAME, zeros((4,), (5, 4), (5, 6)), RuntimeError, "at least 2 dimensional", tag="rank"),
    ErrorRow(NAME, with_mask(np.zeros((3, 4))), RuntimeError, "broadcast to that of", tag="mask"),
    ErrorRow(NAME, with_mask(np.zeros((3, 5), int)), RuntimeError, "attn_mask dtype", tag="ints"),
    ErrorRow(NAME, QKV, RuntimeError, "between 0 and 1", {"dropout_p": 1.5}, tag="dropout"),
    ErrorRow(
        NAME,
        zeros((1, 3, 2, 4), (1, 2, 2, 4), (1, 2, 2, 4)),
        RuntimeError,
        "must divide the number of heads",
        {"enable_gqa": True},
        tag="heads",
    ),
    ErrorRow(NAME, mixed, RuntimeError, "same dtype", tag="dtype"),
]
