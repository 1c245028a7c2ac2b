"""By what packages teach PyTorch's older ONNX exporter their operations.

The exporter here records what the library computes, and asks none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator that leaves the function as it is."""

    def unchanged(function: Any) -> Any:
        return function

    return unchanged


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """No effect."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """No effect."""


__all__ = ["parse_args", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]
