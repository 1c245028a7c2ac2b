"""Loading data, checkpoints, and what else has no better place."""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.utils import data as data

__all__ = ["checkpoint", "data"]


def __getattr__(name: str) -> _Any:
    # Loaded when first named.
    if name == "checkpoint":
        return _import_module("wengert.utils.checkpoint")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
