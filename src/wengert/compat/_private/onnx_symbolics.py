"""``torch.onnx``: conversions of operators in TorchScript's graphs, which may be registered.

PyTorch calls them in exports with ``dynamo=False``. Here the operations of which an operator is
made are recorded and converted, so that none is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from wengert.onnx import OnnxExporterError


def _check_name(symbolic_name: str) -> None:
    if not re.fullmatch(r"[a-zA-Z][\w-]*::[a-zA-Z][\w.-]*", symbolic_name):
        raise OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format"
            " domain::name, and should start with a letter and contain only alphanumeric"
            " characters"
        )


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Accepted, without effect; OnnxExporterError for a name that is not ``domain::name``."""
    _check_name(symbolic_name)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted, without effect, as `register_custom_op_symbolic`."""
    _check_name(symbolic_name)


__all__ = ["register_custom_op_symbolic", "unregister_custom_op_symbolic"]
