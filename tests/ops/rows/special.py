"""Rows of `wengert.ops.special`."""

import numpy as np

from tests.ops.rows import ErrorRow, Row, inputs

FLOATS = ("float32", "float16", "bfloat16")
WIDE = np.concatenate([np.linspace(-12.3, 12.3, 51), [0.0, -0.0, np.inf, np.nan, 30.5, 1e-9]])


def positive(rng):
    return (rng.uniform(0.5, 4.0, (3, 4)),)


def negative(rng):
    return (-rng.integers(0, 3, (3, 4)) - rng.uniform(0.2, 0.8, (3, 4)),)


ROWS = [
    *(Row(n, inputs((3, 4)), dtypes=FLOATS) for n in ("erf", "erfc")),
    # The result is float32, and so is the tolerance.
    *(Row(n, lambda rng: (np.arange(1, 4),), tag="int", grad=False, rtol=1e-6, atol=1e-7)
      for n in ("erf", "erfc", "lgamma", "digamma")),
    Row("erfinv", inputs((3, 4), low=-0.99, high=0.99), dtypes=("float32",)),
    Row("erfinv", lambda rng: (np.array([-1, 1, 2, np.nan, 0, 1 - 1e-12, 1e-300]),), tag="special",
        grad=False),
    *(Row(n, lambda rng: (WIDE,), tag="wide", grad=False)
      for n in ("erf", "erfc", "lgamma", "digamma")),
    *(Row(n, positive, dtypes=("float32",)) for n in ("lgamma", "digamma")),
    *(Row(n, negative, tag="negative") for n in ("lgamma", "digamma")),
    # PyTorch's trigamma, a short asymptotic series, is good to nine digits.
    *(Row("polygamma", lambda rng, n=n: (n, *positive(rng)), tag=str(n), rtol=1e-8)
      for n in (0, 1, 2, 4)),
    *(Row(f"Tensor.{n}_", inputs((3, 4), low=0.2, high=0.8))
      for n in ("erf", "erfc", "erfinv", "lgamma", "digamma")),
]  # fmt: skip

ERRORS = [
    ErrorRow("erf", lambda rng: (np.ones(2, complex),), NotImplementedError, "ComplexDouble"),
    ErrorRow("polygamma", lambda rng: (-1, np.ones(2)), RuntimeError, "negative n"),
]
