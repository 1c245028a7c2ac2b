"""The one device, under the names of ``torch.cpu``."""

from __future__ import annotations

from typing import Any


def is_available() -> bool:
    """True.

    >>> import wengert.cpu
    >>> wengert.cpu.is_available()
    True
    """
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: operations are done when they return."""
