"""Older names of ``torch`` for the state of autocast, a name for each kind of device."""

from __future__ import annotations

from threading import local

from wengert.amp.autocast_mode import set_autocast_dtype, set_autocast_enabled
from wengert.core.dtypes import dtype as dtype_type


class _Nesting(local):
    """How many regions of autocast the thread has entered by hand."""

    depth = 0


_nesting = _Nesting()


def autocast_increment_nesting() -> int:
    """Count a region that is entered: the number of those that are open."""
    _nesting.depth += 1
    return _nesting.depth


def autocast_decrement_nesting() -> int:
    """Count a region that is left: the number of those that are still open."""
    _nesting.depth -= 1
    return _nesting.depth


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Say whether operations on the CPU are cast from here on."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: dtype_type) -> None:
    """Set what operations on the CPU are cast to."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: dtype_type) -> None:
    """Set what operations on a GPU would be cast to."""
    set_autocast_dtype("cuda", dtype)


__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_gpu_dtype",
]
