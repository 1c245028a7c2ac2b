"""Rows of `wengert.ops.softmax`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs
from tests.ops.rows.reduction import ints, transposed

FLOATS = ("float32", "float16", "bfloat16")


def large(rng: np.random.Generator) -> tuple[Any, ...]:
    return 1000 * rng.standard_normal((3, 4)), 1


ROWS = [
    row
    for name in ("softmax", "log_softmax", "nn.functional.softmax", "nn.functional.log_softmax",
                 "nn.functional.softmin")
    for row in (
        Row(name, inputs((3, 4)), {"dim": 1}, dtypes=FLOATS),
        Row(name, inputs((2, 3, 4)), {"dim": -2}, "inner", dtypes=FLOATS),
        Row(name, transposed(3, 4), {"dim": 0}, "strided"),
        Row(name, inputs((3,)), {"dim": 0}, "vector"),
        Row(name, inputs(()), {"dim": 0}, "scalar", second=False),
        Row(name, inputs((0, 3)), {"dim": 0}, "empty", second=False),
        Row(name, large, tag="large", second=False, dtypes=("float32",)),
        Row(name, ints(2, 3), {"dim": 0, "dtype": "torch.float64"}, "dtype", grad=False),
    )
] + [
    Row("Tensor.softmax", lambda rng: (rng.standard_normal((3, 4)), -1)),
    Row("Tensor.log_softmax", lambda rng: (rng.standard_normal((3, 4)), -1)),
    Row("softmax", lambda rng: (np.array([-np.inf, 0.0, 1.0]), 0), tag="masked", grad=False),
    Row("logsumexp", inputs((3, 4)), {"dim": 1}, dtypes=FLOATS),
    Row("logsumexp", inputs((2, 3, 4)), {"dim": (0, -1), "keepdim": True}, "dims"),
    Row("logsumexp", inputs((0, 3)), {"dim": 0}, "empty", grad=False),
    Row("logsumexp", ints(2, 3), {"dim": 0}, "int", grad=False),
    Row("logsumexp", large, tag="large", second=False),
    Row("logsumexp", lambda rng: (np.array([-np.inf, -np.inf]), 0), tag="infinite", grad=False),
    Row("Tensor.logsumexp", lambda rng: (rng.standard_normal((3, 4)), [0])),
]  # fmt: skip

X = np.zeros((2, 3))
ERRORS = [
    ErrorRow("softmax", lambda rng: (X, 3), IndexError, "Dimension out of range"),
    ErrorRow("log_softmax", lambda rng: (X, -3), IndexError, "Dimension out of range"),
    ErrorRow("softmax", lambda rng: (X.astype(int), 0), NotImplementedError, "Long"),
    ErrorRow("logsumexp", lambda rng: (X, 2), IndexError, "Dimension out of range"),
    ErrorRow("logsumexp", lambda rng: (X, None), TypeError, "dim"),
]
