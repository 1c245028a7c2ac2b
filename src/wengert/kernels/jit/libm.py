"""The C library's functions of doubles, for kernels: accurate, one number at a time.

`mathlib` and `precise` have what LLVM turns into vectors. These are for loops that cannot be
vectors anyway, and whose results are to be those that C gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from wengert.kernels.jit.builtins import f64
from wengert.kernels.jit.native import Native


def _of_c(python: Callable[..., float]) -> Native:
    """A function of the C library that has the name and the arguments of one in Python."""
    return _of(python, python.__name__)


def _of_llvm(python: Callable[..., float]) -> Native:
    """The same, where LLVM calls it: kernels may have a function of that name."""
    return _of(python, f"llvm.{python.__name__}.f64")


def _of(python: Callable[..., float], symbol: str) -> Native:
    name = python.__name__
    count = python.__code__.co_argcount
    types = ", ".join(["double"] * count)
    named = ", ".join(f"double %x{i}" for i in range(count))
    text = (
        f"define internal double @c_{name}({named}) alwaysinline nounwind {{\n"
        f"  %y = call double @{symbol}({named})\n"
        "  ret double %y\n}"
    )
    python.__name__ = f"c_{name}"
    return Native(python, text, f"double @{symbol}({types})", real="any")


@_of_c
def exp(x: f64) -> f64:
    """e to the power of x."""
    return math.exp(x) if x < 709.0 else math.inf if x == x else x


@_of_c
def log(x: f64) -> f64:
    """The natural logarithm; -inf of 0, NaN of negative numbers."""
    return math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan


@_of_c
def log1p(x: f64) -> f64:
    """log(1 + x); -inf of -1, NaN below."""
    return math.log1p(x) if x > -1.0 else -math.inf if x == -1.0 else math.nan


@_of_c
def pow(x: f64, y: f64) -> f64:
    """x >= 0 to the power of y."""
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError):  # 0 to a negative power, too
        return math.inf


@_of_llvm
def sin(x: f64) -> f64:
    """The sine."""
    return math.sin(x)


@_of_llvm
def cos(x: f64) -> f64:
    """The cosine."""
    return math.cos(x)


@_of_c
def lgamma(x: f64) -> f64:
    """The logarithm of the gamma function, for x > 0."""
    return math.lgamma(x)


def _remainder(python: Callable[..., float]) -> Native:
    """LLVM's `frem`, for which it calls the C library's `fmod`."""
    text = (
        "define internal double @c_fmod(double %x, double %y) alwaysinline nounwind {\n"
        "  %r = frem double %x, %y\n"
        "  ret double %r\n}"
    )
    python.__name__ = "c_fmod"
    return Native(python, text, real="any")


@_remainder
def fmod(x: f64, y: f64) -> f64:
    """The remainder of x by y, with the sign of x."""
    return math.fmod(x, y)
