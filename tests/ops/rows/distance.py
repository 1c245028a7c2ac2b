"""Rows of `wengert.ops.distance`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


ROWS = [
    Row(F + "cosine_similarity", inputs((3, 4), (3, 4))),
    Row(F + "cosine_similarity", inputs((3, 4, 2), (4, 1)), {"dim": -2}, tag="broadcast"),
    Row(
        F + "cosine_similarity", inputs((3, 4), (3, 4)), {"eps": 4.0}, tag="eps", grad=False
    ),  # torch's derivative ignores the bound
    Row(F + "pairwise_distance", inputs((3, 4), (3, 4))),
    Row(F + "pairwise_distance", inputs((3, 4), (4,)), {"p": 3.0, "keepdim": True}, tag="cubic"),
    Row(F + "pairwise_distance", inputs((4,), (4,)), {"p": 1.0}, tag="vectors"),
    Row("cdist", inputs((3, 4), (5, 4))),
    Row("cdist", inputs((2, 3, 4), (1, 5, 4)), {"p": 1.0}, tag="one"),
    Row("cdist", inputs((3, 4), (5, 4)), {"p": 3.5}, tag="other"),
    Row("cdist", inputs((3, 4), (5, 4)), {"p": float("inf")}, tag="inf"),
    Row("cdist", inputs((3, 4), (5, 4)), {"p": 0.0}, tag="zero"),
    Row("cdist", inputs((2, 1, 3, 4), (3, 5, 4)), tag="broadcast"),
    Row("cdist", inputs((3, 0), (5, 0)), tag="no width", second=False),
    Row("cdist", inputs((0, 4), (5, 4)), {"p": 1.0}, tag="no rows", second=False),
    Row(F + "pdist", inputs((4, 3))),
    Row(F + "pdist", inputs((1, 3)), tag="no pairs", second=False),
    Row(F + "pdist", inputs((4, 3)), {"p": 1.0}, tag="one"),
]

ERRORS = [
    ErrorRow(F + "cosine_similarity", zeros((2, 3), (2, 4)), RuntimeError, "must match the size"),
    ErrorRow(
        F + "cosine_similarity",
        lambda rng: (np.zeros((2, 3), int),) * 2,
        RuntimeError,
        "expected common dtype to be floating point",
        tag="dtype",
    ),
    ErrorRow(F + "pairwise_distance", zeros((2, 3), (2, 4)), RuntimeError, "must match the size"),
    ErrorRow("cdist", zeros((2, 3), (2, 4)), RuntimeError, "same number of columns. X1: 3 X2: 4"),
    ErrorRow("cdist", zeros((3,), (2, 4)), RuntimeError, "at least 2D", tag="rank"),
    ErrorRow("cdist", zeros((2, 3), (2, 3)), RuntimeError, "non-negative p", {"p": -1.0}, tag="p"),
    ErrorRow("cdist", lambda rng: (np.zeros((2, 3), int),) * 2, RuntimeError, "X1 got: Long"),
    ErrorRow(
        "cdist",
        zeros((2, 3), (2, 3)),
        ValueError,
        "for compute_mode",
        {"compute_mode": "products"},
        "mode",
    ),
    ErrorRow(
        "cdist",
        lambda rng: (np.zeros((2, 3), complex),) * 2,
        RuntimeError,
        "ComplexDouble",
        tag="complex",
    ),
    ErrorRow(F + "pdist", zeros((3,)), RuntimeError, "only supports 2D"),
]
