"""Evenly spaced numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels

# Ends below which differences do not overflow.
_SAFE = 1e38

_WIDER: dict[type, type] = {np.float32: np.float64, np.float64: np.longdouble}


def evenly(first: Any, last: Any, n: int, kind: Any) -> np.ndarray:
    """`n` numbers from `first` to `last`, to the last bit those of a fused multiply-add.

    Each is an end and so many steps, rounded once: computed in a wider kind, in which the
    product is exact, where there is one.
    """
    if kind in _WIDER and n > 1 and max(abs(first), abs(last)) < _SAFE:
        a, b = kind(first), kind(last)
        step = (b - a) / kind(n - 1)
        spaced = kernels.filling.spaced(float(a), float(b), float(step), n, kind)
        if spaced is not None:
            return spaced
    with np.errstate(all="ignore"):
        return from_both_ends(first, last, n, kind, _WIDER.get(kind, kind))


def from_both_ends(first: Any, last: Any, n: int, kind: Any, wide: Any) -> np.ndarray:
    """From both ends towards the middle, so that both ends are exact; computed in `wide`."""
    if n == 1:
        return np.full(1, first, kind)
    first, last = kind(first), kind(last)
    half = n // 2
    distances = np.arange(n - half).astype(wide)
    distances *= wide((last - first) / kind(max(n - 1, 1)))
    values = np.empty(n, kind)
    np.add(wide(first), distances[:half], out=values[:half], casting="same_kind")
    np.subtract(wide(last), distances[::-1], out=values[half:], casting="same_kind")
    return values
