"""PyTorch's smaller utilities, and its names for two packages: `data` and `checkpointing`.

`wengert.utils.data` loads with the package, the others when first named.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.tensor.swapping import swap_tensors as swap_tensors
from wengert.utils import data as data

__all__ = ["checkpoint", "data", "swap_tensors"]

# Loaded when first named.
_LAZY = frozenset({
    "_python_dispatch", "_pytree", "_tree_paths", "benchmark", "checkpoint", "collect_env",
    "cpp_extension", "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker",
    "tensorboard",
})  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
