"""Many words of NumPy's Mersenne Twister at once.

The generator of Matsumoto and Nishimura (1998) as a kernel: it takes the state of NumPy's, makes
the words that NumPy would make, and gives the state back. NumPy makes one word after the other;
here eight or more are made together, for each needs only words that are far behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels._jit import CHUNK, available, kernel
from wengert.kernels._jit.builtins import at, i32, i32s, i64, i64s, inline

_WORDS = 624


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
def _fill(state: i32s, out: i32s, place: i64, size: i64, start: i64, stop: i64) -> None:
    # One stream: the state holds 624 words, of which those from `place` on are still to come.
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


@kernel
def _swap(pairs: i64s, start: i64, stop: i64) -> None:
    # The first word of a pair is the high one.
    for i in range(start, stop):
        pairs[i] = (pairs[i] << 32) | ((pairs[i] >> 32) & 4294967295)


def fill(bits: Any, out: np.ndarray) -> bool:
    """Fill a large array of uint32, or uint64 from two words each; False if it cannot be done."""
    if not available():
        return False
    state = bits.state
    key, place = state["state"]["key"], state["state"]["pos"]
    words = out.view(np.uint32)
    _fill.f32(key, words, place, words.size, 1, 1)
    left = words.size - (_WORDS - place)
    state["state"]["pos"] = (left - 1) % _WORDS + 1 if left > 0 else place + words.size
    bits.state = state
    if out.itemsize == 8:
        _swap.f32(out, out.size, CHUNK)
    return True
