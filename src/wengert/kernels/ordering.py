"""Integers in the order of floats, as kernels compare them: in one cycle."""

from __future__ import annotations

from wengert.kernels.jit.builtins import bits, bits64, f32, f64, i32, i64, inline


@inline
def float_key(x: f32) -> i32:
    """The same for zeros of both signs, and the largest for NaN."""
    b = bits(x + 0.0)  # no -0
    return (b ^ ((b >> 31) & 2147483647)) if x == x else i32(2147483647)


@inline
def double_key(x: f64) -> i64:
    """The same of 64 bits."""
    b = bits64(x + 0.0)  # no -0
    return (b ^ ((b >> 63) & 9223372036854775807)) if x == x else 9223372036854775807
