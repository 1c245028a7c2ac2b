"""The floating-point types whose arrays traced kernels read and write.

Halves are computed in float32 and rounded once, where they are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from wengert.kernels.jit import mathlib, precise, special
from wengert.kernels.jit.builtins import bits, f32, f64, from_bits, i32, inline, rint, u16
from wengert.kernels.jit.mathlib64 import expm1_double, log_double, series, turned, two_to


@inline
def from_brain(x: u16) -> f32:
    """A bfloat16, of which an array of u16 holds the bits."""
    return from_bits(i32(x) << 16)


@inline
def to_brain(x: f32) -> u16:
    """The bits of the nearest bfloat16, of two the even one; NaN stays NaN."""
    b = bits(x)
    rounded = (b + 32767 + ((b >> 16) & 1)) >> 16
    return u16(((b >> 16) | 64) if x != x else rounded)


@inline
def exp(x: f64) -> f64:
    """e to the power of x, of any x; 1 ulp where that is normal."""
    c = f64(-750.0) if x < -750.0 else x
    c = f64(720.0) if c > 720.0 else c
    n = rint(c * 1.4426950408889634)
    half = rint(n * 0.5)  # two factors: one would be out of range before the result is
    r = turned(c, n)
    y = (1.0 + (r + r * r * series(r))) * two_to(half) * two_to(n - half)
    return y if x == x else x


@inline
def log(x: f64) -> f64:
    """The natural logarithm; 2 ulp."""
    small = x < 2.2250738585072014e-308
    y = log_double(x * 18014398509481984.0 if small else x)
    y = y - 37.42994775023705 if small else y
    y = -math.inf if x == 0.0 else y
    y = math.nan if x < 0.0 else y
    return y if (x < math.inf and x == x) else x + (math.nan if x < 0.0 else 0.0)


@inline
def tanh(x: f64) -> f64:
    """The hyperbolic tangent; 3 ulp."""
    a = -x if x < 0.0 else x
    t = expm1_double(2.0 * (f64(22.0) if a > 22.0 else a))
    y = t / (t + 2.0)
    y = -y if x < 0.0 else y
    return y if x == x and x != 0.0 else x


@inline
def sigmoid(x: f64) -> f64:
    """1 / (1 + exp(-x)); 3 ulp."""
    return 1.0 / (1.0 + exp(-x))


class Real(NamedTuple):
    """A type of elements, and how kernels treat it.

    Attributes:
        dtype: of the arrays.
        computed: the dtype in which kernels compute.
        real: its name in the kernel language.
        stored: the type of elements there.
        load, store: how an element becomes what is computed with, and back.
        scope: the functions that kernels may call.
    """

    dtype: np.dtype[Any]
    computed: np.dtype[Any]
    real: str
    stored: str
    load: str
    store: str
    scope: dict[str, Any]


_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_BRAIN = np.dtype(ml_dtypes.bfloat16)
_LIBRARY = vars(special) | vars(mathlib) | vars(precise)
_HALVES = _LIBRARY | {"from_brain": from_brain, "to_brain": to_brain}
_DOUBLES: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (exp, log, tanh, sigmoid)
}  # fmt: skip

# By the letters with which `kinds` of operands begin (see `operands.kinds_of`).
REALS = {
    "": Real(_SINGLE, _SINGLE, "f32", "f32", "{}", "{}", _LIBRARY),
    "d:": Real(_DOUBLE, _DOUBLE, "f64", "f64", "{}", "{}", _DOUBLES),
    "h:": Real(np.dtype(np.float16), _SINGLE, "f32", "f16", "f32({})", "f16({})", _HALVES),
    "b:": Real(_BRAIN, _SINGLE, "f32", "u16", "from_brain({})", "to_brain({})", _HALVES),
}
