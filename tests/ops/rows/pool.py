"""Rows of `wengert.ops.pool`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shape: int):
    return lambda rng: (np.zeros(shape),)


ROWS = [
    Row(F + "max_pool1d", inputs((2, 3, 7)), {"kernel_size": 2}),
    Row(
        F + "max_pool1d",
        inputs((3, 7)),
        {"kernel_size": 3, "stride": 2, "padding": 1},
        tag="unbatched",
    ),
    Row(
        F + "max_pool1d",
        inputs((2, 3, 7)),
        {"kernel_size": 2, "return_indices": True},
        tag="indices",
    ),
    Row(F + "max_pool2d", inputs((2, 3, 6, 7)), {"kernel_size": 2}, dtypes=("float32", "int64")),
    Row(
        F + "max_pool2d",
        inputs((2, 3, 6, 7)),
        {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0), "return_indices": True},
        tag="overlap",
    ),
    Row(
        F + "max_pool2d",
        inputs((3, 7, 8)),
        {"kernel_size": 3, "stride": 2, "dilation": 2, "ceil_mode": True, "return_indices": True},
        tag="ceil",
    ),
    Row(
        F + "max_pool2d",
        inputs((1, 2, 6, 6)),
        {"kernel_size": 3, "dilation": 2, "padding": 1, "return_indices": True},
        tag="dilation",
    ),
    Row(F + "max_pool2d", inputs((0, 3, 4, 4)), {"kernel_size": 2}, tag="no-samples"),
    Row(F + "max_pool3d", inputs((1, 2, 4, 5, 3)), {"kernel_size": 2, "padding": 1}),
    Row(
        F + "max_pool3d",
        inputs((2, 4, 5, 3)),
        {"kernel_size": (2, 3, 1), "return_indices": True},
        tag="indices",
    ),
    Row(F + "avg_pool1d", inputs((2, 3, 7)), {"kernel_size": 3, "stride": 2, "padding": 1}),
    Row(
        F + "avg_pool1d",
        inputs((3, 7)),
        {"kernel_size": [2], "count_include_pad": False},
        tag="unbatched",
    ),
    Row(F + "avg_pool2d", inputs((2, 3, 6, 7)), {"kernel_size": 2}, dtypes=("float32",)),
    Row(
        F + "avg_pool2d",
        inputs((2, 3, 6, 7)),
        {"kernel_size": (3, 2), "stride": 2, "padding": 1, "ceil_mode": True},
        tag="ceil",
    ),
    Row(
        F + "avg_pool2d",
        inputs((2, 3, 6, 7)),
        {
            "kernel_size": 3,
            "stride": 2,
            "padding": 1,
            "ceil_mode": True,
            "count_include_pad": False,
        },
        tag="inside",
    ),
    Row(
        F + "avg_pool2d",
        inputs((3, 6, 7)),
        {"kernel_size": 3, "divisor_override": 2},
        tag="divisor",
    ),
    Row(F + "avg_pool2d", inputs((2, 3, 4, 5)), {"kernel_size": (4, 5)}, tag="whole"),
    Row(F + "avg_pool3d", inputs((1, 2, 4, 5, 3)), {"kernel_size": 2, "stride": 1, "padding": 1}),
    Row(
        F + "lp_pool1d",
        inputs((2, 3, 7), low=0.5),
        {"norm_type": 3.0, "kernel_size": 2, "stride": 2},
    ),
    Row(F + "lp_pool3d", inputs((2, 3, 4, 4, 5)), {"norm_type": 2, "kernel_size": (2, 3, 2)}),
    Row(F + "lp_pool2d", inputs((2, 3, 6, 7)), {"norm_type": 2, "kernel_size": (2, 3)}),
    Row(
        F + "lp_pool2d",
        inputs((2, 3, 7, 7)),
        {"norm_type": 2.0, "kernel_size": 2, "ceil_mode": True},
        tag="ceil",
    ),
]

IMAGE = zeros(1, 3, 5, 5)

ERRORS = [
    ErrorRow(F + "max_pool2d", IMAGE, RuntimeError, "kernel_size", {"kernel_size": 0}),
    ErrorRow(
        F + "max_pool2d",
        IMAGE,
        RuntimeError,
        "at most half of kernel size",
        {"kernel_size": 2, "padding": 2},
        tag="padding",
    ),
    ErrorRow(
        F + "max_pool2d",
        IMAGE,
        RuntimeError,
        "non-negative",
        {"kernel_size": 2, "padding": -1},
        tag="negative",
    ),
    ErrorRow(
        F + "max_pool2d",
        IMAGE,
        RuntimeError,
        "stride should not be zero",
        {"kernel_size": 2, "stride": 0},
        tag="stride",
    ),
    ErrorRow(
        F + "max_pool2d",
        IMAGE,
        RuntimeError,
        "dilation should be greater",
        {"kernel_size": 2, "dilation": 0},
        tag="dilation",
    ),
    ErrorRow(
        F + "max_pool2d",
        IMAGE,
        RuntimeError,
        "tuple of 2 ints",
        {"kernel_size": (2, 2, 2)},
        tag="tuple",
    ),
    ErrorRow(F + "max_pool2d", IMAGE, TypeError, "kernel_size", {"kernel_size": 2.0}, tag="float"),
    ErrorRow(
        F + "max_pool2d",
        zeros(5, 5),
        RuntimeError,
        "Expected 3D or 4D",
        {"kernel_size": 2},
        tag="rank",
    ),
    ErrorRow(
        F + "max_pool2d",
        zeros(1, 0, 5, 5),
        RuntimeError,
        "non-empty",
        {"kernel_size": 2},
        tag="empty",
    ),
    ErrorRow(
        F + "max_pool2d",
        zeros(1, 3, 1, 1),
        RuntimeError,
        "Output size is too small",
        {"kernel_size": 2},
        tag="small",
    ),
    ErrorRow(F + "max_pool1d", zeros(5), RuntimeError, "Expected 2D or 3D", {"kernel_size": 2}),
    ErrorRow(
        F + "avg_pool2d",
        IMAGE,
        RuntimeError,
        "divisor must be not zero",
        {"kernel_size": 2, "divisor_override": 0},
    ),
    ErrorRow(
        F + "avg_pool2d", zeros(3, 1, 1), RuntimeError, "too small", {"kernel_size": 2}, tag="small"
    ),
    ErrorRow(F + "avg_pool1d", zeros(5), RuntimeError, "Expected 2D or 3D", {"kernel_size": 2}),
]
