"""Bessel and Airy functions."""

from __future__ import annotations

import math

from wengert.core.tensor import Tensor
from wengert.kernels import scipy_special as kernels
from wengert.ops.bessel import bessel
from wengert.ops.checks import require_kind
from wengert.ops.comparison import isinf
from wengert.ops.declare import Value, elementwise
from wengert.ops.outputs import write_out
from wengert.ops.trigonometry import sinc
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop


def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind and order 0.

    >>> import wengert
    >>> wengert.special.bessel_j0(wengert.tensor([0.5, 2.0]))
    tensor([0.9385, 0.2239])
    """
    if out is not None:
        return write_out(bessel_j0, out, input)
    require_tensor("special_bessel_j0", "input", input)
    return bessel(input, "j", 0)


def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind and order 1.

    >>> import wengert
    >>> wengert.special.bessel_j1(wengert.tensor([0.5, 2.0]))
    tensor([0.2423, 0.5767])
    """
    if out is not None:
        return write_out(bessel_j1, out, input)
    require_tensor("special_bessel_j1", "input", input)
    return bessel(input, "j", 1)


def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind and order 0; NaN below zero.

    >>> import wengert
    >>> wengert.special.bessel_y0(wengert.tensor([0.5, 2.0]))
    tensor([-0.4445,  0.5104])
    """
    if out is not None:
        return write_out(bessel_y0, out, input)
    require_tensor("special_bessel_y0", "input", input)
    return bessel(input, "y", 0)


def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind and order 1; NaN below zero.

    >>> import wengert
    >>> wengert.special.bessel_y1(wengert.tensor([0.5, 2.0]))
    tensor([-1.4715, -0.1070])
    """
    if out is not None:
        return write_out(bessel_y1, out, input)
    require_tensor("special_bessel_y1", "input", input)
    return bessel(input, "y", 1)


def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|x|) i0(x)``, which does not overflow.

    >>> import wengert
    >>> wengert.special.i0e(wengert.tensor([0.5, 2.0]))
    tensor([0.6450, 0.3085])
    """
    if out is not None:
        return write_out(i0e, out, input)
    require_tensor("special_i0e", "input", input)
    return bessel(input, "ie", 0)


def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    >>> import wengert
    >>> wengert.special.i1(wengert.tensor([0.5, 2.0]))
    tensor([0.2579, 1.5906])
    """
    if out is not None:
        return write_out(i1, out, input)
    require_tensor("special_i1", "input", input)
    return bessel(input, "i", 1)


def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(-|x|) i1(x)``, which does not overflow.

    >>> import wengert
    >>> wengert.special.i1e(wengert.tensor([0.5, 2.0]))
    tensor([0.1564, 0.2153])
    """
    if out is not None:
        return write_out(i1e, out, input)
    require_tensor("special_i1e", "input", input)
    return bessel(input, "ie", 1)


def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `i0`.

    >>> import wengert
    >>> wengert.special.modified_bessel_i0(wengert.tensor([0.5, 2.0]))
    tensor([1.0635, 2.2796])
    """
    if out is not None:
        return write_out(modified_bessel_i0, out, input)
    require_tensor("special_modified_bessel_i0", "input", input)
    return bessel(input, "i", 0)


def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `i1`.

    >>> import wengert
    >>> wengert.special.modified_bessel_i1(wengert.tensor([0.5, 2.0]))
    tensor([0.2579, 1.5906])
    """
    if out is not None:
        return write_out(modified_bessel_i1, out, input)
    require_tensor("special_modified_bessel_i1", "input", input)
    return bessel(input, "i", 1)


def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 0.

    >>> import wengert
    >>> wengert.special.modified_bessel_k0(wengert.tensor([0.5, 2.0]))
    tensor([0.9244, 0.1139])
    """
    if out is not None:
        return write_out(modified_bessel_k0, out, input)
    require_tensor("special_modified_bessel_k0", "input", input)
    return bessel(input, "k", 0)


def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 1.

    >>> import wengert
    >>> wengert.special.modified_bessel_k1(wengert.tensor([0.5, 2.0]))
    tensor([1.6564, 0.1399])
    """
    if out is not None:
        return write_out(modified_bessel_k1, out, input)
    require_tensor("special_modified_bessel_k1", "input", input)
    return bessel(input, "k", 1)


def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x)`` times `modified_bessel_k0`, which does not underflow.

    >>> import wengert
    >>> wengert.special.scaled_modified_bessel_k0(wengert.tensor([0.5, 2.0]))
    tensor([1.5241, 0.8416])
    """
    if out is not None:
        return write_out(scaled_modified_bessel_k0, out, input)
    require_tensor("special_scaled_modified_bessel_k0", "input", input)
    return bessel(input, "ke", 0)


def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x)`` times `modified_bessel_k1`, which does not underflow.

    >>> import wengert
    >>> wengert.special.scaled_modified_bessel_k1(wengert.tensor([0.5, 2.0]))
    tensor([2.7310, 1.0335])
    """
    if out is not None:
        return write_out(scaled_modified_bessel_k1, out, input)
    require_tensor("special_scaled_modified_bessel_k1", "input", input)
    return bessel(input, "ke", 1)


def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(x) / x``, and 1 at zero.

    >>> import wengert
    >>> wengert.special.spherical_bessel_j0(wengert.tensor([0.0, 2.0]))
    tensor([1.0000, 0.4546])
    """
    if out is not None:
        return write_out(spherical_bessel_j0, out, input)
    require_tensor("special_spherical_bessel_j0", "input", input)
    return drop(sinc(input * (1 / math.pi)), isinf(input))


# Airy's equation: the second derivative is x times the function.
@elementwise(
    floats=True,
    input=lambda g, input, derivative: (
        g * (input * _airy(input, False) if derivative else _airy(input, True))
    ),
    label="SpecialAiryAiBackward0",
    name="airy_ai",
)
def _airy(input: Value, derivative: bool) -> Value:
    require_kind("airy_ai_cpu", input, "f")
    return kernels.airy(input, derivative)


def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai.

    >>> import wengert
    >>> wengert.special.airy_ai(wengert.tensor([0.0, 2.0]))
    tensor([0.3550, 0.0349])
    """
    if out is not None:
        return write_out(airy_ai, out, input)
    require_tensor("special_airy_ai", "input", input)
    return _airy(input, False)
