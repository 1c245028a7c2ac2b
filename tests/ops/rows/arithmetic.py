"""Rows of `wengert.ops.arithmetic`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

ROWS = [
    Row("mul", inputs((3, 4), (3, 4)), dtypes=("float32", "float16", "int64", "complex64")),
    Row("mul", inputs((3, 4), (4,)), tag="broadcast"),
    Row("mul", lambda rng: (rng.standard_normal((2, 3)), 2.5), tag="number"),
]

ERRORS = [
    ErrorRow("mul", lambda rng: (np.zeros((2, 3)), np.zeros(4)), RuntimeError, "must match"),
]
