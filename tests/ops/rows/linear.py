"""Rows of `wengert.ops.linear`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."

ROWS = [
    Row(F + "linear", inputs((2, 3), (4, 3), (4,)), dtypes=("float32", "float16", "complex64")),
    Row(F + "linear", inputs((2, 3), (4, 3)), tag="no-bias"),
    Row(F + "linear", inputs((3,), (4, 3), (4,)), tag="vector"),
    Row(F + "linear", inputs((2, 3, 5), (4, 5), (4,)), tag="batched"),
    Row(F + "linear", inputs((0, 3), (4, 3), (4,)), tag="empty"),
    Row(F + "linear", inputs((2, 3, 0), (4, 0), (4,)), tag="empty-rows"),
    Row(F + "linear", inputs((3,), (0, 3)), tag="vector-without-weights"),
    Row(F + "linear", inputs((0,), (4, 0), (4,)), tag="empty-vector"),
    Row(F + "linear", inputs((2, 3), (3,)), tag="vector-weight"),
    Row(F + "linear", inputs((3,), (3,)), tag="vectors"),
    Row(F + "linear", inputs((2, 3), (4, 3), (1,)), tag="one-bias"),
    Row(F + "bilinear", inputs((2, 3), (2, 4), (5, 3, 4), (5,))),
    Row(F + "bilinear", inputs((2, 6, 3), (2, 6, 4), (5, 3, 4)), tag="batched"),
]


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


def mixed(rng):
    return np.zeros((2, 3)), np.zeros((4, 3), np.float32)


ERRORS = [
    ErrorRow(
        F + "linear",
        lambda rng: (np.ones((2, 3)), None),
        TypeError,
        "argument 'weight'",
        tag="no weight",
    ),
    ErrorRow(
        F + "linear",
        lambda rng: (None, np.ones((2, 3))),
        TypeError,
        "argument 'input'",
        tag="no input",
    ),
    ErrorRow(
        F + "linear",
        zeros((2, 3), (4, 5)),
        RuntimeError,
        r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)",
    ),
    ErrorRow(
        F + "linear",
        zeros((2, 2, 3), (4, 5)),
        RuntimeError,
        r"mat1 and mat2 shapes cannot be multiplied \(4x3 and 5x4\)",
        tag="batched",
    ),
    ErrorRow(F + "linear", zeros((2, 3), (4, 3), (5,)), RuntimeError, "bias", tag="bias"),
    ErrorRow(
        F + "linear", mixed, RuntimeError, "same dtype, but got Double and Float", tag="dtype"
    ),
    ErrorRow(F + "linear", zeros((), (4, 3)), RuntimeError, "at least 1D", tag="scalar"),
    ErrorRow(F + "linear", zeros((2, 3), (2, 2, 3)), RuntimeError, "<= 2 dimensions", tag="3d"),
    ErrorRow(F + "bilinear", zeros((2, 3), (2, 5), (5, 3, 4)), RuntimeError, "input2 size"),
    ErrorRow(
        F + "bilinear", zeros((2, 3), (3, 4), (5, 3, 4)), RuntimeError, "at dim 0", tag="batch"
    ),
    ErrorRow(
        F + "bilinear", zeros((2, 3), (2, 4), (5, 3, 4), (4,)), RuntimeError, "bias", tag="bias"
    ),
]
