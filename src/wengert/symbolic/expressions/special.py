"""Special functions, as SciPy has them."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from wengert.symbolic.dtypes import to_float, upcast
from wengert.symbolic.expressions.arithmetic import (
    add,
    elementwise,
    exp,
    gammaln,
    log,
    mul,
    neg,
    psi,
    sqr,
    sub,
    true_div,
)
from wengert.symbolic.expressions.elemwise import Scalar
from wengert.symbolic.graph import undefined


def _scipy(name: str) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        return getattr(import_module("scipy.special"), name)(*values)

    return function


def _enter(name: str, of: str, gradient: Callable[..., Any], nin: int = 1) -> None:
    def dtype(*dtypes: str) -> str:
        return upcast(*map(to_float, dtypes))

    # The count is checked: SciPy would write its results to an argument too many.
    Scalar(name, _scipy(of), dtype, gradient, lambda dtypes, out: out, nin=nin)


def _of_order(sign: Any, kind: Any) -> Callable[..., Any]:
    """The gradient of a Bessel function: half the difference or sum of its neighbours."""

    def gradient(inputs: Any, out: Any, g: Any) -> Any:
        order, x = inputs
        both = sign(kind()(sub(order, 1), x), kind()(add(order, 1), x))
        return [_without(order, "of the order"), mul(g, both, 0.5)]

    return gradient


def _without(x: Any, what: str = "of it") -> Any:
    return undefined("a special function", 0, x, f"Nobody has written the derivative {what}.")


def _no_gradient(inputs: Any, out: Any, g: Any) -> Any:
    return [_without(x) for x in inputs]


_enter("gamma", "gamma", lambda i, o, g: [mul(g, o, psi(i[0]))])
_enter("erfcx", "erfcx", lambda i, o, g: [
    mul(g, sub(mul(2.0, i[0], o), 2 / math.sqrt(math.pi)))])  # fmt: skip
_enter("erfcinv", "erfcinv", lambda i, o, g: [mul(g, exp(sqr(o)), -math.sqrt(math.pi) / 2)])
_enter("chi2sf", "chdtrc", _no_gradient, 2)
_enter("gammainc", "gammainc", lambda i, o, g: [
    _without(i[0]), mul(g, exp(sub(mul(sub(i[0], 1), log(i[1])), add(i[1], gammaln(i[0])))))
], 2)  # fmt: skip
_enter("gammaincc", "gammaincc", lambda i, o, g: [
    _without(i[0]), neg(mul(g, exp(sub(mul(sub(i[0], 1), log(i[1])), add(i[1], gammaln(i[0]))))))
], 2)  # fmt: skip
_enter("jv", "jv", _of_order(sub, lambda: jv), 2)
_enter("iv", "iv", _of_order(add, lambda: iv), 2)
_enter("j0", "j0", lambda i, o, g: [neg(mul(g, j1(i[0])))])
_enter("j1", "j1", lambda i, o, g: [mul(g, sub(j0(i[0]), jv(2, i[0])), 0.5)])
_enter("i0", "i0", lambda i, o, g: [mul(g, i1(i[0]))])
_enter("i1", "i1", lambda i, o, g: [mul(g, add(i0(i[0]), iv(2, i[0])), 0.5)])
_enter("xlogy0", "xlogy", lambda i, o, g: [mul(g, log(i[1])), mul(g, true_div(i[0], i[1]))], 2)

gamma: Any = elementwise("gamma", "The gamma function.")
erfcx: Any = elementwise("erfcx", "``exp(a**2) * erfc(a)``.")
erfcinv: Any = elementwise("erfcinv", "The inverse of `erfc`.")
gammainc: Any = elementwise("gammainc", "The lower incomplete gamma function of (order, x).")
gammaincc: Any = elementwise("gammaincc", "The upper incomplete gamma function of (order, x).")
j0: Any = elementwise("j0", "The Bessel function of the first kind of order 0.")
j1: Any = elementwise("j1", "The Bessel function of the first kind of order 1.")
jv: Any = elementwise("jv", "The Bessel function of the first kind of (order, x).")
i0: Any = elementwise("i0", "The modified Bessel function of order 0.")
i1: Any = elementwise("i1", "The modified Bessel function of order 1.")
iv: Any = elementwise("iv", "The modified Bessel function of (order, x).")
xlogy0 = elementwise("xlogy0", "``a * log(b)``, and 0 where `a` is 0.")


def chi2sf(x: Any, k: Any) -> Any:
    """The chance that a chi-squared variable of `k` degrees of freedom exceeds `x`."""
    return _chi2sf(k, x)


_chi2sf = elementwise("chi2sf", "`chi2sf` of (degrees of freedom, x), in SciPy's order.")

__all__ = [
    "chi2sf",
    "erfcinv",
    "erfcx",
    "gamma",
    "gammainc",
    "gammaincc",
    "i0",
    "i1",
    "iv",
    "j0",
    "j1",
    "jv",
]
