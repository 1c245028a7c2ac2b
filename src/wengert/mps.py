"""What scripts ask of ``torch.mps``: there is none."""

from __future__ import annotations

from typing import Any, NoReturn


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
    def refuse() -> NoReturn:
        raise RuntimeError(f"Cannot execute {name}() without MPS backend.")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises RuntimeError: there is no device."
    return refuse


empty_cache = _needs_device("empty_cache")
seed = _needs_device("seed")
synchronize = _needs_device("synchronize")
