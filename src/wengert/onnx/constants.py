"""What `torch.onnx.export` takes as options, and whether it runs."""

from __future__ import annotations

import threading
from enum import Enum


class TrainingMode(Enum):
    """The mode in which a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(Enum):
    """Which operators a model may have; here always ONNX's."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class _ExportState(threading.local):
    exporting = 0


state = _ExportState()


def is_in_onnx_export() -> bool:
    """Whether a model is being exported on this thread.

    >>> import wengert
    >>> wengert.onnx.is_in_onnx_export()
    False
    """
    return state.exporting > 0
