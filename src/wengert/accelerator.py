"""What scripts ask of ``torch.accelerator``: there is none."""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import refusing


def is_available() -> bool:
    """False: wengert computes on the CPU.

    >>> import wengert.accelerator
    >>> wengert.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None."""


def _needs_device(name: str) -> Any:
    text = (
        "Cannot access accelerator device when none is available: torch.accelerator."
        f"{name}(); ask torch.accelerator.is_available() first"
    )
    return refusing(name, __name__, RuntimeError, text)


current_device_idx = _needs_device("current_device_idx")
current_device_index = _needs_device("current_device_index")
current_stream = _needs_device("current_stream")
device_index = _needs_device("device_index")
empty_cache = _needs_device("empty_cache")
get_memory_info = _needs_device("get_memory_info")
max_memory_allocated = _needs_device("max_memory_allocated")
max_memory_reserved = _needs_device("max_memory_reserved")
memory_allocated = _needs_device("memory_allocated")
memory_reserved = _needs_device("memory_reserved")
memory_stats = _needs_device("memory_stats")
reset_accumulated_memory_stats = _needs_device("reset_accumulated_memory_stats")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device_idx = _needs_device("set_device_idx")
set_device_index = _needs_device("set_device_index")
set_stream = _needs_device("set_stream")
synchronize = _needs_device("synchronize")
