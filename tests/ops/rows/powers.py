"""Rows of `wengert.ops.powers`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 7.0, np.inf, -np.inf, np.nan])
INTS = np.array([-2, -1, 0, 1, 2, 3])
FLOATS = ("float32", "float16", "bfloat16")


def positive(*shapes):
    return inputs(*shapes, low=0.5, high=2.0)


def complex_pair(rng):
    return tuple(rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)) for _ in range(2))


def raised(exponent):
    return lambda rng: (rng.uniform(0.5, 2.0, (2, 3)), exponent)


def table(rng):
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


ROWS = [
    *(Row("pow", raised(e), tag=str(e), dtypes=FLOATS)
      for e in (2, 2.0, 3, 0.5, -1, -2, 0, 1, 2.5, -0.5)),
    *(Row("pow", lambda rng, e=e: (np.array([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, -3.0]), e),
          tag=f"edges-{e}", grad=False) for e in (0.5, -0.5, -1, -2)),
    Row("pow", raised(1.5 + 1j), tag="complex-exponent"),
    *(Row("pow", lambda rng, e=e: (np.array([True, False]), e), tag=f"mask-{e}", grad=False,
          dtypes=()) for e in (True, False, 2)),
    Row("pow", lambda rng: (rng.standard_normal((2, 3)), 2), tag="negative-base",
        dtypes=("int64", "complex64")),
    Row("pow", positive((3, 1), (3, 4)), dtypes=FLOATS),
    Row("pow", complex_pair, tag="complex"),
    Row("pow", lambda rng: (complex_pair(rng)[0], 2.5), tag="complex-number"),
    Row("pow", lambda rng: (2.0, rng.standard_normal((2, 3))), tag="base"),
    Row("pow", lambda rng: (3, np.arange(4)), tag="int-base", grad=False),
    Row("pow", lambda rng: (INTS, 2), tag="int", grad=False),
    Row("pow", lambda rng: (INTS, 2.0), tag="int-float", grad=False),
    Row("pow", lambda rng: (INTS, np.array([-1, -2, 0, -5, 2, -1])), tag="int-tensor", grad=False),
    Row("pow", lambda rng: (np.array([True, False]), 2), tag="bool", grad=False),
    Row("pow", table, tag="special", grad=False),
    Row("Tensor.pow_", raised(2.5)),
    Row("Tensor.pow_", positive((3, 4), (4,)), tag="tensor"),
    Row("Tensor.__pow__", raised(3)),
    Row("float_power", raised(2), dtypes=("float32", "int64")),
    Row("float_power", positive((3, 4), (4,)), tag="tensor"),
    Row("float_power", lambda rng: (complex_pair(rng)[0], 2), tag="complex"),
    Row("square", inputs((3, 4)), dtypes=(*FLOATS, "int64", "complex64")),
    Row("Tensor.square_", inputs((3, 4))),
    *(Row(n, positive((3, 4)), dtypes=(*FLOATS, "int64", "complex64")) for n in ("sqrt", "rsqrt")),
    *(Row(n, lambda rng: complex_pair(rng)[:1], tag="complex") for n in ("sqrt", "rsqrt")),
    *(Row(n, lambda rng: (SPECIAL,), tag="special", grad=False) for n in ("sqrt", "rsqrt")),
    *(Row(f"Tensor.{n}_", positive((3, 4))) for n in ("sqrt", "rsqrt")),
    Row("hypot", inputs((3, 4), (4,)), dtypes=FLOATS),
    Row("Tensor.hypot_", inputs((3, 4), (4,))),
    Row("ldexp", inputs((3, 4), (4,))),
    Row("ldexp", lambda rng: (np.array([1, 3]), np.array([3, -1])), tag="int", grad=False),
    Row("ldexp", lambda rng: (rng.standard_normal((3, 2)), np.array([3, -1])), tag="scaled",
        grad=False, dtypes=FLOATS),
    Row("ldexp", lambda rng: (np.float32([1e-30, 1e30]), np.array([130, -130])), tag="far",
        grad=False),
    Row("ldexp", lambda rng: (np.array([1.5]), np.array([1000])), tag="beyond-float32",
        grad=False, dtypes=()),
]  # fmt: skip

ERRORS = [
    ErrorRow("pow", lambda rng: (INTS, -1), RuntimeError, "negative integer powers"),
    ErrorRow("pow", lambda rng: (np.array([True]), np.array([True])), NotImplementedError,
             "not implemented for 'Bool'"),
    ErrorRow("pow", lambda rng: (np.ones(2), "a"), TypeError, "must be Tensor"),
    ErrorRow("hypot", lambda rng: (INTS, INTS), NotImplementedError, "not implemented for 'Long'"),
]  # fmt: skip
