"""The floating-point types whose arrays traced kernels read and write.

Halves are computed in float32 and rounded once, where they are written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from wengert.kernels.jit import elementary64, far, mathlib, precise, special
from wengert.kernels.jit.builtins import bits, f32, from_bits, i32, inline, u16
from wengert.kernels.jit.mathlib64 import (
    cos,
    erf,
    exp,
    fmod,
    hypot,
    log,
    logaddexp,
    sigmoid,
    sin,
    tanh,
)


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
_LIBRARY = vars(far) | vars(special) | vars(mathlib) | vars(precise)
_HALVES = _LIBRARY | {"from_brain": from_brain, "to_brain": to_brain}
_ELEMENTARY = (cos, erf, exp, fmod, hypot, log, logaddexp, sigmoid, sin, tanh)
_DOUBLES = vars(elementary64) | {f.__name__: f for f in _ELEMENTARY}

# By the letters with which `kinds` of operands begin (see `operands.kinds_of`).
REALS = {
    "": Real(_SINGLE, _SINGLE, "f32", "f32", "{}", "{}", _LIBRARY),
    "d:": Real(_DOUBLE, _DOUBLE, "f64", "f64", "{}", "{}", _DOUBLES),
    "h:": Real(np.dtype(np.float16), _SINGLE, "f32", "f16", "f32({})", "f16({})", _HALVES),
    "b:": Real(_BRAIN, _SINGLE, "f32", "u16", "from_brain({})", "to_brain({})", _HALVES),
}
