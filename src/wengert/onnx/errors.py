"""What can go wrong when a model is exported."""

from __future__ import annotations

from typing import Any


class OnnxExporterError(RuntimeError):
    """A model that cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation, or a use of one, that has no counterpart in ONNX here."""


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
