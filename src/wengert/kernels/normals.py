"""Normal numbers of uniform ones, by the transformation of Box and Muller, as PyTorch orders them.

NumPy has the logarithm, the sine and the cosine; what is around them is one pass before and one
behind, rounded as NumPy rounds it.
"""

from __future__ import annotations

import math

import numpy as np

from wengert.kernels.chunks import SOME
from wengert.kernels.jit import CHUNK, available, exact_kernel, loaded
from wengert.kernels.jit.builtins import at, i64, real, reals, sqrt

# Numbers that make pairs of radius and angle, and then of cosine and sine: they lie 8 apart.
_BLOCK = 16


@exact_kernel
def _separate(uniform: reals, rest: reals, angle: reals, turn: real, start: i64, stop: i64) -> None:
    for block in range(start, stop):
        pairs = at(uniform, 16 * block)
        a = at(rest, 8 * block)
        b = at(angle, 8 * block)
        for i in range(8):
            a[i] = 1.0 - pairs[i]
            b[i] = pairs[i + 8] * turn


@exact_kernel
def _join(logarithm: reals, cosine: reals, sine: reals, out: reals, start: i64, stop: i64) -> None:
    for block in range(start, stop):
        pairs = at(out, 16 * block)
        log = at(logarithm, 8 * block)
        x = at(cosine, 8 * block)
        y = at(sine, 8 * block)
        for i in range(8):
            radius = sqrt(log[i] * -2.0)
            pairs[i] = radius * x[i]
            pairs[i + 8] = radius * y[i]


def box_muller(values: np.ndarray) -> bool:
    """Turn blocks of 16 numbers in [0, 1) into normal ones in place; False if that cannot be."""
    if (values.size < SOME and not loaded()) or not available():
        return False
    if values.itemsize == 4:
        separate, join = _separate.f32, _join.f32
    else:
        separate, join = _separate.f64, _join.f64
    blocks = values.size // _BLOCK
    pairs, chunk = blocks * _BLOCK // 2, CHUNK // _BLOCK
    rest, angle = np.empty(pairs, values.dtype), np.empty(pairs, values.dtype)
    separate(values, rest, angle, 2 * math.pi, blocks, chunk)
    logarithm, sine = np.log(rest, rest), np.sin(angle)
    join(logarithm, np.cos(angle, angle), sine, values, blocks, chunk)
    return True
