"""The progress bar of ``torch.utils.model_zoo``: the package tqdm's, if it is there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return import_module("tqdm").tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["tqdm"]  # noqa: F822
