"""Functions of the normal distribution, entropy, and zeta."""

from __future__ import annotations

import math

import numpy as np

from wengert.kernels.scipy_special import by_scipy
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import exp, log, log1p
from wengert.ops.gamma import refused
from wengert.ops.zeros import drop

_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)


@elementwise(floats=True, input=lambda g, input: g * exp(-0.5 * (input * input)) * (1 / _ROOT_2PI))
def ndtr(input: Value) -> Value:
    """The probability that a standard normal number is below each element.

    >>> import wengert
    >>> wengert.special.ndtr(wengert.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """
    require_kind("ndtr", input, "f")
    return by_scipy("ndtr", input)


@elementwise(
    floats=True,
    input=lambda g, input: g / erfcx(input * -_ROOT_HALF) * math.sqrt(2 / math.pi),
)
def log_ndtr(input: Value) -> Value:
    """The logarithm of `ndtr`, accurate far below zero.

    >>> import wengert
    >>> wengert.special.log_ndtr(wengert.tensor([0.0, -20.0]))
    tensor([  -0.6931, -203.9172])
    """
    require_kind("log_ndtr_cpu", input, "f")
    return by_scipy("log_ndtr", input)


@elementwise(floats=True, input=lambda g, out: g * exp(0.5 * (out * out)) * _ROOT_2PI)
def ndtri(input: Value) -> Value:
    """The inverse of `ndtr`.

    >>> import wengert
    >>> wengert.special.ndtri(wengert.tensor([0.5, 0.9]))
    tensor([0.0000, 1.2816])
    """
    require_kind("ndtri_cpu", input, "f")
    return by_scipy("ndtri", input)


@elementwise(
    floats=True,
    input=lambda g, input, out: g * (2.0 * input * out - 2.0 / math.sqrt(math.pi)),
)
def erfcx(input: Value) -> Value:
    """``exp(x**2) erfc(x)``.

    >>> import wengert
    >>> wengert.special.erfcx(wengert.tensor([0.0, 10.0]))
    tensor([1.0000, 0.0561])
    """
    require_kind("erfcx_cpu", input, "f")
    return by_scipy("erfcx", input)


@elementwise(floats=True, input=lambda g, input: -(g * (1.0 + log(input))))
def entr(input: Value) -> Value:
    """``-x log(x)``: 0 at zero, minus infinity below.

    >>> import wengert
    >>> wengert.special.entr(wengert.tensor([0.0, 0.5]))
    tensor([0.0000, 0.3466])
    """
    require_kind("entr", input, "f")
    return by_scipy("entr", input)


@elementwise(
    floats=True,
    input=lambda g, input, other: drop(g * log1p(other), (input == 0.0) & (other <= -1.0)),
    other=lambda g, input, other: g * (input / (other + 1.0)),
)
def xlog1py(input: Value, other: Value) -> Value:
    """``input * log1p(other)``, and 0 wherever `input` is 0 and `other` is not NaN.

    >>> import wengert
    >>> wengert.special.xlog1py(wengert.tensor([0.0, 2.0]), wengert.tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """
    require_kind("xlog1py", input, "f")
    zero = (input == 0) & ~np.isnan(other)
    return np.where(zero, input.dtype.type(0), input * np.log1p(other))


@elementwise(
    floats=True,
    input=lambda g: refused("special_zeta: input"),
    other=lambda g, input, other: -(g * input * zeta(input + 1.0, other)),
)
def zeta(input: Value, other: Value) -> Value:
    """Hurwitz' zeta function: the sum of ``(k + other) ** -input`` over k = 0, 1, ...

    Differentiable with respect to `other`.

    >>> import wengert
    >>> wengert.special.zeta(wengert.tensor([2.0, 4.0]), 1.0)
    tensor([1.6449, 1.0823])
    """
    require_kind("zeta", input, "f")
    return by_scipy("zeta", input, other)
