"""Bitwise operations, and greatest common divisors and multiples."""

from __future__ import annotations

import numpy as np

from wengert import kernels
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, elementwise

# Elements that deserve several threads.
_MANY = 1 << 15


@elementwise(input=None, other=None)
def bitwise_and(input: Value, other: Value) -> Value:
    """Bits that are set in both; the operator ``&``.

    >>> import wengert
    >>> wengert.bitwise_and(wengert.tensor([6, 7]), 3)
    tensor([2, 3])
    """
    require_kind("bitwise_and_cpu", input, "biu")
    if type(input) is np.ndarray and input.size >= _MANY:
        return kernels.integers.computed(np.bitwise_and, input, other)
    return np.bitwise_and(input, other)


@elementwise(input=None, other=None)
def bitwise_or(input: Value, other: Value) -> Value:
    """Bits that are set in either; the operator ``|``.

    >>> import wengert
    >>> wengert.bitwise_or(wengert.tensor([4, 5]), 3)
    tensor([7, 7])
    """
    require_kind("bitwise_or_cpu", input, "biu")
    if type(input) is np.ndarray and input.size >= _MANY:
        return kernels.integers.computed(np.bitwise_or, input, other)
    return np.bitwise_or(input, other)


@elementwise(input=None, other=None)
def bitwise_xor(input: Value, other: Value) -> Value:
    """Bits that are set in exactly one; the operator ``^``.

    >>> import wengert
    >>> wengert.bitwise_xor(wengert.tensor([6, 7]), 3)
    tensor([5, 4])
    """
    require_kind("bitwise_xor_cpu", input, "biu")
    if type(input) is np.ndarray and input.size >= _MANY:
        return kernels.integers.computed(np.bitwise_xor, input, other)
    return np.bitwise_xor(input, other)


@elementwise(input=None)
def bitwise_not(input: Value) -> Value:
    """Every bit inverted, or the negation of booleans; the operator ``~``.

    >>> import wengert
    >>> wengert.bitwise_not(wengert.tensor([0, 1]))
    tensor([-1, -2])
    """
    require_kind("bitwise_not_cpu", input, "biu")
    return np.invert(input)


def _width(array: np.ndarray) -> int:
    return 8 * array.itemsize


@elementwise(input=None, other=None)
def bitwise_left_shift(input: Value, other: Value) -> Value:
    """Bits shifted left; 0 where the shift is negative or not below the width. The operator ``<<``.

    >>> import wengert
    >>> wengert.bitwise_left_shift(wengert.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
    require_kind("lshift_cpu", input, "iu")
    inside = (other >= 0) & (other < _width(input))
    return np.where(inside, np.left_shift(input, np.where(inside, other, 0)), 0).astype(input.dtype)


@elementwise(input=None, other=None)
def bitwise_right_shift(input: Value, other: Value) -> Value:
    """Bits shifted right, keeping the sign; shifts out of range shift everything out.

    >>> import wengert
    >>> wengert.bitwise_right_shift(wengert.tensor([8, -8]), 2)
    tensor([ 2, -2])
    """
    require_kind("rshift_cpu", input, "iu")
    last = _width(input) - 1
    inside = (other >= 0) & (other <= last)
    emptied = np.right_shift(input, last) if input.dtype.kind == "i" else np.zeros_like(input)
    return np.where(inside, np.right_shift(input, np.where(inside, other, 0)), emptied)


@elementwise(input=None, other=None, tensors=("input", "other"))
def gcd(input: Value, other: Value) -> Value:
    """Greatest common divisor; that of 0 and 0 is 0.

    >>> import wengert
    >>> wengert.gcd(wengert.tensor([12, 18]), wengert.tensor([8, 12]))
    tensor([4, 6])
    """
    require_kind("gcd_cpu", input, "iu")
    return kernels.integers.computed(np.gcd, input, other)


@elementwise(input=None, other=None, tensors=("input", "other"))
def lcm(input: Value, other: Value) -> Value:
    """Least common multiple.

    >>> import wengert
    >>> wengert.lcm(wengert.tensor([4, 6]), wengert.tensor([6, 9]))
    tensor([12, 18])
    """
    require_kind("lcm_cpu", input, "iu")
    return kernels.integers.computed(np.lcm, input, other)


__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "gcd", "lcm",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE = METHODS
