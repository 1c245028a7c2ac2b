"""`data` (loading), `checkpoint`, and PyTorch's smaller utilities.

Submodules other than `data` load when first named. Read `data/dataloader.py` first, and for
checkpoints `checkpoint/_api.py`, then `checkpoint/_recompute.py`.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.utils import data as data

__all__ = ["checkpoint", "data"]

# Loaded when first named.
_LAZY = frozenset({
    "_pytree", "benchmark", "checkpoint", "collect_env", "cpp_extension", "dlpack", "hooks",
    "model_zoo", "tensorboard",
})  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
