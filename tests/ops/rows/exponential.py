"""Rows of `wengert.ops.exponential`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 700.0, -800.0, np.inf, -np.inf, np.nan, 1e-30])


def positive(*shapes):
    return inputs(*shapes, low=0.5, high=2.0)


def complexes(rng):
    return (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4)),)


def special(rng):
    return (SPECIAL,)


def special_pairs(rng):
    a, b = np.meshgrid(SPECIAL, SPECIAL)
    return a.ravel(), b.ravel()


ANYWHERE = ("exp", "exp2", "expm1", "sigmoid")
LOGARITHMS = ("log", "log2", "log10", "log1p")
ROWS = [
    *(Row(n, inputs((3, 4)), dtypes=FLOATS) for n in ANYWHERE),
    *(Row(n, positive((3, 4)), dtypes=FLOATS) for n in LOGARITHMS),
    # The result is float32, and so is the tolerance.
    *(Row(n, lambda rng, d=d: (np.arange(1, 6).astype(d),), tag=d, grad=False, rtol=1e-6)
      for n in (*ANYWHERE, *LOGARITHMS) for d in ("int64", "uint8", "bool")),
    *(Row(n, complexes, tag="complex") for n in (*ANYWHERE, *LOGARITHMS)),
    *(Row(n, special, tag="special", grad=False) for n in (*ANYWHERE, *LOGARITHMS, "logit")),
    *(Row(f"Tensor.{n}_", positive((3, 4))) for n in (*ANYWHERE, *LOGARITHMS)),
    Row("logit", inputs((3, 4), low=0.1, high=0.9), dtypes=("float32", "float16")),
    Row("logit", inputs((3, 4), low=0.01, high=0.99), {"eps": 0.2}, tag="eps"),
    Row("Tensor.logit_", inputs((3, 4), low=0.1, high=0.9)),
    *(Row(n, inputs((3, 4), (4,)), dtypes=("float32",)) for n in ("logaddexp", "logaddexp2")),
    *(Row(n, special_pairs, tag="special", grad=False) for n in ("logaddexp", "logaddexp2")),
    Row("xlogy", positive((3, 4), (4,)), dtypes=FLOATS),
    Row("xlogy", lambda rng: (rng.standard_normal((2, 3)), 2.0), tag="number"),
    Row("xlogy", lambda rng: (2.0, rng.uniform(0.5, 1, (2, 3))), tag="number-first"),
    Row("xlogy", special_pairs, tag="special", grad=False),
    Row("Tensor.xlogy_", positive((3, 4), (4,))),
    *(Row(n, lambda rng: (np.array(0.3),), tag="0d") for n in (*ANYWHERE, *LOGARITHMS)),
]  # fmt: skip

ERRORS = [
    ErrorRow("exp", lambda rng: (2.0,), TypeError, "must be Tensor"),
    ErrorRow("logaddexp", lambda rng: (np.arange(2), np.arange(2)), NotImplementedError,
             "not implemented for 'Long'"),
    ErrorRow("logit", lambda rng: (np.ones(2, complex),), NotImplementedError,
             "not implemented for 'ComplexDouble'"),
    ErrorRow("Tensor.exp_", lambda rng: (np.arange(2),), RuntimeError, "can't be cast"),
]  # fmt: skip
