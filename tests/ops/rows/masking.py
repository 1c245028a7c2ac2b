"""Rows of `wengert.ops.masking`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16", "int64")
MASK = np.array([[True, False, True, False], [False, True, True, False], [True] * 4])
SPECIAL = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan])
BOTH = ("maximum", "minimum", "fmax", "fmin")


def table(rng):
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


def ties(rng):
    return np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 3.0])


def bounded(rng):
    x = rng.standard_normal((3, 4))
    return x, rng.uniform(-1.0, -0.5, 4), rng.uniform(0.5, 1.0, (3, 1))


def number_bounds(rng):
    return rng.standard_normal((3, 4)), -0.5, 0.75


ROWS = [
    *(Row(n, inputs((3, 4), (4,)), dtypes=FLOATS) for n in BOTH),
    *(Row(n, table, tag="special", grad=False) for n in BOTH),
    *(Row(n, lambda rng: (np.array([1, 5]), np.array([2.5, 0.5])), tag="mixed", grad=False)
      for n in BOTH),
    Row("where", lambda rng: (MASK, *inputs((3, 4), (4,))(rng)), dtypes=FLOATS),
    Row("where", lambda rng: (MASK, *inputs((2, 3, 4), (3, 1))(rng)), tag="broadcast"),
    Row("where", lambda rng: (MASK, rng.standard_normal((3, 4)), 2.5), tag="number"),
    Row("where", lambda rng: (MASK, 1, rng.standard_normal((3, 4))), tag="number-first"),
    Row("where", lambda rng: (MASK, 1.5, 2), tag="numbers", grad=False),
    Row("where", lambda rng: (MASK, np.arange(4), rng.standard_normal(4)), tag="mixed"),
    Row("where", lambda rng: (MASK,), tag="indices", grad=False),
    Row("where", lambda rng: (MASK, rng.standard_normal(4) + 1j, 1j * rng.standard_normal(4)),
        tag="complex"),
    Row("masked_fill", lambda rng: (rng.standard_normal((3, 4)), MASK, -np.inf), tag="infinite",
        grad=False),
    Row("masked_fill", lambda rng: (rng.standard_normal((3, 4)), MASK, 3), dtypes=FLOATS),
    Row("masked_fill", lambda rng: (rng.standard_normal((3, 4)), MASK, np.array(1.5)), tag="0d"),
    Row("masked_fill", lambda rng: (rng.standard_normal(4), MASK, 0.5), tag="broadcast"),
    Row("masked_fill", lambda rng: (np.arange(4), MASK[0], 2.5), tag="int", grad=False),
    Row("Tensor.masked_fill_", lambda rng: (rng.standard_normal((3, 4)), MASK[0], 0.5)),
    *(Row(n, number_bounds, dtypes=FLOATS) for n in ("clamp", "clip")),
    Row("clamp", lambda rng: (np.array([1, 5, -3]), 0.5, 2), tag="int-float", grad=False),
    Row("clamp", lambda rng: (rng.standard_normal((3, 4)),), {"max": 0.2}, tag="max"),
    Row("clamp", lambda rng: (np.array([-1.0, 0.5, 1.0, 2.0]), -1.0, 1.0), tag="at-bounds",
        grad=False),
    Row("clamp", lambda rng: (SPECIAL, 0.0, 1.0), tag="special", grad=False),
    Row("clamp", lambda rng: (rng.standard_normal((3, 4)), 1.0, -1.0), tag="crossed", grad=False),
    Row("clamp", bounded, tag="tensors"),
    Row("clamp", lambda rng: (bounded(rng)[0], None, bounded(rng)[2]), tag="max-tensor"),
    Row("clamp", lambda rng: (rng.standard_normal(4), np.ones(4), -np.ones(4)),
        tag="crossed-tensors", second=False),
    Row("clamp", lambda rng: (rng.standard_normal(9), -0.5, np.array(0.5)), tag="number-tensor",
        grad=False),
    Row("clamp", lambda rng: (np.arange(5), np.array(1), 2.5), tag="tensor-number", grad=False),
    Row("Tensor.clamp_", number_bounds),
    *(Row(n, lambda rng: (rng.standard_normal((3, 4)), 0.1)) for n in ("clamp_min", "clamp_max")),
    *(Row(n, inputs((3, 4), (4,)), tag="tensor") for n in ("clamp_min", "clamp_max")),
    *(Row(f"Tensor.{n}_", lambda rng: (rng.standard_normal((3, 4)), 0.1))
      for n in ("clamp_min", "clamp_max")),
    Row("nan_to_num", lambda rng: (SPECIAL,), grad=False, dtypes=("float32", "float16")),
    Row("nan_to_num", lambda rng: (SPECIAL,), {"nan": 1.0, "posinf": 2.0, "neginf": -3.0},
        tag="given", grad=False),
    Row("nan_to_num", inputs((3, 4)), tag="finite"),
    Row("nan_to_num", lambda rng: (np.arange(3),), tag="int", grad=False),
    Row("Tensor.nan_to_num_", lambda rng: (SPECIAL,), grad=False),
]  # fmt: skip

ERRORS = [
    ErrorRow("clamp", lambda rng: (np.ones(2),), RuntimeError, "At least one of"),
    ErrorRow("clamp", lambda rng: (np.ones(2), np.ones(2), 2), TypeError, "both", tag="mixed"),
    ErrorRow("clamp", lambda rng: (np.ones(2), "a"), TypeError, "both", tag="str"),
    ErrorRow("clamp", lambda rng: (np.ones(2, complex), 0), NotImplementedError, "complex"),
    ErrorRow("where", lambda rng: (np.arange(2), np.ones(2), np.ones(2)), RuntimeError, "boolean"),
    ErrorRow("where", lambda rng: (True, np.ones(2), np.ones(2)), TypeError, "condition"),
    ErrorRow("where", lambda rng: (MASK, np.ones(2), np.ones(4)), RuntimeError, "must match",
             tag="shapes"),
    ErrorRow("where", lambda rng: (MASK, np.ones(4)), TypeError, "together", tag="two"),
    ErrorRow("masked_fill", lambda rng: (np.ones(2), np.arange(2), 1), RuntimeError, "boolean"),
    ErrorRow("masked_fill", lambda rng: (np.ones(2), np.ones(2, bool), np.ones(2)), RuntimeError,
             "0-dimensional", tag="value"),
    ErrorRow("masked_fill", lambda rng: (np.ones(2), np.ones(3, bool), 1), RuntimeError,
             "must match", tag="shapes"),
    ErrorRow("masked_fill", lambda rng: (np.ones(2), np.ones(2, bool), "a"), TypeError, "Number"),
    ErrorRow("maximum", lambda rng: (np.ones(2, complex),) * 2, RuntimeError, "complex"),
]  # fmt: skip
