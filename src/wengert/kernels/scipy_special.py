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
    values = by_scipy(_ANY_ORDER[kind], np.full((), float(order)), x).astype(x.dtype, copy=False)
    lost = np.isnan(values) & ~np.isnan(x)
    if lost.any() and kind in ("i", "ie", "ke"):
        values = np.asarray(values)
        values[lost] = _limit(kind, order, x[lost])
    return values


def _limit(kind: str, order: int, x: np.ndarray) -> np.ndarray:
    """What a modified Bessel function of an order above 1 goes to, where SciPy gives up."""
    size = np.abs(x)
    if kind == "i":
        far = np.where(size < 1, 0.0, np.inf)
    else:
        far = 1 / np.sqrt((2 / np.pi if kind == "ke" else 2 * np.pi) * size.astype(np.float64))
    return far * np.sign(x) ** order


def airy(x: np.ndarray, derivative: bool) -> np.ndarray:
    """Airy's function Ai, or its derivative."""
    from scipy import special

    wide = astype(x, np.float64)
    values = np.asarray(special.airy(wide)[int(derivative)])
    far = np.abs(wide) > 1e6  # SciPy gives up
    if far.any():
        values[far] = _far_airy(wide[far], derivative)
    return values.astype(x.dtype, copy=False)


def _far_airy(x: np.ndarray, derivative: bool) -> np.ndarray:
    """The leading term of the asymptotic series (Abramowitz and Stegun, 10.4.59 to 10.4.62)."""
    size = np.abs(x)
    phase = size**1.5 * (2 / 3) + np.pi / 4
    wave = -np.cos(phase) * size**0.25 if derivative else np.sin(phase) / size**0.25
    return np.where(x > 0, 0.0, wave / np.sqrt(np.pi))


def polynomial(
    x: np.ndarray,
    n: np.ndarray,
    first: Callable[[np.ndarray], np.ndarray],
    following: Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """The n-th polynomial of a family with p0 = 1, p1 = ``first(x)``, at each element.

    ``following(k, x, p, q)`` is p(k+1) of p(k) and p(k-1). A negative n gives zero, and so does
    one that is not finite.
    """
    degree = np.where(np.isfinite(n), np.trunc(n), -1.0)
    x, n = np.broadcast_arrays(x.astype(np.float64, copy=False), degree)
    out = np.where(n == 0, 1.0, 0.0)
    before, here = np.ones_like(x), first(x)
    for k in range(1, int(n.max(initial=0)) + 1):
        out = np.where(n == k, here, out)
        before, here = here, following(k, x, here, before)
    return out
