"""``torch.ao.quantization``: marks in models that may be quantized, without effect."""

from __future__ import annotations

from typing import Any

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


__all__ = ["DeQuantStub", "QuantStub"]
