"""What kernels derive from weights: kept for weights that stay as they are.

Kernels read some weights in another order, or transformed. Whoever sees that a weight is used again
as it was lets the result be kept (`keep_for`), and says how to ask whether the elements are still
the same. It goes when the weight goes.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Hashable

import numpy as np

# The most bytes that are kept, and values of a weight.
_MOST, _EACH = 1 << 30, 4


class _Kept:
    """A weight, what says whether it is as it was, and what is kept of it."""

    __slots__ = ("array", "unchanged", "values")

    def __init__(self, array: np.ndarray, unchanged: Callable[[np.ndarray], bool]) -> None:
        key = id(array)
        self.array = weakref.ref(array, lambda _: _kept.pop(key, None))
        self.unchanged = unchanged
        self.values: dict[Hashable, np.ndarray] = {}


_kept: dict[int, _Kept] = {}  # by the identity of the array


def _limit() -> int:
    """An eighth of the machine's memory, but no more than `_MOST`."""
    if not hasattr(os, "sysconf"):
        return _MOST
    return min(_MOST, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)


def keep_for(array: np.ndarray, unchanged: Callable[[np.ndarray], bool]) -> None:
    """From now on keep what is derived from an array, as long as `unchanged` says True of it."""
    _kept[id(array)] = _Kept(array, unchanged)


def derived(array: np.ndarray, key: Hashable, make: Callable[[], np.ndarray]) -> np.ndarray:
    """What `make` makes of an array, or has made before, which nobody may write to.

    `key` says what else than the elements it depends on.
    """
    kept = _kept_for(array)
    if kept is None:
        return make()
    value = kept.values.get(key)
    if value is None:
        value = make()
        if len(kept.values) < _EACH and kept_bytes() + value.nbytes <= _limit():
            kept.values[key] = value
    return value


def _kept_for(array: np.ndarray) -> _Kept | None:
    """What is kept of an array as it is; what was kept of it as it has been is given up."""
    kept = _kept.get(id(array)) if _kept else None
    if kept is None or kept.array() is not array:
        return None
    if kept.unchanged(array):
        return kept
    drop(array)
    return None


def kept_bytes() -> int:
    """How many bytes are kept for all weights."""
    values = [list(kept.values.values()) for kept in list(_kept.values())]
    return sum(value.nbytes for group in values for value in group)


def keeps_for(array: np.ndarray) -> bool:
    """Whether what is derived from an array, as it is, is kept."""
    return _kept_for(array) is not None


def drop(array: np.ndarray) -> None:
    """Keep nothing for an array."""
    _kept.pop(id(array), None)


def drop_all() -> None:
    """Keep nothing for any array."""
    _kept.clear()
