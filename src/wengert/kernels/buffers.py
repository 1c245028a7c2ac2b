"""Reuse of the memory of large arrays: an allocator for NumPy, if there are kernels.

NumPy keeps its allocator in a context variable. Threads, and often the cells of a notebook,
have their own contexts; `enter` sets it for the current one. That is cheap, and done when
kernels are first needed, at each backward and at each optimizer step. An array knows its
allocator, so it may be freed anywhere and at any time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from wengert.core.forks import compile_lock

# Entries of NumPy's table of C functions.
_SET_HANDLER, _GET_HANDLER, _DEFAULT_HANDLER = 304, 305, 306


def _default_limit() -> int:
    """WENGERT_BUFFERS in MiB, or an eighth of the memory, but at most 1 GiB."""
    named = os.environ.get("WENGERT_BUFFERS", "")
    if named.isdigit():
        return int(named) << 20
    if not hasattr(os, "fork") or not hasattr(os, "sysconf"):
        return 0
    return min(1 << 30, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8)


class _Pool:
    """The allocator's functions, once there is one, and the limit until then."""

    limit = _default_limit()
    off = limit == 0
    functions: dict[str, Callable[..., Any]] | None = None


def enter() -> None:
    """Allocate new arrays of the current context from the pool, if there is one."""


def install() -> None:
    """Set up the pool, unless it is disabled, and enter it."""
    global enter
    with compile_lock:
        if _Pool.functions is None and not _Pool.off:
            _Pool.functions, enter = _built()
            _Pool.functions["limit"](_Pool.limit)
            os.register_at_fork(after_in_child=_Pool.functions["forked"])
    enter()


def _built() -> tuple[dict[str, Callable[..., Any]], Callable[[], None]]:
    import ctypes

    from wengert.kernels.jit import compiler, memory

    word, pointer, thing = ctypes.c_int64, ctypes.c_void_p, ctypes.py_object
    content = ctypes.pythonapi.PyCapsule_GetPointer
    content.restype, content.argtypes = pointer, [thing, ctypes.c_char_p]
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = thing, [pointer, ctypes.c_char_p, pointer]
    address = compiler.add("memory", memory.memory_text)
    table = content(import_module("numpy._core._multiarray_umath")._ARRAY_API, None)
    api = (word * (_DEFAULT_HANDLER + 1)).from_address(table)
    theirs = content(thing.from_address(api[_DEFAULT_HANDLER]).value, b"mem_handler")
    own = capsule(address("memory_handler"), b"mem_handler", None)
    ctypes.pythonapi.Py_IncRef(thing(own))  # forever: arrays outlive this module

    def function(name: str, *arguments: Any) -> Callable[..., Any]:
        return ctypes.PYFUNCTYPE(None, *arguments)(address(f"memory_{name}"))

    function("start", pointer)(theirs + memory.FUNCTIONS)
    function("hooks", *[pointer] * 4)(id(own), theirs, api[_GET_HANDLER], api[_SET_HANDLER])
    functions = {
        "limit": function("limit", word),
        "trim": function("trim", word),
        "counts": function("counts", pointer),
        "reset_peak": function("reset_peak"),
        "look": function("look"),
        "forked": function("forked"),
    }
    return functions, compiler.function("enter", address("memory_enter"), compiler.NOARGS)


def counts() -> dict[str, int]:
    """The counters of the pool, by name; zeros if there is none."""
    from wengert.kernels.jit.memory import COUNTS

    values = np.zeros(len(COUNTS), np.int64)
    if _Pool.functions is not None:
        _Pool.functions["counts"](values.ctypes.data)
    return dict(zip(COUNTS, values.tolist(), strict=True))


def reset_peak() -> None:
    """Reset the peak to the memory currently allocated."""
    if _Pool.functions is not None:
        _Pool.functions["reset_peak"]()


def look() -> None:
    """Release memory that has been unused since the last look."""
    if _Pool.functions is not None:
        _Pool.functions["look"]()


def trim(size: int) -> None:
    """Return kept memory to the system, down to a number of bytes."""
    if _Pool.functions is not None:
        _Pool.functions["trim"](size)


def set_limit(size: int) -> None:
    """Limit the kept memory to a number of bytes from now on."""
    _Pool.limit = size
    if _Pool.functions is not None:
        _Pool.functions["limit"](size)
