"""Special functions that SciPy has, over float arrays: computed in float64 and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.kernels.layout import astype

# Quicker than the functions for any order.
_FIRST_ORDERS = {
    ("i", 0): "i0", ("i", 1): "i1", ("ie", 0): "i0e", ("ie", 1): "i1e", ("j", 0): "j0",
    ("j", 1): "j1", ("y", 0): "y0", ("y", 1): "y1", ("k", 0): "k0", ("k", 1): "k1",
    ("ke", 0): "k0e", ("ke", 1): "k1e",
}  # fmt: skip
_ANY_ORDER = {"i": "iv", "ie": "ive", "j": "jv", "y": "yv", "k": "kv", "ke": "kve"}


def by_scipy(name: str, *arrays: np.ndarray) -> Any:
    """The function of that name of `scipy.special`."""
    from scipy import special

    wide = [astype(a, np.float64) for a in arrays]
    return getattr(special, name)(*wide).astype(arrays[0].dtype, copy=False)


def bessel(kind: str, order: int, x: np.ndarray) -> np.ndarray:
    """A Bessel function: j, y, i or k; "ie" and "ke" are times exp(-|x|) and exp(x)."""
    name = _FIRST_ORDERS.get((kind, order))
    if name is not None:
        return by_scipy(name, x)
    return by_scipy(_ANY_ORDER[kind], np.full((), float(order)), x).astype(x.dtype, copy=False)


def airy(x: np.ndarray, derivative: bool) -> np.ndarray:
    """Airy's function Ai, or its derivative."""
    from scipy import special

    values = special.airy(astype(x, np.float64))
    return values[int(derivative)].astype(x.dtype, copy=False)


def polynomial(
    x: np.ndarray,
    n: np.ndarray,
    first: Callable[[np.ndarray], np.ndarray],
    following: Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """The n-th polynomial of a family with p0 = 1, p1 = ``first(x)``, at each element.

    ``following(k, x, p, q)`` is p(k+1) of p(k) and p(k-1). A negative n gives zero.
    """
    x, n = np.broadcast_arrays(x.astype(np.float64, copy=False), np.trunc(n))
    out = np.where(n == 0, 1.0, 0.0)
    before, here = np.ones_like(x), first(x)
    for k in range(1, int(n.max(initial=0)) + 1):
        out = np.where(n == k, here, out)
        before, here = here, following(k, x, here, before)
    return out
