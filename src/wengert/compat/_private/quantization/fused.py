"""Fake quantization by moving averages, in PyTorch one operation, and by histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compat._private.quantization.fake import FakeQuantize
from wengert.compat._private.quantization.histograms import HistogramObserver
from wengert.compat._private.quantization.observers import (
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
)
from wengert.compat._private.quantization.schemes import (
    SYMMETRIC,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qint8,
    quint8,
)
from wengert.core.tensor import Tensor
from wengert.tensor import tensor


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` by a moving average, with the scales of PyTorch's fused operation.

    Those of symmetric schemes are not the observer's: the larger half of the integers counts.

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
        for name in ("fake_quant_enabled", "observer_enabled"):  # the fused operation takes int64
            self.register_buffer(name, tensor([1]))

    def _ranges(self) -> tuple[Tensor, Tensor]:
        """The scales and zero points that `forward` rounds by."""
        seen = self.activation_post_process
        lows, highs = (x.reshape(-1).tolist() for x in (seen.min_val, seen.max_val))
        symmetric = self.qscheme in SYMMETRIC
        ends = self.quant_min, self.quant_max
        found = [_scale(a, b, *ends, symmetric) for a, b in zip(lows, highs, strict=True)]
        scales, zeros = zip(*found, strict=True)
        return tensor(list(scales)), tensor(list(zeros))

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled},"
            f" observer_enabled={self.observer_enabled}, scale={self.scale},"
            f" zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min},"
            f" quant_max={self.quant_max}, qscheme={self.qscheme},"
            f" reduce_range={self.activation_post_process.reduce_range}"
        )


def _scale(low: float, high: float, least: int, most: int, symmetric: bool) -> tuple[float, int]:
    """The scale of a range, and the integer that stands for 0."""
    both = symmetric and low < 0 < high
    if both:
        half = (most - least) // 2
        step = max(abs(float(np.float32(low / -(half + 1)))), abs(float(np.float32(high / half))))
        low, high = -step * (half + 1), step * half
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / (most - least)
    if np.float32(scale) == 0:
        scale = 0.1
    if scale < _SMALLEST:
        wider = _SMALLEST / scale
        scale, low, high = _SMALLEST, low * wider, high * wider
    from_low, from_high = least - low / scale, most - high / scale
    nearer = abs(least) - abs(low / scale) < abs(most) - abs(high / scale)
    zero = (least + most) / 2 if both else from_low if nearer else from_high
    return scale, round(min(max(zero, least), most))


_SMALLEST = 6.1e-5
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
