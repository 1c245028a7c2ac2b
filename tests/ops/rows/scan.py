"""Rows of `wengert.ops.scan`."""

from typing import Any

import numpy as np

from tests.ops.rows import ErrorRow, Rng, Row, inputs
from tests.ops.rows.reduction import bools, complexes, holes, ints, transposed, with_zeros


def along(*values: Any) -> Any:
    return lambda rng: (rng.standard_normal((3, 4)), *values)


def leading_infinity(rng: Rng) -> tuple[np.ndarray, int]:
    return np.array([-np.inf, -np.inf, 1.0, 2.0]), 0


ROWS = [
    row
    for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp")
    for row in (
        Row(name, along(0)),
        Row(name, along(-1), tag="last"),
        Row(name, lambda rng: (*transposed(3, 4)(rng), 1), tag="strided"),
        Row(name, lambda rng: (rng.standard_normal(()), 0), tag="scalar"),
        Row(name, lambda rng: (np.zeros((0, 3)), 0), tag="empty", second=False),
        Row(f"Tensor.{name}", along(1), tag="method"),
    )
] + [
    Row("cumsum", lambda rng: (*bools(3, 4)(rng), 0), tag="bool", grad=False),
    Row("cumsum", along(0), tag="half", dtypes=("float16", "bfloat16", "int32", "int64")),
    Row("cumsum", lambda rng: (*ints(3, 4)(rng), 0), {"dtype": "torch.float64"}, "dtype",
        grad=False),
    Row("cumsum", lambda rng: (*complexes(3, 2)(rng), 0), tag="complex", second=False, dtypes=()),
    Row("Tensor.cumsum_", along(1)),
    # Its derivative needs the input, which the in-place form overwrites.
    Row("Tensor.cumprod_", along(1)),
    Row("cumprod", lambda rng: (*with_zeros(rng), 0), tag="zeros"),
    Row("cumprod", lambda rng: (*with_zeros(rng), 1), tag="zeros-last"),
    Row("cumprod", lambda rng: (*ints(3, 4)(rng), 0), tag="int", grad=False),
    Row("cumprod", lambda rng: (*complexes(3, 2)(rng), 0), tag="complex", second=False, dtypes=()),
    Row("cummax", lambda rng: (*ints(3, 9)(rng), 1), tag="ties", grad=False),
    Row("cummin", lambda rng: (*ints(3, 9)(rng), 1), tag="ties", grad=False),
    Row("cummax", lambda rng: (*holes(rng), 1), tag="nan", grad=False),
    Row("cummin", lambda rng: (*holes(rng), 1), tag="nan", grad=False),
    Row("cummax", lambda rng: (*bools(3, 4)(rng), 0), tag="bool", grad=False),
    Row("logcumsumexp", leading_infinity, tag="infinite", grad=False),
    Row("diff", inputs((3, 4)), dtypes=("float32", "int64")),
    Row("diff", along(2, 0), tag="twice"),
    Row("diff", along(0), tag="zero"),
    Row("diff", along(9), tag="too-often", second=False),
    Row("diff", lambda rng: (*bools(3, 4)(rng),), tag="bool", grad=False),
    Row("diff", lambda rng: (rng.standard_normal((2, 3)), 1, -1, rng.standard_normal((2, 1)),
                             rng.standard_normal((2, 2))), tag="ends"),
    Row("trapezoid", inputs((3, 4))),
    Row("trapezoid", inputs((3, 4)), {"dx": 0.5, "dim": 0}, "dx"),
    Row("trapezoid", inputs((3, 4), (4,)), tag="x"),
    Row("trapezoid", inputs((3, 4), (3, 4)), {"dim": 0}, "x-full"),
    Row("cumulative_trapezoid", inputs((3, 4))),
    Row("cumulative_trapezoid", inputs((3, 4), (3,)), {"dim": 0}, "x"),
]  # fmt: skip

X = np.zeros((2, 3))
ERRORS = [
    ErrorRow("cumsum", lambda rng: (X, 2), IndexError, "Dimension out of range"),
    ErrorRow("cumprod", lambda rng: (X, -3), IndexError, "Dimension out of range"),
    ErrorRow("cummax", lambda rng: (X, 2), IndexError, "Dimension out of range"),
    ErrorRow("logcumsumexp", lambda rng: (X.astype(int), 0), NotImplementedError, "Long"),
    ErrorRow("diff", lambda rng: (X, -1), RuntimeError, "non-negative"),
    ErrorRow("diff", lambda rng: (np.zeros(()),), RuntimeError, "one-dimensional"),
    ErrorRow("trapezoid", lambda rng: (X, np.zeros(4)), RuntimeError, "one `x` value"),
]
