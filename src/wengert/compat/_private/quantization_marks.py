"""``torch.ao.quantization``: `quantize_dynamic`, and marks in models that may be quantized.

The marks have no effect.
"""

from __future__ import annotations

from typing import Any

from wengert.nn.dynamic_quantization import default_dynamic_qconfig as default_dynamic_qconfig
from wengert.nn.dynamic_quantization import (
    per_channel_dynamic_qconfig as per_channel_dynamic_qconfig,
)
from wengert.nn.dynamic_quantization import quantize_dynamic as quantize_dynamic
from wengert.nn.module import Module


class QuantStub(Module):
    """Where inputs would be quantized, if the model were converted: the identity until then."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig is not None:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input."""
        return x


class DeQuantStub(QuantStub):
    """Where values would be floating-point numbers again: the identity."""


__all__ = [
    "DeQuantStub",
    "QuantStub",
    "default_dynamic_qconfig",
    "per_channel_dynamic_qconfig",
    "quantize_dynamic",
]
