"""What can go wrong when a model is exported."""

from __future__ import annotations


class OnnxExporterError(RuntimeError):
    """A model that cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation, or a use of one, that has no counterpart in ONNX here."""
