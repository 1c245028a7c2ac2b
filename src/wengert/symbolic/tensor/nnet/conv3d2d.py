"""Convolutions over time and space, with time before the channels."""

from __future__ import annotations

from typing import Any

from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.tensor.nnet.abstract_conv import conv3d as _of_volumes


def conv3d(signals: Any, filters: Any, signals_shape: Any = None, filters_shape: Any = None,
           border_mode: Any = "valid") -> Any:  # fmt: skip
    """`nnet.conv3d` of signals and filters of (batch, time, channels, rows, columns)."""
    order = (0, 2, 1, 3, 4)
    x, w = as_tensor_variable(signals), as_tensor_variable(filters)
    out = _of_volumes(x.dimshuffle(*order), w.dimshuffle(*order), border_mode=border_mode)
    return out.dimshuffle(*order)
