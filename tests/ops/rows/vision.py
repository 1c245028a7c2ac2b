"""Rows of `wengert.ops.vision`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shape: int):
    return lambda rng: (np.zeros(shape),)


ROWS = [
    Row(F + "pixel_shuffle", inputs((2, 8, 3, 2)), {"upscale_factor": 2}),
    Row(F + "pixel_shuffle", inputs((9, 1, 2)), {"upscale_factor": 3}, tag="unbatched"),
    Row(F + "pixel_unshuffle", inputs((2, 3, 4, 6)), {"downscale_factor": 2}),
    Row(F + "channel_shuffle", inputs((2, 6, 3, 2)), {"groups": 3}),
    Row(F + "unfold", inputs((2, 3, 5, 6)), {"kernel_size": (2, 3)}),
    Row(
        F + "unfold",
        inputs((3, 5, 6)),
        {"kernel_size": 2, "dilation": 2, "padding": 1, "stride": (1, 2)},
        tag="unbatched",
    ),
    Row(F + "fold", inputs((2, 12, 8)), {"output_size": (3, 5), "kernel_size": 2}),
    Row(
        F + "fold",
        inputs((4, 6)),
        {"output_size": (3, 4), "kernel_size": 2, "padding": 1, "stride": 2, "dilation": (1, 1)},
        tag="unbatched",
    ),
]

ERRORS = [
    ErrorRow(
        F + "pixel_shuffle",
        zeros(1, 3, 2, 2),
        RuntimeError,
        "divisible by the square",
        {"upscale_factor": 2},
    ),
    ErrorRow(
        F + "pixel_shuffle",
        zeros(2, 2),
        RuntimeError,
        "at least 3 dimensions",
        {"upscale_factor": 2},
        tag="rank",
    ),
    ErrorRow(
        F + "pixel_shuffle",
        zeros(1, 4, 2, 2),
        RuntimeError,
        "positive upscale_factor",
        {"upscale_factor": 0},
        tag="zero",
    ),
    ErrorRow(
        F + "pixel_unshuffle",
        zeros(1, 3, 3, 2),
        RuntimeError,
        "height to be divisible",
        {"downscale_factor": 2},
    ),
    ErrorRow(F + "channel_shuffle", zeros(1, 3, 2), RuntimeError, "groups", {"groups": 2}),
    ErrorRow(
        F + "unfold", zeros(1, 3, 2, 2), RuntimeError, "sliding blocks as", {"kernel_size": 3}
    ),
    ErrorRow(F + "unfold", zeros(2, 2), IndexError, "out of range", {"kernel_size": 1}),
    ErrorRow(
        F + "unfold",
        zeros(1, 3, 4, 4),
        RuntimeError,
        "greater than zero",
        {"kernel_size": 0},
        tag="zero",
    ),
    ErrorRow(
        F + "fold",
        zeros(1, 5, 4),
        RuntimeError,
        "product of kernel_size",
        {"output_size": (3, 3), "kernel_size": 2},
    ),
    ErrorRow(
        F + "fold",
        zeros(1, 4, 5),
        RuntimeError,
        "number of sliding blocks",
        {"output_size": (3, 3), "kernel_size": 2},
        tag="blocks",
    ),
    ErrorRow(
        F + "fold",
        zeros(1, 1, 4, 4),
        RuntimeError,
        "Expected 2D or 3D",
        {"output_size": (3, 3), "kernel_size": 2},
        tag="rank",
    ),
]
