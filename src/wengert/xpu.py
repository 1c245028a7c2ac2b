"""What scripts ask of ``torch.xpu``: there is none."""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import refusing


def is_available() -> bool:
    """False: wengert computes on the CPU.

    >>> import wengert.xpu
    >>> wengert.xpu.is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing to empty."""


def get_rng_state_all() -> list[Any]:
    """An empty list: one state for each device."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing to set."""


def memory_allocated(device: Any = None) -> int:
    """0: no device memory is in use."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device.

    >>> import wengert
    >>> wengert.xpu.is_bf16_supported()
    False
    """
    return False


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def _needs_device(name: str) -> Any:
    text = (
        f"Torch not compiled with XPU enabled: torch.xpu.{name}() needs a device, and wengert"
        " computes on the CPU; ask torch.xpu.is_available() first"
    )
    return refusing(name, __name__, AssertionError, text)


current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
init = _needs_device("init")
mem_get_info = _needs_device("mem_get_info")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device = _needs_device("set_device")
set_rng_state = _needs_device("set_rng_state")
synchronize = _needs_device("synchronize")
