"""Exponentials and logarithms."""

from __future__ import annotations

import math

import numpy as np

from wengert.kernels.precision import in_float32
from wengert.kernels.scan import logaddexp as logaddexp_of
from wengert.ops.checks import require_kind
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, elementwise
from wengert.ops.zeros import drop, keep

_LN2, _LN10 = math.log(2.0), math.log(10.0)


@elementwise(np.exp, floats=True, input=lambda g, out: g * conj(out))
def exp(input: Value) -> Value:
    """e to the power of each element.

    >>> import wengert
    >>> wengert.exp(wengert.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


@elementwise(np.exp2, floats=True, input=lambda g, out: g * conj(out) * _LN2)
def exp2(input: Value) -> Value:
    """2 to the power of each element.

    >>> import wengert
    >>> wengert.exp2(wengert.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """


@elementwise(np.expm1, floats=True, input=lambda g, out: g * conj(out + 1.0))
def expm1(input: Value) -> Value:
    """``exp(x) - 1``, accurate near zero.

    >>> import wengert
    >>> wengert.expm1(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 1.7183])
    """


@elementwise(np.log, floats=True, input=lambda g, input: g / conj(input))
def log(input: Value) -> Value:
    """Natural logarithm of each element; NaN for negative real ones.

    >>> import wengert
    >>> wengert.log(wengert.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


@elementwise(np.log2, floats=True, input=lambda g, input: g / conj(input * _LN2))
def log2(input: Value) -> Value:
    """Logarithm to the base 2.

    >>> import wengert
    >>> wengert.log2(wengert.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """


def _log10(x: np.ndarray) -> np.ndarray:
    # NumPy's single-precision log10 misses powers of ten.
    return np.log10(x, dtype=np.float64).astype(x.dtype) if x.dtype == np.float32 else np.log10(x)


@elementwise(_log10, scalar=np.log10, floats=True, input=lambda g, input: g / conj(input * _LN10))
def log10(input: Value) -> Value:
    """Logarithm to the base 10.

    >>> import wengert
    >>> wengert.log10(wengert.tensor([1.0, 1000.0]))
    tensor([0., 3.])
    """


@elementwise(np.log1p, floats=True, input=lambda g, input: g / conj(input + 1.0))
def log1p(input: Value) -> Value:
    """``log(1 + x)``, accurate near zero.

    >>> import wengert
    >>> wengert.log1p(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.6931])
    """


@in_float32
def _sigmoid(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind == "c":
        left = x.real < 0
        small = np.exp(np.where(left, x, -x))  # quotients of infinite complex numbers are wrong
        return np.where(left, small, 1) / (1 + small)
    # Where exp(-x) overflows, 1 / inf is the right answer.
    out = np.exp(np.negative(x))
    out += 1
    return np.reciprocal(out)


@elementwise(
    _sigmoid,
    scalar=lambda input: input.call("sigmoid", 0.6),
    floats=True,
    input=lambda g, out: g * conj((1.0 - out) * out),
)
def sigmoid(input: Value) -> Value:
    """The logistic function ``1 / (1 + exp(-x))``.

    >>> import wengert
    >>> wengert.sigmoid(wengert.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """


@in_float32
def _logit(x: np.ndarray, eps: float | None) -> np.ndarray:
    if eps is not None:
        x = np.clip(x, x.dtype.type(eps), x.dtype.type(1.0 - eps))
    return np.log(x / (1 - x))


@elementwise(floats=True, input=lambda g, input, eps: _logit_slope(g, input, eps))
def logit(input: Value, eps: float | None = None) -> Value:
    """``log(x / (1 - x))``, the inverse of `sigmoid`; with `eps`, x is first clamped to
    [eps, 1 - eps].

    >>> import wengert
    >>> wengert.logit(wengert.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    require_kind("logit_cpu", input, "f")
    return _logit(input, eps)


def _logit_slope(g: Value, input: Value, eps: float | None) -> Value:
    slope = g / (input * (1.0 - input))
    if eps is None:
        return slope
    return keep(slope, (input >= eps) & (input <= 1.0 - eps))


@elementwise(
    input=lambda g, input, other: g * conj(sigmoid(input - other)),
    other=lambda g, input, other: g * conj(sigmoid(other - input)),
    tensors=("input", "other"),
)
def logaddexp(input: Value, other: Value) -> Value:
    """``log(exp(input) + exp(other))``, without intermediate overflow.

    >>> import wengert
    >>> wengert.logaddexp(wengert.tensor([0.0]), wengert.tensor([0.0]))
    tensor([0.6931])
    """
    require_kind("logaddexp_cpu", input, "fc")
    return logaddexp_of(input, other)


@elementwise(
    input=lambda g, input, other: g * sigmoid((input - other) * _LN2),
    other=lambda g, input, other: g * sigmoid((other - input) * _LN2),
    tensors=("input", "other"),
)
def logaddexp2(input: Value, other: Value) -> Value:
    """``log2(2**input + 2**other)``, without intermediate overflow.

    >>> import wengert
    >>> wengert.logaddexp2(wengert.tensor([1.0]), wengert.tensor([1.0]))
    tensor([2.])
    """
    require_kind("logaddexp2_cpu", input, "f")
    return np.logaddexp2(input, other)


@elementwise(
    floats=True,
    input=lambda g, input, other: drop(g * log(other), (input == 0.0) & (other <= 0.0)),
    other=lambda g, input, other: g * (input / other),
)
def xlogy(input: Value, other: Value) -> Value:
    """``input * log(other)``, and 0 wherever `input` is 0 and `other` is not NaN.

    >>> import wengert
    >>> wengert.xlogy(wengert.tensor([0.0, 2.0]), wengert.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    require_kind("xlogy_cpu", input, "f")
    zero = (input == 0) & ~np.isnan(other)
    return np.where(zero, input.dtype.type(0), input * np.log(other))


__all__ = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logaddexp2",
    "logit",
    "sigmoid",
    "xlogy",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ("sigmoid",)
METHODS = tuple(__all__)
INPLACE = tuple(name for name in __all__ if not name.startswith("logaddexp"))
