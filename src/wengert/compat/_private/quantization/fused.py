"""Fake quantization by moving averages, in PyTorch one operation, and by histograms."""

from __future__ import annotations

from typing import Any

from wengert.compat._private.quantization.fake import FakeQuantize
from wengert.compat._private.quantization.histograms import HistogramObserver
from wengert.compat._private.quantization.observers import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
)
from wengert.compat._private.quantization.schemes import (
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` by a moving average; looking and rounding are two steps here as there.

    Args:
        observer: `MovingAverageMinMaxObserver`, or that of channels.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        observer_kwargs: further arguments of the observer.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0,
        quant_max: int = 255, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        averages = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, averages):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver, got"
                f" {type(self.activation_post_process).__name__}"
            )

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled},"
            f" observer_enabled={self.observer_enabled}, scale={self.scale},"
            f" zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min},"
            f" quant_max={self.quant_max}, qscheme={self.qscheme},"
            f" reduce_range={self.activation_post_process.reduce_range}"
        )


_WEIGHTS = {"quant_min": -128, "quant_max": 127, "dtype": qint8}

default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, **_WEIGHTS, qscheme=per_tensor_symmetric
)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, **_WEIGHTS, qscheme=per_channel_symmetric
)
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=quint8,
    qscheme=per_tensor_affine, reduce_range=True,
)  # fmt: skip

__all__ = [
    "FusedMovingAvgObsFakeQuantize", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant",
    "default_histogram_fake_quant",
]  # fmt: skip
