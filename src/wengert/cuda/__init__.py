"""What scripts ask of ``torch.cuda``: there is none, and the answers are those of a CPU build.

Questions are answered, seeds and cache clearing pass; what needs a device raises
AssertionError, as in PyTorch.
"""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """False: wengert computes on the CPU.

    >>> import wengert.cuda
    >>> wengert.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def get_arch_list() -> list[str]:
    """An empty list."""
    return []


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed."""


def seed() -> None:
    """Nothing to seed."""


def seed_all() -> None:
    """Nothing to seed."""


def empty_cache() -> None:
    """Nothing to empty."""


def memory_allocated(device: Any = None) -> int:
    """0: no device memory is in use."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def get_rng_state_all() -> list[Any]:
    """An empty list: one state for each device."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Nothing to set."""


def _needs_device(name: str) -> Any:
    def refuse(*args: Any, **options: Any) -> NoReturn:
        raise AssertionError(
            f"Torch not compiled with CUDA enabled: torch.cuda.{name}() needs a device, and"
            " wengert computes on the CPU; ask torch.cuda.is_available() first"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises AssertionError: there is no device."
    return refuse


current_device = _needs_device("current_device")
current_stream = _needs_device("current_stream")
get_device_capability = _needs_device("get_device_capability")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
get_rng_state = _needs_device("get_rng_state")
init = _needs_device("init")
initial_seed = _needs_device("initial_seed")
ipc_collect = _needs_device("ipc_collect")
mem_get_info = _needs_device("mem_get_info")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device = _needs_device("set_device")
set_rng_state = _needs_device("set_rng_state")
synchronize = _needs_device("synchronize")
