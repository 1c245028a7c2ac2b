"""``torch.utils.tensorboard``: the writer of tensorboardX, which needs no TensorFlow."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("SummaryWriter", "FileWriter", "RecordWriter"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("tensorboardX"), name)
    except ModuleNotFoundError:
        raise ImportError(
            f"{name} needs tensorboardX: pip install tensorboardX (and tensorboard, to look at"
            " what it wrote)"
        ) from None
