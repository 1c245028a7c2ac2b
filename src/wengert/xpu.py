"""What scripts ask of ``torch.xpu``: there is none."""

from __future__ import annotations

from typing import Any


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


def synchronize(device: Any = None) -> None:
    """Raises AssertionError: there is no device."""
    raise AssertionError("Torch not compiled with XPU enabled")
