"""Rows of `wengert.ops.trigonometry`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 20.0, -20.0, np.inf, -np.inf, np.nan])

ANYWHERE = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "sinc", "deg2rad",
            "rad2deg")  # fmt: skip
INSIDE = ("asin", "acos", "atanh")
ALIASES = ("arcsin", "arccos", "arctan", "arcsinh", "arctanh")
WITHOUT_COMPLEX = ("deg2rad", "rad2deg")
UNARY = (*ANYWHERE, *INSIDE, "acosh")


def inside(rng):
    return (rng.uniform(-0.9, 0.9, (3, 4)),)


def above_one(rng):
    return (rng.uniform(1.1, 3.0, (3, 4)),)


def complexes(rng):
    return (0.5 * rng.standard_normal((3, 4)) + 0.5j * rng.standard_normal((3, 4)),)


def table(rng):
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


ROWS = [
    *(Row(n, inputs((3, 4)), dtypes=FLOATS) for n in ANYWHERE),
    # The result is float32, and so is the tolerance.
    *(Row(n, lambda rng: (np.array([-3, 0, 1, 2]),), tag="int", grad=False, rtol=1e-6)
      for n in ANYWHERE),
    *(Row(n, inside, dtypes=FLOATS) for n in (*INSIDE, *ALIASES)),
    *(Row(n, above_one, dtypes=("float32",)) for n in ("acosh", "arccosh")),
    Row("sinc", inputs(()), tag="0d"),
    *(Row(n, complexes, tag="complex") for n in UNARY if n not in WITHOUT_COMPLEX),
    *(Row(n, lambda rng: (SPECIAL,), tag="special", grad=False) for n in UNARY),
    # PyTorch has no derivative of the in-place forms of the inverse hyperbolic functions.
    *(Row(f"Tensor.{n}_", inside, grad=n not in ("asinh", "atanh")) for n in (*ANYWHERE, *INSIDE)),
    Row("Tensor.acosh_", above_one, grad=False),
    *(Row(n, inputs((3, 4), (4,)), dtypes=FLOATS) for n in ("atan2", "arctan2")),
    Row("atan2", lambda rng: (np.array([1, -1, 0]), np.array([1, -2, -1])), tag="int", grad=False,
        rtol=1e-6),
    Row("atan2", table, tag="special", grad=False),
    Row("Tensor.atan2_", inputs((3, 4), (4,))),
    *(Row(n, lambda rng: (np.array([0.0, 0.3]),), tag="origin", second=n != "sinc")
      for n in ("sinc", "tanh")),
]  # fmt: skip

ERRORS = [
    ErrorRow("sin", lambda rng: (1.0,), TypeError, "must be Tensor"),
    *(ErrorRow(n, lambda rng: (np.ones(2, complex),), RuntimeError, "complex")
      for n in WITHOUT_COMPLEX),
    ErrorRow("atan2", lambda rng: (np.ones(2), np.ones(3)), RuntimeError, "must match"),
]  # fmt: skip
