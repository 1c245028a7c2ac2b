"""Evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

_WIDER: dict[type, type] = {np.float32: np.float64, np.float64: np.longdouble}


def evenly(first: Any, last: Any, n: int, kind: Any) -> np.ndarray:
    """`n` numbers from `first` to `last`, to the last bit those of a fused multiply-add.

    Each is an end and so many steps, rounded once: computed in a wider kind, in which the
    product is exact, where there is one.
    """
    with np.errstate(all="ignore"):
        return from_both_ends(first, last, n, kind, _WIDER.get(kind, kind)).astype(kind)


def from_both_ends(first: Any, last: Any, n: int, kind: Any, wide: Any) -> np.ndarray:
    """From both ends towards the middle, so that both ends are exact."""
    if n == 1:
        return np.full(1, first, kind)
    places = np.arange(n)
    first, last = kind(first), kind(last)
    step = wide((last - first) / kind(max(n - 1, 1)))
    low = wide(first) + step * places.astype(wide)
    high = wide(last) - step * (n - 1 - places).astype(wide)
    return np.where(places < n // 2, low, high)
