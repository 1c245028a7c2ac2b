"""Checks that recorded programs contain."""

from __future__ import annotations

from typing import Any

from wengert.core.fronts import publish


def _assert(condition: Any, message: str) -> None:
    """Raise AssertionError with `message` unless `condition` holds."""
    if not condition:
        raise AssertionError(message)


publish(_assert, "torch._assert")
