"""Sums of cotangents, in memory that a walk has made."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from wengert.core.references import ALONE


def add_cotangents(total: Any, more: Any) -> Any:
    """The sum of two cotangents: in the memory of the first, if nothing else refers to it.

    To be called with what `pending` holds, by whoever has looked it up.
    """
    if (
        type(total) is np.ndarray
        and total.size >= _WORTH_MEMORY
        and getrefcount(total) <= _PENDING
        and type(more) is np.ndarray
        and total.shape == more.shape
        and total.dtype == more.dtype
        and total.base is None
        and total.flags.writeable
    ):
        total += more
        return total
    return total + more


def may_grow(total: Any) -> bool:
    """Whether a sum of cotangents may be added to in place. To be called as `add_cotangents`."""
    return (
        type(total) is np.ndarray
        and total.size >= _WORTH_MEMORY
        and getrefcount(total) <= _PENDING
        and total.base is None
        and total.flags.writeable
    )


_PENDING = ALONE + 1  # and the table of cotangents
# Elements from which the memory of a sum is worth looking for.
_WORTH_MEMORY = 1 << 12
