"""``torch.onnx``: what packages say at import to an exporter; there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_in_onnx_export() -> bool:
    """False."""
    return False


def export(*args: Any, **options: Any) -> NoReturn:
    """Raises NotImplementedError."""
    raise NotImplementedError("torch.onnx.export(): wengert writes no ONNX files")


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Accepted, without effect: `export`, which would call the function, raises."""


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that returns the function as it is: only an exporter would call it."""
    return lambda function: function


__all__ = ["export", "is_in_onnx_export", "parse_args", "register_custom_op_symbolic"]
