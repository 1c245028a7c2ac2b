"""``torch.export``: names that wengert has no use for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def default_decompositions() -> dict[Any, Callable[..., Any]]:
    """An empty table: operations of programs are the library's own, which have no parts."""
    return {}


__all__ = ["default_decompositions"]
