"""Many words of NumPy's Mersenne Twister at once.

The generator of Matsumoto and Nishimura (1998) as a kernel, which works on the state of NumPy's
and makes the words that NumPy would make. NumPy makes one word after the other; here eight or more
are made together, for each needs only words that are far behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, pays_off
from wengert.kernels.jit import CHUNK, Kernel, available, exact_kernel, kernel, loaded
from wengert.kernels.jit.builtins import (
    at,
    bits,
    bits64,
    f32,
    f64,
    i32,
    i32s,
    i64,
    i64s,
    inline,
    real,
    reals,
)


@inline
def _next(high: i32, low: i32, far: i32) -> i32:
    """A word of the next state."""
    y = (high & -2147483648) | (low & 2147483647)
    return far ^ ((y >> 1) & 2147483647) ^ ((0 - (y & 1)) & -1727483681)


@inline
def _tempered(word: i32) -> i32:
    """What a word of the state is as an output."""
    y = word ^ ((word >> 11) & 2097151)
    y = y ^ ((y << 7) & -1658038656)
    y = y ^ ((y << 15) & -272236544)
    return y ^ ((y >> 18) & 16383)


@kernel
def _fill(state: i32s, out: i32s, size: i64, start: i64, stop: i64) -> None:
    # One stream: the state holds 624 words, and the place of the first that is still to come.
    place = i64(state[624])
    done = 0
    while done < size:
        if place == 624:
            for i in range(0, 227):
                state[i] = _next(state[i], state[i + 1], state[i + 397])
            rest = at(state, 227)
            for i in range(0, 396):
                rest[i] = _next(rest[i], rest[i + 1], state[i])
            state[623] = _next(state[623], state[0], state[396])
            place = 0
        count = min(624 - place, size - done)
        source = at(state, place)
        target = at(out, done)
        for i in range(0, count):
            target[i] = _tempered(source[i])
        place = place + count
        done = done + count
    state[624] = i32(place)


@inline
def _ordered(pair: i64) -> i64:
    """The first word of a pair is the high one."""
    return (pair << 32) | ((pair >> 32) & 4294967295)


@kernel
def _swap(pairs: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        pairs[i] = _ordered(pairs[i])


@inline
def to_single(word: i32) -> f32:
    """A float in [0, 1)."""
    return f32(word & 16777215) * 5.9604644775390625e-08


@inline
def to_double(pair: i64) -> f64:
    """A double in [0, 1)."""
    return f64(_ordered(pair) & 9007199254740991) * 1.1102230246251565e-16


@kernel
def _singles(words: i32s, start: i64, stop: i64) -> None:
    """In place of words, floats in [0, 1)."""
    for i in range(start, stop):
        words[i] = bits(to_single(words[i]))


@kernel
def _doubles(pairs: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        pairs[i] = bits64(to_double(pairs[i]))


@kernel
def _shuffle(order: i64s, words: i32s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        place = i + (i64(words[i]) & 4294967295) % (stop + 1 - i)
        element = order[i]
        order[i] = order[place]
        order[place] = element


@exact_kernel
def _remainders(words: i32s, out: i64s, divisor: f64, start: i64, stop: i64) -> None:
    """What division by a number below 2**28 leaves of unsigned words.

    The quotient in float64 rounds up to a whole number only where it is one.
    """
    for i in range(start, stop):
        word = i64(words[i]) & 4294967295
        quotient = i64(f64(word) / divisor)
        out[i] = word - quotient * i64(divisor)


_AS: dict[Any, Kernel] = {np.uint64: _swap, np.float32: _singles, np.float64: _doubles}


def drawn(state: np.ndarray, n: int, dtype: Any) -> np.ndarray | None:
    """`n` words, pairs of words (uint64), or floats in [0, 1); None if it cannot be done.

    Few are left to NumPy unless kernels are in use already: both draw the same. The state, 625
    numbers, is that of the generator afterwards.
    """
    if (n < SOME and not loaded()) or not available():
        return None
    out = np.empty(n, dtype)
    _fill.f32(state, out, out.nbytes // 4, 1, 1)
    if dtype in _AS:
        _AS[dtype].f32(out, n, CHUNK)
    return out


@exact_kernel
def _stretch(x: reals, low: real, span: real, high: real, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        y = x[i] * span + low
        x[i] = low if y == high else y


def stretch(x: np.ndarray, low: Any, high: Any) -> bool:
    """Take floats in [0, 1) to [low, high), in place; False if it cannot be done.

    What rounding has taken to `high` is `low`. Both are of the dtype of `x`, float32 or float64.
    """
    if not (pays_off(x.size, SOME) and available()):
        return False
    run = _stretch.f32 if x.itemsize == 4 else _stretch.f64
    run(x, low, high - low, high, x.size, CHUNK)
    return True


def words(state: np.ndarray, n: int, itemsize: int) -> np.ndarray:
    """`n` items of so many bytes, of words as they come."""
    out = np.empty(n, np.int32 if itemsize == 4 else np.int64)
    _fill.f32(state, out, n * itemsize // 4, 1, 1)
    return out


def remainders(words: np.ndarray, divisor: int) -> np.ndarray | None:
    """uint32 modulo a number below 2**28, as int64; None if it cannot be done."""
    if (words.size < SOME and not loaded()) or not available():
        return None
    out = np.empty(words.size, np.int64)
    _remainders.f32(words, out, float(divisor), words.size, CHUNK)
    return out


def shuffle(order: np.ndarray, words: np.ndarray) -> bool:
    """Swap each of some int64 but the last with itself or one behind it, by a word (uint32).

    False if it cannot be done.
    """
    if (words.size < SOME and not loaded()) or not available():
        return False
    _shuffle.f32(order, words, words.size, max(1, words.size))
    return True
