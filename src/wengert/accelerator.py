"""What scripts ask of ``torch.accelerator``: there is none."""

from __future__ import annotations

from typing import Any


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


def current_device_index() -> int:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("Cannot access accelerator device when none is available.")


def synchronize(device: Any = None) -> None:
    """Raises RuntimeError: there is no device."""
    raise RuntimeError("Cannot access accelerator device when none is available.")
