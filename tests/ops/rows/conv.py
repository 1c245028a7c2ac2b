"""Rows of `wengert.ops.conv`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."
IMAGE, KERNEL = (2, 4, 6, 5), (6, 4, 3, 2)


def zeros(*shapes: tuple[int, ...]):
    return lambda rng: tuple(np.zeros(s) for s in shapes)


ROWS = [
    Row(F + "conv1d", inputs((2, 3, 7), (4, 3, 3), (4,))),
    Row(F + "conv1d", inputs((3, 7), (4, 3, 3)), {"stride": 2, "padding": 1}, tag="unbatched"),
    Row(F + "conv1d", inputs((2, 3, 9), (4, 3, 3)), {"padding": "same", "dilation": 2}, tag="same"),
    Row(F + "conv2d", inputs(IMAGE, KERNEL, (6,)), dtypes=("float32", "complex64")),
    Row(F + "conv2d", inputs(IMAGE, KERNEL), {"stride": 2, "padding": (1, 2)}, tag="stride"),
    Row(F + "conv2d", inputs((1, 2, 7, 8), (2, 2, 3, 3)), {"stride": (3, 2)}, tag="left-over"),
    Row(
        F + "conv2d",
        inputs((2, 4, 8, 7), (6, 2, 3, 2), (6,)),
        {"groups": 2, "dilation": (2, 1), "padding": 1},
        tag="groups",
    ),
    Row(F + "conv2d", inputs((2, 4, 5, 5), (8, 1, 3, 3)), {"groups": 4}, tag="depthwise"),
    Row(F + "conv2d", inputs((2, 4, 3, 3), (5, 4, 1, 1), (5,)), tag="pointwise"),
    Row(F + "conv2d", inputs((3, 4, 17, 17), (5, 4, 1, 1)), {"stride": 2}, tag="pointwise-stride"),
    Row(F + "conv2d", inputs((4, 5, 5), (2, 4, 3, 3), (2,)), {"padding": "valid"}, tag="unbatched"),
    Row(F + "conv2d", inputs((0, 4, 5, 5), (2, 4, 3, 3)), tag="no-samples"),
    Row(
        F + "conv2d",
        inputs((1, 2, 20, 20), (3, 2, 3, 3)),
        {"padding": "same"},
        tag="one-by-one",
        second=False,
    ),
    Row(F + "conv3d", inputs((1, 2, 4, 5, 3), (3, 2, 2, 3, 2), (3,)), {"padding": (1, 0, 1)}),
    Row(
        F + "conv3d",
        inputs((2, 4, 4, 3), (2, 1, 2, 2, 2)),
        {"stride": 2, "groups": 2},
        tag="unbatched",
    ),
    Row(F + "conv_transpose1d", inputs((2, 3, 4), (3, 2, 3), (2,)), {"stride": 2}),
    Row(F + "conv_transpose1d", inputs((3, 4), (3, 2, 3)), {"padding": 1}, tag="unbatched"),
    Row(F + "conv_transpose2d", inputs((2, 4, 3, 4), (4, 3, 3, 2), (3,)), dtypes=("float32",)),
    Row(
        F + "conv_transpose2d",
        inputs((2, 4, 3, 4), (4, 3, 3, 2), (6,)),
        {"stride": (2, 3), "padding": 1, "output_padding": (1, 2), "groups": 2, "dilation": (2, 1)},
        tag="all",
    ),
    Row(F + "conv_transpose3d", inputs((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), (2,)), {"stride": 2}),
]

IN = zeros((1, 4, 5, 5), (2, 3, 3, 3))
OK = zeros((1, 3, 5, 5), (2, 3, 3, 3))


def mixed(rng):
    return np.zeros((1, 3, 5, 5)), np.zeros((2, 3, 3, 3), np.float32)


ERRORS = [
    ErrorRow(
        F + "conv2d",
        IN,
        RuntimeError,
        r"Given groups=1, weight of size \[2, 3, 3, 3\], expected input\[1, 4, 5, 5\] to have"
        " 3 channels, but got 4 channels instead",
    ),
    ErrorRow(
        F + "conv2d",
        zeros((1, 3, 2, 2), (2, 3, 3, 3)),
        RuntimeError,
        "Kernel size can't be greater than actual input size",
        tag="small",
    ),
    ErrorRow(F + "conv2d", zeros((3,), (2, 3, 3, 3)), RuntimeError, "Expected 3D", tag="rank"),
    ErrorRow(F + "conv2d", zeros((1, 3, 5, 5), (2, 3, 3)), RuntimeError, "weight", tag="weight"),
    ErrorRow(
        F + "conv2d",
        zeros((1, 4, 5, 5), (3, 2, 3, 3)),
        RuntimeError,
        "divisible by 2 at dimension 0",
        {"groups": 2},
        tag="groups",
    ),
    ErrorRow(F + "conv2d", OK, RuntimeError, "non-positive groups", {"groups": 0}, tag="no-groups"),
    ErrorRow(
        F + "conv2d",
        zeros((1, 3, 5, 5), (2, 3, 3, 3), (3,)),
        RuntimeError,
        "bias to be 1-dimensional with 2 elements",
        tag="bias",
    ),
    ErrorRow(F + "conv2d", OK, RuntimeError, "non-positive stride", {"stride": 0}, tag="stride"),
    ErrorRow(
        F + "conv2d", OK, RuntimeError, "expected stride", {"stride": (1, 1, 1)}, tag="strides"
    ),
    ErrorRow(F + "conv2d", OK, RuntimeError, "negative padding", {"padding": -1}, tag="padding"),
    ErrorRow(F + "conv2d", OK, RuntimeError, "dilation should", {"dilation": 0}, tag="dilation"),
    ErrorRow(
        F + "conv2d", OK, RuntimeError, "strided", {"padding": "same", "stride": 2}, tag="same"
    ),
    ErrorRow(
        F + "conv2d", OK, RuntimeError, "Invalid padding string", {"padding": "foo"}, tag="foo"
    ),
    ErrorRow(F + "conv2d", OK, TypeError, "stride", {"stride": 1.5}, tag="float"),
    ErrorRow(F + "conv2d", mixed, RuntimeError, "scalar type Double but found Float", tag="dtype"),
    ErrorRow(F + "conv2d", lambda rng: (np.zeros((1, 3, 5, 5)), 1.0), TypeError, "weight"),
    ErrorRow(F + "conv_transpose2d", OK, RuntimeError, "to have 2 channels, but got 3"),
    ErrorRow(
        F + "conv_transpose2d",
        zeros((1, 2, 5, 5), (2, 3, 3, 3)),
        RuntimeError,
        "output padding must be smaller",
        {"output_padding": 1},
        tag="output_padding",
    ),
    ErrorRow(
        F + "conv_transpose2d",
        zeros((1, 2, 5, 5), (2, 3, 3, 3), (5,)),
        RuntimeError,
        "bias to be 1-dimensional with 3 elements",
        tag="bias",
    ),
    ErrorRow(
        F + "conv_transpose2d",
        zeros((1, 2, 5, 5), (2, 3, 3, 3)),
        TypeError,
        "padding",
        {"padding": "same"},
        tag="same",
    ),
    ErrorRow(
        F + "conv_transpose2d",
        zeros((1, 2, 1, 1), (2, 3, 1, 1)),
        RuntimeError,
        "Output size is too small",
        {"padding": 2},
        tag="small",
    ),
]
