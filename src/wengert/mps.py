"""What scripts ask of ``torch.mps``: there is none."""

from __future__ import annotations

from typing import Any

from wengert.platform.absences import refusing


def is_available() -> bool:
    """False: wengert computes on the CPU.

    >>> import wengert.mps
    >>> wengert.mps.is_available()
    False
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed."""


def _needs_device(name: str) -> Any:
    text = f"Cannot execute {name}() without MPS backend."
    return refusing(name, __name__, RuntimeError, text)


current_allocated_memory = _needs_device("current_allocated_memory")
driver_allocated_memory = _needs_device("driver_allocated_memory")
empty_cache = _needs_device("empty_cache")
get_rng_state = _needs_device("get_rng_state")
recommended_max_memory = _needs_device("recommended_max_memory")
seed = _needs_device("seed")
set_per_process_memory_fraction = _needs_device("set_per_process_memory_fraction")
set_rng_state = _needs_device("set_rng_state")
synchronize = _needs_device("synchronize")
