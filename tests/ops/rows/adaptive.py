"""Rows of `wengert.ops.adaptive`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shape: int):
    return lambda rng: (np.zeros(shape),)


def maxima(rng):
    return rng.standard_normal((2, 3, 2, 2)), np.array([[0, 3], [8, 10]]) + np.zeros(
        (2, 3, 1, 1), int
    )


def index(value: int, dtype: str = "int64", shape: tuple[int, ...] = (1, 1, 2, 2)):
    return lambda rng: (np.zeros((1, 1, 2, 2)), np.full(shape, value, dtype))


ROWS = [
    Row(F + "adaptive_avg_pool1d", inputs((2, 3, 7)), {"output_size": 3}),
    Row(F + "adaptive_avg_pool2d", inputs((2, 3, 6, 8)), {"output_size": (2, 4)}),
    Row(F + "adaptive_avg_pool2d", inputs((3, 6, 8)), {"output_size": 1}, tag="whole"),
    Row(
        F + "adaptive_avg_pool2d",
        inputs((2, 3, 5, 7)),
        {"output_size": (None, 3)},
        tag="uneven",
        dtypes=("float32",),
    ),
    Row(F + "adaptive_avg_pool2d", inputs((2, 3, 2, 3)), {"output_size": (5, 4)}, tag="larger"),
    Row(
        F + "adaptive_avg_pool2d",
        inputs((2, 3, 2, 3)),
        {"output_size": (0, 1)},
        tag="nothing",
        grad=False,
    ),
    Row(F + "adaptive_avg_pool3d", inputs((1, 2, 4, 5, 3)), {"output_size": (2, 3, 1)}),
    Row(F + "adaptive_max_pool1d", inputs((2, 3, 7)), {"output_size": 3}),
    Row(
        F + "adaptive_max_pool2d",
        inputs((2, 3, 6, 8)),
        {"output_size": (2, 4), "return_indices": True},
    ),
    Row(
        F + "adaptive_max_pool2d",
        inputs((3, 5, 7)),
        {"output_size": (None, 3), "return_indices": True},
        tag="uneven",
    ),
    Row(F + "adaptive_max_pool3d", inputs((1, 2, 4, 5, 3)), {"output_size": 2}),
    Row(
        F + "max_unpool1d",
        lambda rng: (rng.standard_normal((2, 2)), np.array([[0, 3], [1, 2]])),
        {"kernel_size": 2},
    ),
    Row(F + "max_unpool2d", maxima, {"kernel_size": 2}),
    Row(F + "max_unpool2d", maxima, {"kernel_size": 2, "output_size": (2, 3, 5, 4)}, tag="size"),
    Row(
        F + "max_unpool3d",
        lambda rng: (
            rng.standard_normal((1, 1, 1, 1, 2)),
            np.array([3, 10]).reshape(1, 1, 1, 1, 2),
        ),
        {"kernel_size": 2},
    ),
]

ERRORS = [
    ErrorRow(
        F + "adaptive_avg_pool2d",
        zeros(1, 3, 5, 5),
        RuntimeError,
        "greater than or equal",
        {"output_size": -1},
    ),
    ErrorRow(
        F + "adaptive_avg_pool2d",
        zeros(1, 3, 5, 5),
        RuntimeError,
        "output_size must be 2",
        {"output_size": (1, 2, 3)},
        tag="tuple",
    ),
    ErrorRow(
        F + "adaptive_avg_pool2d",
        zeros(1, 3, 5, 5),
        TypeError,
        "output_size",
        {"output_size": (1.5, 1)},
        tag="float",
    ),
    ErrorRow(
        F + "adaptive_avg_pool2d",
        zeros(5),
        RuntimeError,
        "Expected 3D or 4D",
        {"output_size": 2},
        tag="rank",
    ),
    ErrorRow(
        F + "adaptive_avg_pool2d",
        lambda rng: (np.zeros((1, 1, 2, 2), int),),
        RuntimeError,
        "Long",
        {"output_size": 1},
        tag="dtype",
    ),
    ErrorRow(
        F + "adaptive_max_pool2d", zeros(1, 3, 0, 5), RuntimeError, "non-empty", {"output_size": 1}
    ),
    ErrorRow(
        F + "adaptive_max_pool2d",
        zeros(5, 5),
        RuntimeError,
        "Expected 3D or 4D",
        {"output_size": 1},
        tag="rank",
    ),
    ErrorRow(
        F + "max_unpool2d", index(99), RuntimeError, "invalid max index: 99", {"kernel_size": 2}
    ),
    ErrorRow(
        F + "max_unpool2d",
        index(-1),
        RuntimeError,
        "invalid max index: -1",
        {"kernel_size": 2},
        tag="negative",
    ),
    ErrorRow(
        F + "max_unpool2d",
        index(0, "int32"),
        RuntimeError,
        "should be type int64",
        {"kernel_size": 2},
        tag="dtype",
    ),
    ErrorRow(
        F + "max_unpool2d",
        index(0, shape=(1, 1, 2, 3)),
        RuntimeError,
        "same as that",
        {"kernel_size": 2},
        tag="shape",
    ),
    ErrorRow(
        F + "max_unpool2d",
        index(0),
        ValueError,
        "invalid output_size",
        {"kernel_size": 2, "output_size": (9, 9)},
        tag="size",
    ),
]
