"""Rows of `wengert.ops.dropout`: what does not depend on chance; the rest is in test_dropout."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."

ROWS = [
    Row(F + "dropout", inputs((3, 4)), {"p": 0.0}),
    Row(F + "dropout", inputs((3, 4)), {"p": 1.0}, tag="all"),
    Row(F + "dropout", inputs((3, 4)), {"training": False}, tag="eval"),
    Row(F + "dropout1d", inputs((2, 3, 4)), {"p": 1.0}),
    Row(F + "dropout1d", inputs((3, 4)), {"training": False}, tag="unbatched"),
    Row(F + "dropout2d", inputs((2, 3, 4, 5)), {"p": 1.0}),
    Row(F + "dropout3d", inputs((2, 3, 4, 5, 2)), {"p": 0.0}),
    Row(F + "alpha_dropout", inputs((3, 4)), {"p": 0.3}),
    Row(F + "alpha_dropout", inputs((3, 4)), {"p": 0.0, "training": True}, tag="none"),
    Row(F + "feature_alpha_dropout", inputs((3, 4)), {"p": 0.3}),
]


def ones(*shape: int):
    return lambda rng: (np.ones(shape),)


ERRORS = [
    ErrorRow(
        F + "dropout",
        ones(3),
        ValueError,
        "dropout probability has to be between 0 and 1, but got 2.0",
        {"p": 2.0},
    ),
    ErrorRow(F + "dropout", lambda rng: (1.0,), TypeError, "input"),
    ErrorRow(F + "dropout1d", ones(3), RuntimeError, "Expected 2D or 3D input"),
    ErrorRow(F + "alpha_dropout", ones(3), ValueError, "between 0 and 1", {"p": -1.0}),
    ErrorRow(
        F + "feature_alpha_dropout",
        ones(3),
        RuntimeError,
        "at least 2 dimensions",
        {"training": True},
    ),
]
