"""``torch._guards``: what PyTorch knows while it traces; wengert traces nothing in that way."""

from __future__ import annotations

from typing import Any


def active_fake_mode() -> None:
    """None."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None."""


__all__ = ["active_fake_mode", "detect_fake_mode"]
