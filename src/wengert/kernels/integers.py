"""Arithmetic of int64 arrays, element by element, by several threads and in one pass.

NumPy does these in one thread, and a 64-bit division is the slowest instruction there is: integers
that doubles hold are divided as such, by vectors. Nothing traps: divisors of 0 and -1 are replaced
before the processor divides by them, and whoever divides learns whether one was 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels.chunks import SOME, is_plain
from wengert.kernels.jit import CHUNK, LARGE, Kernel, available, exact_kernel, kernel, loaded
from wengert.kernels.jit.builtins import (
    at,
    bits64,
    f32,
    f64,
    floor,
    from_bits64,
    i64,
    i64s,
    inline,
    local,
)

_INT64 = np.dtype(np.int64)

# Added to an integer below 2**51 in magnitude this gives a double's bits, and the other way around.
_SHIFT = 6755399441055744.0
_SHIFT_BITS = 0x4338000000000000
_EXACT = 1 << 50
# Below this float32 holds integers; and how many of those are taken together.
_SINGLE, _LANES = 1 << 24, 32
# Elements per chunk for one thread: of divisions, and of common divisors, which take several each.
_FEWER, _FEWEST = 1 << 13, 1 << 10


@inline
def _size(x: i64) -> i64:
    """The magnitude; that of the least integer is itself."""
    return 0 - x if x < 0 else x


@inline
def _quotient(x: i64, y: i64) -> i64:
    """Rounded towards minus infinity; -x wraps. Anything for a `y` of 0."""
    divisor = 1 if (y == 0 or y == -1) else y
    quotient = x // divisor  # towards 0, as processors divide
    rest = x - quotient * divisor
    down = quotient - 1 if (rest != 0 and (rest ^ divisor) < 0) else quotient
    return 0 - x if y == -1 else down


@inline
def _exact(x: i64) -> f64:
    """A small integer as a double, by instructions that all processors have for vectors."""
    return from_bits64(x + _SHIFT_BITS) - _SHIFT


@inline
def _whole(x: f64) -> i64:
    """The reverse of `_exact`."""
    return bits64(x + _SHIFT) - _SHIFT_BITS


@inline
def _spread(x: i64s, y: i64s, count: i64) -> i64:
    """Bits that cover the magnitudes of all elements; negative if one of `y` is 0."""
    found = 0
    for i in range(count):
        a = x[i]
        b = y[i]
        found = found | (a ^ (a >> 63)) | (b ^ (b >> 63))
        found = found | (-9223372036854775807 - 1 if b == 0 else 0)
    return found


@exact_kernel
def _floor_divide(x: i64s, y: i64s, zero: i64s, out: i64s, start: i64, stop: i64) -> None:
    """Quotients rounded down; `zero[0]` becomes 1 if a divisor is 0."""
    a = at(x, start)
    b = at(y, start)
    o = at(out, start)
    found = _spread(a, b, stop - start)
    if found < 0:
        zero[0] = 1
    if found < _EXACT and found >= 0:
        for i in range(stop - start):
            o[i] = _whole(floor(_exact(a[i]) / _exact(b[i])))
    else:
        for i in range(stop - start):
            o[i] = _quotient(a[i], b[i])


@exact_kernel
def _remainder(x: i64s, y: i64s, zero: i64s, out: i64s, start: i64, stop: i64) -> None:
    """Remainders of such quotients, which have the signs of the divisors."""
    a = at(x, start)
    b = at(y, start)
    o = at(out, start)
    found = _spread(a, b, stop - start)
    if found < 0:
        zero[0] = 1
    if found < _EXACT and found >= 0:
        for i in range(stop - start):
            dividend = _exact(a[i])
            divisor = _exact(b[i])
            o[i] = _whole(dividend - floor(dividend / divisor) * divisor)
    else:
        for i in range(stop - start):
            o[i] = a[i] - _quotient(a[i], b[i]) * b[i]


@inline
def _divisor(x: i64, y: i64) -> i64:
    """The greatest common divisor; the least integer, which has no magnitude, stays as it is."""
    a = _size(x)
    b = _size(y)
    while b != 0:
        rest = a % b
        a = b
        b = _size(rest)
    return a


@inline
def _small_divisors(x: i64s, y: i64s, out: i64s, count: i64) -> None:
    """Common divisors of magnitudes that float32 holds: Euclid's steps for many at once."""
    a = local(f32, _LANES)
    b = local(f32, _LANES)
    for first in range(0, count, _LANES):
        lanes = min(_LANES, count - first)
        for j in range(_LANES):
            a[j] = 0.0
            b[j] = 0.0
        for j in range(lanes):
            a[j] = f32(_exact(_size(x[first + j])))
            b[j] = f32(_exact(_size(y[first + j])))
        left = 1
        while left > 0:
            left = 0
            for j in range(_LANES):
                own = a[j]
                other = b[j]
                more = other > 0.0
                divisor = other if more else f32(1.0)
                rest = own - floor(own / divisor) * divisor
                a[j] = other if more else own
                b[j] = rest if more else f32(0.0)
                left = left | (1 if (more and rest > 0.0) else 0)
        for j in range(lanes):
            out[first + j] = _whole(f64(a[j]))


@inline
def _divisors(x: i64s, y: i64s, out: i64s, count: i64) -> None:
    if (_spread(x, y, count) & 9223372036854775807) < _SINGLE:
        _small_divisors(x, y, out, count)
    else:
        for i in range(count):
            out[i] = _divisor(x[i], y[i])


@exact_kernel
def _gcd(x: i64s, y: i64s, out: i64s, start: i64, stop: i64) -> None:
    _divisors(at(x, start), at(y, start), at(out, start), stop - start)


@exact_kernel
def _lcm(x: i64s, y: i64s, out: i64s, start: i64, stop: i64) -> None:
    a = at(x, start)
    b = at(y, start)
    o = at(out, start)
    _divisors(a, b, o, stop - start)
    if (_spread(a, b, stop - start) & 9223372036854775807) < _SINGLE:
        for i in range(stop - start):
            parts = _exact(_size(a[i])) / _exact(max(o[i], 1))
            o[i] = _whole(parts * _exact(_size(b[i])))
    else:
        for i in range(stop - start):
            own = _size(a[i]) // (1 if o[i] == 0 else o[i])
            o[i] = _size(own) * _size(b[i])


@kernel
def _and(x: i64s, y: i64s, out: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = x[i] & y[i]


@kernel
def _or(x: i64s, y: i64s, out: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = x[i] | y[i]


@kernel
def _xor(x: i64s, y: i64s, out: i64s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = x[i] ^ y[i]


# The kernels by what NumPy calls them: elements from which they are faster, and those of a chunk.
_BOTH: dict[Any, tuple[Kernel, int, int]] = {
    np.bitwise_and: (_and, LARGE, CHUNK),
    np.bitwise_or: (_or, LARGE, CHUNK),
    np.bitwise_xor: (_xor, LARGE, CHUNK),
    np.gcd: (_gcd, SOME, _FEWEST),
    np.lcm: (_lcm, SOME, _FEWEST),
}
_DIVIDING: dict[Any, Kernel] = {np.floor_divide: _floor_divide, np.remainder: _remainder}


def _readable(x: Any, y: Any) -> bool:
    """Whether these are int64 arrays of one shape that kernels can read in place."""
    return (
        x.dtype is _INT64
        and y.dtype is _INT64
        and x.shape == y.shape
        and is_plain(x)
        and is_plain(y)
        and available()
    )


def computed(ufunc: Callable[..., Any], x: Any, y: Any) -> Any:
    """What a function of `_BOTH` gives of arrays, or of what stands for them."""
    if isinstance(x, np.ndarray):
        run, least, chunk = _BOTH[ufunc]
        if x.size >= least and _readable(x, y):
            out = np.empty(x.shape, np.int64)
            run.f32(x, y, out, x.size, chunk)
            return out
    return ufunc(x, y)


def divided(ufunc: Callable[..., Any], x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """The quotients, or remainders, of integers rounded down; None if a divisor is 0."""
    if x.size >= (SOME if loaded() else LARGE) and _readable(x, y):
        zero, out = np.zeros(1, np.int64), np.empty(x.shape, np.int64)
        _DIVIDING[ufunc].f32(x, y, zero, out, x.size, _FEWER)
        return None if zero[0] else out
    if x.size and np.count_nonzero(y) < y.size:
        return None
    return ufunc(x, y)
