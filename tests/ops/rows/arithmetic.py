"""Rows of `wengert.ops.arithmetic`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

MOST = ("float32", "float16", "bfloat16", "int64", "uint8", "complex64")
REAL = ("float32", "float16", "bfloat16", "int64", "int8")
FLOATS = ("float32", "float16", "bfloat16", "complex64")
PAIR = inputs((3, 4), (3, 4))
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 7.0, np.inf, -np.inf, np.nan])


def far_from_zero(rng):
    """A dividend, and a divisor away from 0 that no dividend is close to a multiple of."""
    divisor = rng.uniform(1.0, 2.0, (3, 4)) * rng.choice([-1, 1], (3, 4))
    return divisor * (rng.integers(-3, 3, (3, 4)) + rng.uniform(0.2, 0.8, (3, 4))), divisor


def complex_pair(rng):
    return tuple(rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)) for _ in range(2))


def table(rng):
    """Every pair of special values."""
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


def integers(rng):
    return np.array([7, -7, 7, -7, 0, 5]), np.array([2, 2, -2, -2, 3, 5])


def three(rng):
    return rng.standard_normal((3, 4)), rng.standard_normal((3, 1)), rng.uniform(1, 2, 4)


BINARY = ("add", "sub", "mul", "div")
QUOTIENTS = ("floor_divide", "remainder", "fmod")
ROWS = [
    *(Row(n, PAIR, dtypes=MOST) for n in ("add", "sub", "mul", "multiply", "subtract")),
    *(Row(n, far_from_zero, dtypes=FLOATS) for n in ("div", "divide", "true_divide")),
    *(Row(n, inputs((3, 1, 4), (5, 1), low=1.0, high=2.0), tag="broadcast") for n in BINARY),
    *(Row(n, inputs((3, 4), (), low=1.0, high=2.0), tag="0d") for n in BINARY),
    *(Row(n, lambda rng: (rng.standard_normal((2, 3)), 2.5), tag="number",
          dtypes=FLOATS) for n in BINARY),
    *(Row(n, lambda rng: (rng.standard_normal((2, 3)), 3), tag="whole-number",
          dtypes=MOST) for n in BINARY),
    *(Row(n, lambda rng: (rng.integers(-5, 5, (2, 3)), 2.5), tag="mixed", grad=False)
      for n in BINARY),
    *(Row(n, lambda rng: (rng.standard_normal((2, 3)).astype("f4"), rng.standard_normal(3)),
          tag="two-floats", grad=False) for n in BINARY),
    *(Row(n, lambda rng: (rng.standard_normal((2, 3)), 1.5 - 2j), tag="complex-number")
      for n in BINARY),
    *(Row(n, complex_pair, tag="complex") for n in BINARY),
    *(Row(n, table, tag="special", grad=False) for n in (*BINARY, *QUOTIENTS)),
    *(Row(f"Tensor.{n}_", far_from_zero, tag="method") for n in BINARY),
    *(Row(f"Tensor.{n}_", lambda rng: (rng.standard_normal((2, 3)), 2.0), tag="number")
      for n in BINARY),
    *(Row(f"Tensor.{n}", far_from_zero, grad=n != "floor_divide") for n in (*BINARY, *QUOTIENTS)),
    *(Row(f"Tensor.__{n}__", far_from_zero) for n in (*BINARY[:3], "truediv", "mod")),
    *(Row(f"Tensor.__r{n}__", lambda rng: (rng.uniform(1.0, 2.0, (2, 3)), 2.0))
      for n in (*BINARY[:3], "truediv", "pow")),
    Row("add", lambda rng: (np.array([True, False, True]), np.array([True, False, False])),
        tag="bool", grad=False),
    Row("mul", lambda rng: (np.array([True, False]), np.array([True, True])), tag="bool",
        grad=False),
    Row("div", integers, tag="int", grad=False),
    Row("add", PAIR, {"alpha": -2.5}, tag="alpha"),
    Row("sub", PAIR, {"alpha": 2}, tag="alpha", dtypes=MOST),
    Row("rsub", PAIR, {"alpha": 2}, tag="alpha"),
    Row("rsub", lambda rng: (rng.standard_normal((2, 3)), 2.0), tag="number"),
    *(Row("div", far_from_zero, {"rounding_mode": mode}, tag=str(mode), dtypes=("float32",))
      for mode in (None, "trunc", "floor")),
    *(Row("div", integers, {"rounding_mode": mode}, tag=f"int-{mode}", grad=False)
      for mode in ("trunc", "floor")),
    *(Row("div", table, {"rounding_mode": mode}, tag=f"special-{mode}", grad=False)
      for mode in ("trunc", "floor")),
    *(Row(n, integers, tag="int", grad=False) for n in QUOTIENTS),
    *(Row(n, lambda rng: (INTS[:0], 0), tag="nothing", grad=False) for n in QUOTIENTS),
    Row("floor_divide", far_from_zero, grad=False),
    *(Row(n, far_from_zero) for n in QUOTIENTS[1:]),
    *(Row(n, lambda rng: (rng.uniform(0.2, 0.8, (2, 3)), 0.9), tag="number")
      for n in QUOTIENTS[1:]),
    *(Row(n, inputs((3, 4)), dtypes=MOST) for n in ("neg", "negative", "positive")),
    Row("Tensor.neg_", inputs((3, 4))),
    Row("reciprocal", inputs((3, 4), low=0.5, high=2.0), dtypes=(*FLOATS, "int64")),
    Row("reciprocal", lambda rng: (SPECIAL,), tag="special", grad=False),
    Row("Tensor.reciprocal_", inputs((3, 4), low=0.5, high=2.0)),
    *(Row(n, inputs((3, 4)), dtypes=(*REAL, "complex64")) for n in ("abs", "absolute")),
    Row("abs", lambda rng: complex_pair(rng)[:1], tag="complex"),
    Row("abs", lambda rng: (SPECIAL,), tag="special", grad=False),
    Row("Tensor.abs_", inputs((3, 4))),
    Row("addcmul", three, {"value": 0.5}, dtypes=("float32", "complex64")),
    Row("addcmul", lambda rng: tuple(rng.integers(-9, 9, (3, 2)) for _ in range(3)), {"value": 2},
        tag="int", grad=False),
    Row("addcdiv", three, {"value": 0.5}, dtypes=("float32", "complex64")),
    Row("Tensor.addcmul_", three),
    Row("Tensor.addcdiv_", three),
    *(Row("lerp", lambda rng, w=w: (rng.standard_normal((3, 4)), rng.standard_normal(4), w),
          tag=str(w), dtypes=FLOATS) for w in (0.25, 0.75)),
    Row("lerp", three, tag="tensor"),
    Row("Tensor.lerp_", lambda rng: (*inputs((3, 4), (4,))(rng), 0.3)),
]  # fmt: skip

BOOLS = np.array([True, False])
INTS = np.array([1, 2])
ERRORS = [
    *(ErrorRow(n, lambda rng: (np.zeros((2, 3)), np.zeros(4)), RuntimeError, "must match")
      for n in (*BINARY, *QUOTIENTS)),
    *(ErrorRow(n, lambda rng: (np.zeros(2), "a"), TypeError, "must be Tensor", tag="str")
      for n in ("add", "sub", "mul", "div")),
    *(ErrorRow(n, lambda rng: (np.zeros(2), None), TypeError, "must be Tensor", tag="None")
      for n in ("add", "sub", "mul", "div")),
    *(ErrorRow(n, lambda rng: (3, None), TypeError, "must be Tensor", tag="a number and None")
      for n in (*BINARY, "floor_divide")),
    ErrorRow("sub", lambda rng: (True, False), RuntimeError, "two bool tensors", tag="two bools"),
    *(ErrorRow(n, lambda rng: (INTS, 0), RuntimeError, "ZeroDivisionError") for n in QUOTIENTS),
    ErrorRow("div", lambda rng: (INTS, 0), RuntimeError, "ZeroDivisionError",
             {"rounding_mode": "trunc"}),
    ErrorRow("div", lambda rng: (INTS, 2), RuntimeError, "rounding_mode", {"rounding_mode": "up"},
             tag="mode"),
    ErrorRow("sub", lambda rng: (BOOLS, BOOLS), RuntimeError, "bool tensor", tag="bool"),
    ErrorRow("sub", lambda rng: (BOOLS, 1), RuntimeError, "invert a mask", tag="a mask and 1"),
    ErrorRow("sub", lambda rng: (1, BOOLS), RuntimeError, "invert a mask", tag="1 and a mask"),
    ErrorRow(
        "sub", lambda rng: (BOOLS + 1.0, BOOLS), RuntimeError, "invert a mask", tag="mixed"
    ),
    ErrorRow(
        "sub", lambda rng: (BOOLS + 1.0, BOOLS), RuntimeError, "invert a mask", {"alpha": 2},
        tag="scaled",
    ),
    ErrorRow("rsub", lambda rng: (BOOLS, 1), RuntimeError, "invert a mask"),
    ErrorRow("neg", lambda rng: (BOOLS,), RuntimeError, "bool tensor"),
    ErrorRow("positive", lambda rng: (BOOLS,), RuntimeError, "bool tensor"),
    ErrorRow("abs", lambda rng: (BOOLS,), NotImplementedError, "not implemented for 'Bool'"),
    *(ErrorRow(n, lambda rng: (BOOLS, BOOLS), NotImplementedError, "not implemented for 'Bool'")
      for n in QUOTIENTS),
    ErrorRow("add", lambda rng: (INTS, INTS), RuntimeError, "alpha", {"alpha": 1.5}),
    ErrorRow("add", lambda rng: (INTS, INTS), RuntimeError, "alpha", {"alpha": True}, tag="bool"),
    ErrorRow("sub", lambda rng: (np.ones(2), np.ones(2)), RuntimeError, "alpha", {"alpha": 1j}),
    ErrorRow("addcdiv", lambda rng: (INTS, INTS, INTS), RuntimeError, "Integer division"),
    ErrorRow("lerp", lambda rng: (np.ones(2), np.ones(2, "f4"), 0.5), RuntimeError,
             "expected dtype"),
    ErrorRow("lerp", lambda rng: (INTS, INTS, 0.5), NotImplementedError, "not implemented"),
    ErrorRow("Tensor.add_", lambda rng: (INTS, 1.5), RuntimeError, "can't be cast"),
    ErrorRow("Tensor.add_", lambda rng: (np.ones(2), np.ones((3, 2))), RuntimeError, "shape",
             tag="shape"),
]  # fmt: skip
