"""Nested tensors: batches of tensors of different lengths, as ``torch.nested``.

A nested tensor is an instance of Tensor that holds the elements of all its components in one
ordinary tensor, with a place in the graph; operations on it are operations on that one. The modules
here are loaded with the first nested tensor.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged",
    "to_padded_tensor",
]  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module("wengert.nested._construction"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
