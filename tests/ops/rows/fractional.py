"""Rows of `wengert.ops.fractional`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

NAME = "nn.functional.fractional_max_pool"


def sampled(shape, *args):
    """An input (batch, channel, ...), arguments, and where the windows begin."""

    def make(rng):
        return (rng.standard_normal(shape), *args, rng.random((*shape[:2], len(shape) - 2)))

    return make


def unbatched(rng):
    return rng.standard_normal((3, 6, 7)), 2, 4, None, False, rng.random((1, 3, 2))


# PyTorch's samples cannot want gradients. Those of maxima are tested in `pool`.
ROWS = [
    Row(NAME + "2d", sampled((2, 3, 6, 7), 2, (4, 5), None, False), grad=False),
    Row(NAME + "2d", sampled((2, 3, 6, 7), (2, 3), (1, 3), None, True), grad=False, tag="indices"),
    Row(NAME + "2d", sampled((2, 3, 6, 7), 2, None, (0.5, 0.6), False), grad=False, tag="ratio"),
    Row(NAME + "2d", unbatched, grad=False, tag="unbatched"),
    Row(NAME + "3d", sampled((2, 2, 4, 5, 6), 2, (2, 3, 3), None, True), grad=False),
    Row(
        NAME + "3d", sampled((2, 2, 4, 5, 6), (1, 2, 3), None, 0.5, False), grad=False, tag="ratio"
    ),
    Row(NAME + "3d", sampled((0, 2, 4, 5, 6), 2, 2, None, False), grad=False, tag="no samples"),
]


def zeros(shape, dtype=float):
    return lambda rng: (np.zeros(shape, dtype), 2)


ERRORS = [
    ErrorRow(NAME + "2d", zeros((1, 4, 4)), ValueError, "output_size or an output_ratio"),
    ErrorRow(NAME + "2d", zeros((1, 4, 4)), RuntimeError, "too large", {"output_size": 4}),
    ErrorRow(NAME + "3d", zeros((1, 4, 4, 4)), RuntimeError, "too large", {"output_size": 4}),
    ErrorRow(NAME + "2d", zeros((1, 0, 4)), RuntimeError, "non-empty", {"output_size": 3}, "empty"),
    ErrorRow(
        NAME + "2d", zeros((1, 4, 4)), RuntimeError, "output_size must", {"output_size": (1, 2, 3)},
        "sizes",
    ),
    ErrorRow(
        NAME + "2d", zeros((1, 4, 4), int), NotImplementedError, "not implemented",
        {"output_size": 2}, "ints",
    ),
    ErrorRow(
        NAME + "2d", zeros((1, 4, 4)), RuntimeError, "_random_samples of shape",
        {"output_size": 2, "_random_samples": np.zeros((1, 1, 3))}, "samples",
    ),
]  # fmt: skip
