"""Rows of `wengert.ops.rounding`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
HALVES = np.array([-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, 1e20])
FUNCTIONS = ("floor", "ceil", "round", "trunc", "fix", "sign", "sgn", "frac")


def complexes(rng):
    return (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)),)


ROWS = [
    *(Row(n, inputs((3, 4)), dtypes=FLOATS) for n in FUNCTIONS if n != "sgn"),
    # PyTorch's gradient of sgn is a "ZeroTensor", which it cannot show to NumPy.
    Row("sgn", inputs((3, 4)), grad=False, dtypes=FLOATS),
    *(Row(n, lambda rng: (HALVES,), tag="special", grad=False) for n in FUNCTIONS),
    *(Row(n, lambda rng: (np.array([-3, 0, 5]),), tag="int", grad=False) for n in FUNCTIONS[:-1]),
    *(Row(f"Tensor.{n}_", inputs((3, 4)), grad=n != "sgn") for n in FUNCTIONS),
    *(Row("round", lambda rng: (100 * rng.standard_normal((3, 4)),), {"decimals": d}, tag=str(d))
      for d in (2, -1)),
    Row("sign", lambda rng: (np.array([True, False]),), tag="bool", grad=False),
    Row("sgn", complexes, tag="complex"),
    Row("sgn", lambda rng: (np.array([0j, 3 + 4j]),), tag="complex-zero", grad=False),
    Row("copysign", inputs((3, 4), (4,)), dtypes=FLOATS),
    Row("copysign", lambda rng: (rng.standard_normal((3, 4)), -1.0), tag="number"),
    Row("copysign", lambda rng: (np.array([1, -2]), np.array([-1, 1])), tag="int", grad=False),
    Row("copysign", lambda rng: (HALVES, HALVES[::-1].copy()), tag="special", grad=False),
    Row("Tensor.copysign_", inputs((3, 4), (4,))),
    Row("heaviside", lambda rng: (HALVES, np.array(0.25)), grad=False),
    Row("heaviside", lambda rng: (np.array([-1, 0, 1]), np.array([7])), tag="int", grad=False),
    Row("Tensor.heaviside_", lambda rng: (HALVES, np.array(0.25)), grad=False),
]  # fmt: skip

ERRORS = [
    *(ErrorRow(n, lambda rng: (np.array([True]),), NotImplementedError, "not implemented")
      for n in ("floor", "ceil", "round", "trunc")),
    *(ErrorRow(n, lambda rng: (np.ones(2, complex),), NotImplementedError, "complex")
      for n in ("floor", "ceil", "trunc", "sign")),
    ErrorRow("frac", lambda rng: (np.arange(3),), NotImplementedError, "not implemented"),
    ErrorRow("round", lambda rng: (np.arange(3),), NotImplementedError, "not implemented",
             {"decimals": 1}),
    ErrorRow("heaviside", lambda rng: (np.ones(2), np.arange(2)), RuntimeError, "dtypes"),
]  # fmt: skip
