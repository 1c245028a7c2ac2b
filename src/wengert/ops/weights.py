"""Weights that are used again as they were: kernels keep what they derive from those.

A weight counts as unchanged while no tensor has written to its memory. So memory that others may
write to, unseen, is left out: NumPy's arrays, what files or processes share, and addresses that
have been given out. Whatever shows the memory of a tensor says so (`shown`, `pointed_to`).
"""

from __future__ import annotations

import weakref

import numpy as np

from wengert.core.exposure import is_exposed
from wengert.core.storage import owner, write_count
from wengert.core.tensor import Tensor, mode
from wengert.kernels import derived

# Elements of a weight from which it pays to keep what kernels derive from it.
_LEAST = 1 << 11


class _Use:
    """The latest use of a weight: its array, and how often its memory had been written."""

    __slots__ = ("array", "writes")

    def __init__(self, array: np.ndarray, key: int, writes: int) -> None:
        self.array = weakref.ref(array, lambda _: _uses.pop(key, None))
        self.writes = writes

    def unchanged(self, array: np.ndarray) -> bool:
        """Whether nobody has written to the memory since."""
        return write_count(array) == self.writes


_uses: dict[int, _Use] = {}  # by the identity of the array that owns the memory

# The arrays that own memory whose address has been given out, by identity.
_pointed_to: dict[int, weakref.ref[np.ndarray]] = {}


def note_use(weight: Tensor) -> None:
    """Note that a weight is about to be used; if it was before, as it is, let kernels keep values.

    Not while gradients flow to it: then it is about to change.
    """
    if weight._edge is not None and mode.site is not None:
        return
    array = weight._array
    if array.size < _LEAST or type(array) is not np.ndarray:
        return
    # No second variable may refer to it: references are counted.
    key, writes = id(array if array.base is None else owner(array)), write_count(array)
    use = _uses.get(key)
    if use is None or use.writes != writes or use.array() is not array:
        _forget(use)
        _uses[key] = _Use(array, key, writes)
    elif not (derived.keeps_for(array) or key in _pointed_to or is_exposed(array)):
        derived.keep_for(array, use.unchanged)


def shown(array: np.ndarray) -> None:
    """Note that somebody is about to see memory who may write to it unnoticed."""
    if not _uses or type(array) is not np.ndarray:
        return
    _forget(_uses.pop(id(owner(array)), None))


def _forget(use: _Use | None) -> None:
    """Keep nothing of the weight that was used."""
    known = None if use is None else use.array()
    if known is not None:
        derived.drop(known)


def pointed_to(array: np.ndarray) -> None:
    """The same of memory whose address is given out: it stays exposed as long as it exists."""
    shown(array)
    base = owner(array)
    key = id(base)
    if key not in _pointed_to:
        _pointed_to[key] = weakref.ref(base, lambda _: _pointed_to.pop(key, None))
