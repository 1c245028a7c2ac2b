"""Normal numbers of words of a stream, by the transformation of Box and Muller, as PyTorch does it.

NumPy has the logarithm, the sine and the cosine; what is around them is one pass before and one
behind, rounded as NumPy rounds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, pays_off
from wengert.kernels.jit import CHUNK, available, exact_kernel, loaded
from wengert.kernels.jit.builtins import (
    at,
    f32s,
    f64s,
    i32s,
    i64,
    i64s,
    inline,
    reals,
    sqrt,
)
from wengert.kernels.jit.libm import cos, log1p, sin
from wengert.kernels.twister import to_double, to_single, words

# Numbers that make pairs of radius and angle, and then of cosine and sine: they lie 8 apart.
_BLOCK = 16


@inline
def _singles(words: i32s, rest: f32s, angle: f32s) -> None:
    for i in range(8):
        rest[i] = 1.0 - to_single(words[i])
        angle[i] = to_single(words[i + 8]) * 6.283185307179586


@inline
def _doubles(pairs: i64s, rest: f64s, angle: f64s) -> None:
    for i in range(8):
        rest[i] = 1.0 - to_double(pairs[i])
        angle[i] = to_double(pairs[i + 8]) * 6.283185307179586


@exact_kernel
def _separate_singles(
    words: i32s, rest: f32s, angle: f32s, last: i64, total: i64, start: i64, stop: i64
) -> None:
    # The last block, which makes the end anew, is drawn from its own place on.
    for block in range(start, stop):
        _singles(at(words, 16 * block), at(rest, 8 * block), at(angle, 8 * block))
    if stop == total and last > 0:
        _singles(at(words, last), at(rest, 8 * total), at(angle, 8 * total))


@exact_kernel
def _separate_doubles(
    pairs: i64s, rest: f64s, angle: f64s, last: i64, total: i64, start: i64, stop: i64
) -> None:
    for block in range(start, stop):
        _doubles(at(pairs, 16 * block), at(rest, 8 * block), at(angle, 8 * block))
    if stop == total and last > 0:
        _doubles(at(pairs, last), at(rest, 8 * total), at(angle, 8 * total))


@inline
def _joined(log: reals, x: reals, y: reals, pairs: reals) -> None:
    for i in range(8):
        radius = sqrt(log[i] * -2.0)
        pairs[i] = radius * x[i]
        pairs[i + 8] = radius * y[i]


@exact_kernel
def _join(
    log: reals, x: reals, y: reals, out: reals, size: i64, total: i64, start: i64, stop: i64
) -> None:
    for block in range(start, stop):
        k = 8 * block
        _joined(at(log, k), at(x, k), at(y, k), at(out, 2 * k))
    if stop == total and size > 16 * total:  # over the end of the block before
        k = 8 * total
        _joined(at(log, k), at(x, k), at(y, k), at(out, size - 16))


@exact_kernel
def _pairs(values: f64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        radius = sqrt(-2.0 * log1p(-values[2 * i + 1]))
        angle = 6.283185307179586 * values[2 * i]
        values[2 * i] = radius * cos(angle)
        values[2 * i + 1] = radius * sin(angle)


def in_sequence(uniforms: np.ndarray) -> bool:
    """Turn pairs of uniforms, float64, into pairs of normals in place; False if it cannot be done.

    By the functions of C's library, as in PyTorch.
    """
    if not (pays_off(uniforms.size, SOME) and available()):
        return False
    _pairs.f64(uniforms, uniforms.size // 2, CHUNK)
    return True


def drawn(state: np.ndarray, n: int, dtype: np.dtype[Any], again: bool) -> np.ndarray | None:
    """`n` >= 16 numbers, float32 or float64, from a twister's state; None if that cannot be.

    Where `n` is no multiple of 16, the last 16 are made of words behind those of all numbers, or
    instead of those of an incomplete block if it is not to be drawn `again`.
    """
    if (n < SOME and not loaded()) or not available():
        return None
    tail = n % _BLOCK
    last = (n if again else n - tail) if tail else 0
    stream = words(state, last + _BLOCK if tail else n, dtype.itemsize)
    blocks, chunk = n // _BLOCK, CHUNK // _BLOCK
    pairs = (blocks + (tail > 0)) * _BLOCK // 2
    rest, angle = np.empty(pairs, dtype), np.empty(pairs, dtype)
    if dtype.itemsize == 4:
        _separate_singles.f32(stream, rest, angle, last, blocks, blocks, chunk)
        join = _join.f32
    else:
        _separate_doubles.f64(stream, rest, angle, last, blocks, blocks, chunk)
        join = _join.f64
    logarithm, sine = np.log(rest, rest), np.sin(angle)
    out = np.empty(n, dtype)
    join(logarithm, np.cos(angle, angle), sine, out, n, blocks, blocks, chunk)
    return out
