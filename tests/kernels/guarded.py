"""Arrays next to memory that may not be touched: reading or writing beyond them is a crash."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_kept: list[mmap.mmap] = []


def guarded(shape: Any, dtype: Any = np.float32, at_end: bool = True) -> np.ndarray:
    """An empty array whose last byte is before a page without access, or its first behind one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    page = mmap.PAGESIZE
    inside = max(1, -(-size // page)) * page
    memory = mmap.mmap(-1, inside + 2 * page)
    _kept.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for place in (start, start + page + inside):
        if protect(place, page, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    offset = page + (inside - size if at_end else 0)
    count = size // np.dtype(dtype).itemsize
    return np.frombuffer(memory, dtype, count, offset).reshape(shape)


def copied(array: np.ndarray, at_end: bool) -> np.ndarray:
    """A copy that is guarded."""
    out = guarded(array.shape, array.dtype, at_end)
    out[...] = array
    return out
