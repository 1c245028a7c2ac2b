"""How quantiles move with parameters: of the gamma and the beta distribution.

A sample x that keeps its quantile while a parameter a changes moves by
``dx/da = -(dF/da) / p(x)``, where F is the distribution function and p the density. Both
``dF/da = E[log t - E log t; t < x]`` is minus the same over t > x. Of the two the one is taken
over whose side ``log t`` keeps away from its mean, so that little cancels: below x where log x is
less than about E log t, and for small a, where mass piles up at 0, up to a constant. The
integrals run over y > 0 with ``t = x exp(-y)`` and the like, by a double exponential rule.

Reference:
    H. Takahasi and M. Mori, Double exponential formulas for numerical integration,
    Publ. RIMS 9 (1974).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from wengert.kernels.jit import Kernel, available
from wengert.kernels.quantiles import native
from wengert.kernels.special import digamma64

Array = np.ndarray


class Rule:
    """For integrands that fall exponentially: nodes y = exp(s - exp(-s)), s = low, low + step...

    `far` is where an exponential is small enough to be left out.
    """

    def __init__(self, low: float, step: float, far: float) -> None:
        self.low, self.step, self.far = low, step, far

    @cached_property
    def _places(self) -> Array:
        return np.arange(self.low, 12.0, self.step)

    @cached_property
    def nodes(self) -> Array:
        """Where the integrand is asked for, over its width."""
        return np.exp(self._places - np.exp(-self._places))

    @cached_property
    def weights(self) -> Array:
        """What it counts there."""
        return self.step * (1.0 + np.exp(-self._places)) * self.nodes


# With relative errors of 1e-12. For what is rounded to float32: of 1e-8 for beta distributions; for
# gamma distributions sums in float32, of 1e-6, for all but small shapes, and for large ones.
FULL, SHORT = Rule(-4.0, 0.125, 40.0), Rule(-2.9, 0.2, 22.0)
_USUAL, _LARGE = 0.2, 8.0
_SINGLE, _SINGLE_LARGE = Rule(-3.0, 0.125, 25.0), Rule(-2.9, 0.1875, 18.0)
_BLOCK = 1024  # elements at a time: 128 nodes each
_TINY = np.finfo(np.float64).tiny
# Slopes from which compiling a kernel is worth it, and those of a chunk.
_FEW, _CHUNK = 32, 256


def _integral(width: Array, integrand: Callable[[Array], Array]) -> Array:
    """The integral over y > 0 for each row, of functions that fall over about `width`."""
    with np.errstate(over="ignore", under="ignore"):
        return width * (integrand(width[:, None] * FULL.nodes) @ FULL.weights)


def _by_sides(
    below: Array, sides: tuple[Callable[..., Array], Callable[..., Array]], *arrays: Array
) -> Array:
    """The first function where `below`, the second elsewhere, in blocks."""
    result = np.empty(below.shape)
    for chosen, function in zip((below, ~below), sides, strict=True):
        places = np.flatnonzero(chosen)
        for start in range(0, places.size, _BLOCK):
            at = places[start : start + _BLOCK]
            result[at] = function(*(a[at] for a in arrays))
    return result


def _margin(a: Array) -> Array:
    """How far beyond E log t the side below is still the better one: 1/a for small a."""
    return 1.0 / a - 1.0 / (1.0 + a)


def _gamma_lower(a: Array, x: Array, psi: Array) -> Array:
    offset, a_, x_ = (np.log(x) - psi)[:, None], a[:, None], x[:, None]

    def integrand(y: Array) -> Array:
        return np.exp(-a_ * y - x_ * np.expm1(-y)) * (offset - y)

    return -x * _integral(1.0 / (np.abs(a - x) + np.sqrt(x)), integrand)


def _gamma_upper(a: Array, x: Array, psi: Array) -> Array:
    offset, a_, x_ = (np.log(x) - psi)[:, None], a[:, None], x[:, None]

    def integrand(y: Array) -> Array:
        y = np.minimum(y, 700.0)
        return np.exp(a_ * y - x_ * np.expm1(y)) * (offset + y)

    return x * _integral(np.log1p(1.0 / (np.abs(a - x) + np.sqrt(x))), integrand)


def _compiled(kernel: Kernel, rule: Rule, arrays: tuple[Array, ...], *options: int) -> Array:
    out = np.empty(arrays[0].size)
    numbers = rule.nodes.size, rule.low, rule.step, rule.far
    kernel.f64(*arrays, out, rule.nodes, rule.weights, *numbers, *options, out.size, _CHUNK)
    return out


def _slopes(a: Array, x: Array) -> Array:
    return _compiled(native.gamma_slopes, FULL, (a, x), 0)


def _rounded_slopes(a: Array, x: Array) -> Array:
    """The slopes to about float32's accuracy; those of small shapes, where terms cancel, apart."""
    usual = a >= _USUAL
    count = np.count_nonzero(usual)
    if 0 < count < a.size:
        out = np.empty(a.size)
        for part in (usual, ~usual):
            out[part] = _rounded_slopes(a[part], x[part])
        return out
    rule = _SINGLE_LARGE if a.min() >= _LARGE else _SINGLE
    return _compiled(native.gamma_slopes, rule, (a, x), int(count > 0))


def gamma_quantile_slope(a: Array, x: Array, rounded: bool = False) -> Any:
    """dx/da of quantiles x of the gamma distribution of shape a and rate 1, in float64.

    Here and below, `rounded` says that the result will be rounded to float32.
    """
    a, x = np.broadcast_arrays(a, x)
    shape, a, x = a.shape, a.ravel(), np.maximum(x.ravel(), _TINY)
    if a.size >= _FEW and available():
        return (_rounded_slopes if rounded else _slopes)(a, x).reshape(shape)
    psi = digamma64(a)
    sides = _gamma_lower, _gamma_upper
    below = np.log(x) < psi + _margin(a)
    return _by_sides(below, sides, a, x, psi).reshape(shape)


def _beta_lower(x: Array, a: Array, b: Array, center: Array) -> Array:
    rest = 1.0 - x
    offset, a_, b_, x_, rest_ = (v[:, None] for v in (np.log(x) - center, a, b, x, rest))

    def integrand(y: Array) -> Array:
        complement = rest_ - x_ * np.expm1(-y)
        return np.exp(-a_ * y + (b_ - 1.0) * np.log(complement / rest_)) * (offset - y)

    slope = np.abs(a - (b - 1.0) * x / rest)
    width = 1.0 / (slope + np.sqrt(np.abs(b - 1.0) * x) / rest)
    return -x / rest * _integral(width, integrand)


def _beta_upper(x: Array, a: Array, b: Array, center: Array) -> Array:
    rest = 1.0 - x
    a_, b_, center_, x_, rest_ = (v[:, None] for v in (a, b, center, x, rest))

    def integrand(y: Array) -> Array:
        ratio = np.log1p(-np.expm1(-y) * rest_ / x_)
        return np.exp(-b_ * y + (a_ - 1.0) * ratio) * (np.log(x_) + ratio - center_)

    slope = np.abs(b - (a - 1.0) * rest / x)
    return _integral(1.0 / (slope + np.sqrt(np.abs(a - 1.0) * rest) / x), integrand)


def dirichlet_quantile_slope(x: Array, a: Array, total: Array, rounded: bool = False) -> Any:
    """dx/da / (1 - x) of quantiles x of the beta distribution of a and ``total - a``.

    That of a Dirichlet distribution's component with concentration a, in float64.
    """
    x, a, total = np.broadcast_arrays(x, a, total)
    shape, a, b = a.shape, a.ravel(), (total - a).ravel()
    x = np.clip(x.ravel(), _TINY, 1.0)
    if a.size >= _FEW and available():
        rule = SHORT if rounded else FULL
        return _compiled(native.beta_slopes, rule, (x, a, b)).reshape(shape)
    center = digamma64(a) - digamma64(a + b)
    sides = _beta_lower, _beta_upper
    below = np.log(x) < center + np.where(x < 0.5, _margin(a), 0.0)
    return _by_sides(below, sides, x, a, b, center).reshape(shape)
