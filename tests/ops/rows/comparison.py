"""Rows of `wengert.ops.comparison`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row

SPECIAL = np.array([0.0, -0.0, 1.0, 2.5, np.inf, -np.inf, np.nan])
ORDER = ("lt", "le", "gt", "ge", "less", "less_equal", "greater", "greater_equal")
EQUALITY = ("eq", "ne", "not_equal")
LOGIC = ("logical_and", "logical_or", "logical_xor")
TESTS = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit", "logical_not")
COMPLEX = np.array([1 + 1j, 2 + 0j, complex(np.nan, 1), complex(1, np.inf)])


def table(rng):
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


def integers(rng):
    return np.arange(-2, 3), np.array([[0], [2]])


def close(rng):
    a = np.array([1.0, 1.0, 1.0, np.nan, np.inf, np.inf, 0.0])
    return a, np.array([1.0, 1.000001, 1.1, np.nan, np.inf, -np.inf, 1e-9])


ROWS = [
    *(Row(n, table, grad=False, dtypes=("float32", "float16", "bfloat16"))
      for n in (*ORDER, *EQUALITY, *LOGIC)),
    *(Row(n, integers, tag="int", grad=False) for n in (*ORDER, *EQUALITY, *LOGIC)),
    *(Row(n, lambda rng: (np.arange(4), 2.5), tag="number", grad=False)
      for n in (*ORDER, *EQUALITY)),
    *(Row(n, lambda rng: (np.arange(3), np.array([0.5, 1.0, 2.0])), tag="mixed", grad=False)
      for n in (*ORDER, *EQUALITY, *LOGIC)),
    *(Row(n, lambda rng: (COMPLEX, COMPLEX.conj()), tag="complex", grad=False)
      for n in (*EQUALITY, *LOGIC)),
    *(Row(n, lambda rng: (SPECIAL,), grad=False, dtypes=("float32", "float16", "bfloat16"))
      for n in TESTS),
    *(Row(n, lambda rng: (np.array([-1, 0, 3]),), tag="int", grad=False) for n in TESTS),
    *(Row(n, lambda rng: (np.array([True, False]),), tag="bool", grad=False) for n in TESTS),
    *(Row(n, lambda rng: (COMPLEX,), tag="complex", grad=False)
      for n in ("isnan", "isinf", "isfinite", "isreal", "logical_not")),
    *(Row(f"Tensor.{n}_", lambda rng: (SPECIAL, SPECIAL[::-1].copy()), grad=False)
      for n in (*ORDER, *EQUALITY, *LOGIC)),
    Row("Tensor.logical_not_", lambda rng: (SPECIAL,), grad=False),
    *(Row(f"Tensor.__{n}__", lambda rng: (np.arange(4), 2), grad=False)
      for n in ("eq", "ne", "lt", "le", "gt", "ge")),
    *(Row("Tensor.__eq__", lambda rng, x=x: (np.arange(2.0), x), tag=str(x), grad=False)
      for x in (1, 0.5)),
    Row("isclose", close, grad=False, dtypes=("float32",)),
    Row("isclose", close, {"equal_nan": True, "rtol": 1e-3}, tag="nan", grad=False),
    Row("isclose", close, {"rtol": 0.0, "atol": 0.0}, tag="exact", grad=False),
    Row("isclose", lambda rng: (np.array([100, 101]), np.array([100, 100])), {"rtol": 0.01},
        tag="int", grad=False),
    Row("isclose", lambda rng: (np.array([True, False]), np.array([True, True])), tag="bool",
        grad=False),
    Row("isclose", lambda rng: (np.array([250], "u1"), np.array([5], "u1")), {"atol": 12.0},
        tag="uint8", grad=False),
    Row("allclose", lambda rng: (np.ones(3), np.ones(3) + 1e-9), grad=False),
    Row("allclose", lambda rng: (np.ones(3), np.zeros(3)), tag="no", grad=False),
    Row("equal", lambda rng: (np.arange(3), np.arange(3)), grad=False),
    Row("equal", lambda rng: (np.arange(3), np.arange(4)), tag="shapes", grad=False),
    Row("equal", lambda rng: (np.arange(3), np.arange(3.0)), tag="dtypes", grad=False),
    Row("equal", lambda rng: (SPECIAL, SPECIAL), tag="nan", grad=False),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(n, lambda rng: (np.ones(2), np.ones(3)), RuntimeError, "must match")
      for n in (*ORDER, *EQUALITY, *LOGIC)),
    *(ErrorRow(n, lambda rng: (COMPLEX, COMPLEX), NotImplementedError, "not implemented")
      for n in ORDER),
    *(ErrorRow(n, lambda rng: (np.ones(2), None), TypeError, "must be Tensor", tag="None")
      for n in (*ORDER, *EQUALITY)),
    *(ErrorRow(n, lambda rng: (COMPLEX,), RuntimeError, "complex")
      for n in ("isposinf", "isneginf", "signbit")),
    ErrorRow("isclose", lambda rng: (np.ones(2), np.ones(2, "f4")), RuntimeError, "did not match"),
    ErrorRow("isclose", lambda rng: (np.ones(2), np.ones(2)), RuntimeError, "rtol", {"rtol": -1.0},
             tag="rtol"),
    ErrorRow("allclose", lambda rng: (np.ones(2), np.ones(3)), RuntimeError, "must match"),
    ErrorRow("equal", lambda rng: (np.ones(2), 2), TypeError, "must be Tensor"),
]  # fmt: skip
