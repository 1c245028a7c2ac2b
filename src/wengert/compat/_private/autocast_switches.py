"""Older names of ``torch`` for the state of autocast, a name for each kind of device."""

from __future__ import annotations

from wengert.amp.autocast_mode import set_autocast_dtype, set_autocast_enabled
from wengert.core.dtypes import dtype as dtype_type


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Say whether operations on the CPU are cast from here on."""
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: dtype_type) -> None:
    """Set what operations on the CPU are cast to."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: dtype_type) -> None:
    """Set what operations on a GPU would be cast to."""
    set_autocast_dtype("cuda", dtype)


__all__ = ["set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"]
