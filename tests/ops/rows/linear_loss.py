"""Rows of `wengert.ops.linear_loss`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

NAME = "nn.functional.linear_cross_entropy"
CLASSES = np.array([1, 0, 3])


def wrong(input: tuple[int, ...], weight: tuple[int, ...], kind: type, match: str, target=CLASSES):
    """A call with zeros of these shapes."""
    return ErrorRow(
        NAME, lambda rng: (np.zeros(input), np.zeros(weight), target), kind, match, tag=match
    )


ROWS = [
    Row(
        NAME,
        lambda rng: (rng.standard_normal((3, 2)), rng.standard_normal((4, 2)), CLASSES),
        {"reduction": r},
        tag=r,
    )
    for r in ("none", "sum", "mean")
]

ERRORS = [
    wrong((3, 2), (4, 3), RuntimeError, "last dimensions"),
    wrong((4, 2), (4, 2), ValueError, "batch_size"),
    wrong((2, 3, 2), (4, 2), RuntimeError, "dimensionality 1 or 2, got 3", CLASSES[:2]),
    wrong((), (4, 2), RuntimeError, "dimensionality 1 or 2, got 0"),
    wrong((3, 2), (2,), RuntimeError, "at least 2, got 1"),
    wrong((3, 2), (), RuntimeError, "at least 2, got 0"),
    wrong((2,), (4, 3, 2), RuntimeError, "batched input"),
    *(
        ErrorRow(
            NAME,
            lambda rng: (np.zeros((3, 2)), np.zeros((4, 2)), CLASSES),
            RuntimeError,
            r"linear_bias shape \(4,\)",
            {"linear_bias": np.ones(shape)},
            tag=f"bias of shape {shape}",
        )
        for shape in ((3,), (4, 1))
    ),
]
