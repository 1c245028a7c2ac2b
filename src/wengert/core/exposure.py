"""Whether others may write to a tensor's memory unnoticed: NumPy shows no writes."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from wengert.core.references import ALONE
from wengert.core.tensor import Tensor, new


def is_exposed(array: np.ndarray, known: int = 0) -> bool:
    """Whether others than one tensor refer to an array, or to the memory that it shows.

    The caller has one variable for it; so many more references are `known`.
    """
    base = array.base
    if base is not None and not _is_for_one(base):
        return True
    return getrefcount(array) > ALONE + _HOLDERS + known


def _is_for_one(base: Any) -> bool:
    """Whether the memory under a view is for that view alone: deep copies and loaded tensors."""
    if type(base) is not np.ndarray or base.base is not None:
        return False
    return getrefcount(base) <= ALONE + _VIEWS


def _holders() -> int:
    """What `getrefcount` says in `is_exposed` beyond `ALONE` of a tensor's own array."""

    def count(array: np.ndarray) -> int:
        return getrefcount(array)

    tensor = new(Tensor)
    tensor._array = np.empty(1)
    array = tensor._array
    return count(array) - ALONE


_HOLDERS = _holders()


def _views() -> int:
    """What `getrefcount` says in `_is_for_one` beyond `ALONE` of the base of one view."""

    def count(base: Any) -> int:
        return getrefcount(base)

    def seen(array: np.ndarray) -> int:
        base = array.base
        return count(base)

    return seen(np.empty(2)[:1]) - ALONE


_VIEWS = _views()
