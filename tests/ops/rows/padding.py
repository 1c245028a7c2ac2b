"""Rows of `wengert.ops.padding`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shape: int):
    return lambda rng: (np.zeros(shape),)


ROWS = [
    Row(F + "pad", inputs((2, 3)), {"pad": (1, 2)}, dtypes=("float32", "int64", "complex64")),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": [1, 2, 0, 3], "value": 1.5}, tag="value"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (-1, 2, 1, -2), "value": 2.0}, tag="crop"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (-3, -1)}, tag="crop-all"),
    Row(F + "pad", inputs((2, 3)), {"pad": ()}, tag="nothing"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (2, 1), "mode": "reflect"}, tag="reflect1"),
    Row(F + "pad", inputs((2, 3, 4, 5)), {"pad": (3, 0, 1, 2), "mode": "reflect"}, tag="reflect2"),
    Row(
        F + "pad",
        inputs((2, 3, 2, 5)),
        {"pad": (1, 2, 1, 1, 0, 2), "mode": "reflect"},
        tag="reflect3",
    ),
    Row(F + "pad", inputs((3, 4)), {"pad": (-1, 2), "mode": "reflect"}, tag="reflect-crop"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (5, 1), "mode": "replicate"}, tag="replicate1"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (5, 1, 0, 2), "mode": "replicate"}, tag="replicate2"),
    Row(
        F + "pad",
        inputs((1, 2, 2, 3, 4)),
        {"pad": (1, 1, 2, 1, 1, 0), "mode": "replicate"},
        tag="replicate3",
    ),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (4, 2), "mode": "circular"}, tag="circular1"),
    Row(
        F + "pad", inputs((2, 3, 4, 5)), {"pad": (1, 2, 0, 4), "mode": "circular"}, tag="circular2"
    ),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (-1, 2), "mode": "circular"}, tag="circular-crop"),
    Row(F + "pad", inputs((2, 3, 4)), {"pad": (2, -1), "mode": "circular"}, tag="circular-crop2"),
]

ERRORS = [
    ErrorRow(F + "pad", zeros(2, 3), RuntimeError, "divisible by 2", {"pad": (1,)}),
    ErrorRow(
        F + "pad", zeros(2), RuntimeError, "two times the input", {"pad": (1, 1, 1, 1)}, tag="long"
    ),
    ErrorRow(F + "pad", zeros(2, 3), TypeError, "tuple of ints", {"pad": (1.5, 1)}),
    ErrorRow(
        F + "pad",
        zeros(2, 3),
        NotImplementedError,
        "Unrecognised padding mode",
        {"pad": (1, 1), "mode": "foo"},
    ),
    ErrorRow(
        F + "pad", zeros(1, 2, 3), RuntimeError, "non-negative", {"pad": (-2, -2)}, tag="crop"
    ),
    ErrorRow(
        F + "pad",
        zeros(2, 3),
        RuntimeError,
        "Padding size should be less",
        {"pad": (3, 1), "mode": "reflect"},
        tag="reflect",
    ),
    ErrorRow(
        F + "pad",
        zeros(1, 2, 3),
        RuntimeError,
        "wrapping around more than once",
        {"pad": (4, 1), "mode": "circular"},
        tag="circular",
    ),
    ErrorRow(
        F + "pad",
        zeros(3),
        NotImplementedError,
        "not supported for 1D",
        {"pad": (1, 1), "mode": "replicate"},
        tag="rank",
    ),
    ErrorRow(
        F + "pad",
        zeros(2, 3),
        RuntimeError,
        "doesn't take in value",
        {"pad": (1, 1), "mode": "reflect", "value": 1.0},
        tag="value",
    ),
]
