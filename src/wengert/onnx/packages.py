"""The packages that write and run models, loaded when they are needed."""

from __future__ import annotations

from typing import Any


def onnx_package() -> Any:
    """The `onnx` package; ImportError that says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "wengert.onnx writes models with the package onnx, which is not installed:"
            " pip install 'wengert[onnx]'"
        ) from error
    return onnx
