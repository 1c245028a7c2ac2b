"""Rows of `wengert.ops.interpolate`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

F = "nn.functional."


def zeros(*shape: int):
    return lambda rng: (np.zeros(shape),)


IMAGE = inputs((2, 3, 5, 4))

ROWS = [
    Row(F + "interpolate", inputs((2, 3, 5)), {"size": 8}, tag="nearest1"),
    Row(F + "interpolate", IMAGE, {"scale_factor": 2}, tag="nearest2"),
    Row(F + "interpolate", IMAGE, {"scale_factor": (0.7, 1.5)}, tag="nearest-scale"),
    Row(
        F + "interpolate",
        IMAGE,
        {"scale_factor": 1.3, "recompute_scale_factor": True},
        tag="recompute",
    ),
    Row(F + "interpolate", IMAGE, {"size": (5, 4)}, tag="same"),
    Row(F + "interpolate", inputs((1, 2, 3, 4, 2)), {"size": (5, 2, 3)}, tag="nearest3"),
    Row(F + "interpolate", IMAGE, {"size": (7, 3), "mode": "nearest-exact"}, tag="exact"),
    Row(F + "interpolate", inputs((2, 3, 5)), {"size": 8, "mode": "linear"}, tag="linear"),
    Row(
        F + "interpolate",
        inputs((2, 3, 5)),
        {"size": 8, "mode": "linear", "align_corners": True},
        tag="linear-corners",
    ),
    Row(
        F + "interpolate",
        IMAGE,
        {"scale_factor": 1.6, "mode": "bilinear"},
        tag="bilinear",
        dtypes=("float32",),
    ),
    Row(
        F + "interpolate",
        IMAGE,
        {"size": (3, 7), "mode": "bilinear", "align_corners": True},
        tag="bilinear-corners",
    ),
    Row(
        F + "interpolate",
        IMAGE,
        {"size": (1, 7), "mode": "bilinear", "align_corners": True},
        tag="bilinear-one",
    ),
    Row(F + "interpolate", IMAGE, {"size": (3, 7), "mode": "bicubic"}, tag="bicubic"),
    Row(
        F + "interpolate",
        IMAGE,
        {"scale_factor": 1.7, "mode": "bicubic", "align_corners": True},
        tag="bicubic-corners",
    ),
    Row(
        F + "interpolate",
        IMAGE,
        {"size": (2, 7), "mode": "bilinear", "antialias": True},
        tag="antialias",
        rtol=1e-6,
    ),
    Row(
        F + "interpolate",
        IMAGE,
        {"size": (2, 3), "mode": "bicubic", "antialias": True},
        tag="antialias-bicubic",
        rtol=1e-6,
    ),
    Row(
        F + "interpolate",
        inputs((1, 2, 3, 4, 2)),
        {"size": (5, 2, 3), "mode": "trilinear"},
        tag="trilinear",
    ),
    Row(F + "interpolate", IMAGE, {"size": (2, 7), "mode": "area"}, tag="area"),
]

ERRORS = [
    ErrorRow(F + "interpolate", zeros(1, 1, 4), ValueError, "either size or scale_factor"),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        ValueError,
        "only one of size or scale_factor",
        {"size": 2, "scale_factor": 2.0},
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        NotImplementedError,
        "Got 3D input, but bilinear mode needs 4D input",
        {"size": 2, "mode": "bilinear"},
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        NotImplementedError,
        "Only 3D, 4D and 5D",
        {"size": 2, "mode": "foo"},
        tag="mode",
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 4),
        NotImplementedError,
        "Only 3D, 4D and 5D",
        {"size": 2},
        tag="rank",
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4, 4),
        ValueError,
        "same number of spatial dimensions",
        {"size": (2, 2, 2)},
        tag="size",
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4, 4),
        ValueError,
        "same number of spatial dimensions",
        {"scale_factor": (2.0, 2.0, 2.0)},
        tag="scale",
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        ValueError,
        "align_corners option",
        {"size": 2, "align_corners": True},
        tag="corners",
    ),
    ErrorRow(F + "interpolate", zeros(1, 1, 4), RuntimeError, "greater than 0", {"size": 0}),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        ValueError,
        "not meaningful",
        {"size": 2, "recompute_scale_factor": True},
        tag="recompute",
    ),
    ErrorRow(
        F + "interpolate",
        zeros(1, 1, 4),
        ValueError,
        "Anti-alias",
        {"size": 2, "mode": "linear", "antialias": True},
        tag="antialias",
    ),
    ErrorRow(F + "interpolate", zeros(1, 1, 4), TypeError, "size", {"size": 2.5}),
    *(
        ErrorRow(
            F + "interpolate",
            lambda rng, dtype=dtype: (np.zeros((1, 1, 4, 4), dtype),),
            NotImplementedError,
            "not implemented for",
            {"size": 2, "mode": mode},
            tag=f"{mode}-{np.dtype(dtype)}",
        )
        for mode, dtype in (
            ("bilinear", np.int64),
            ("bicubic", np.int32),
            ("area", np.int64),
            ("area", np.uint8),
        )
    ),
]
