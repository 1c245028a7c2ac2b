"""An observer that keeps a histogram, and cuts off what costs more range than it is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.compat._private.quantization.observers import (
    UniformQuantizationObserverBase,
    check_min_max_valid,
)
from wengert.compat._private.quantization.schemes import RANGES, per_tensor_affine, quint8
from wengert.core.dtypes import float32
from wengert.core.info import finfo
from wengert.core.messages import warn
from wengert.core.tensor import Tensor
from wengert.ops.extrema import aminmax
from wengert.ops.sort import bincount, bucketize, histc
from wengert.tensor import linspace, tensor, zeros

_FINER = 16  # how many parts a bin is cut into where a histogram gets another range
_STEP = 1e-5  # the share of all elements that a step of the search cuts off


class HistogramObserver(UniformQuantizationObserverBase):
    """The range that quantizes a histogram of all tensors so far with the least squared error.

    Args:
        bins: of the histogram.
        dtype: as of `MinMaxObserver`, like the others.
        qscheme: see `dtype`.
        reduce_range: see `dtype`.
        quant_min: see `dtype`.
        quant_max: see `dtype`.
        factory_kwargs: see `dtype`.
        eps: see `dtype`.
        is_dynamic: not supported: NotImplementedError.
    """

    histogram: Tensor

    def __init__(
        self, bins: int = 2048, dtype: Any = quint8, qscheme: Any = per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = finfo(float32).eps, is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError(
                "HistogramObserver doesn't support dynamic quantization: is_dynamic is True"
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps,
                         is_dynamic, **kwargs)  # fmt: skip
        self.bins = bins
        low, high = RANGES[dtype]
        self.dst_nbins = high - low + 1
        self.upsample_rate = _FINER
        self.register_buffer("histogram", zeros(bins))
        self.register_buffer("min_val", tensor(float("inf")))
        self.register_buffer("max_val", tensor(float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        """Take a tensor into the histogram."""
        x = x_orig.detach().to(self.histogram.dtype)
        if x.numel() and bool(x.isinf().any()):
            warn("torch.inf detected in input tensor, ignoring input")
            x = x[x.abs() != float("inf")]
        if not x.numel():
            return x_orig
        low, high = aminmax(x)
        if not check_min_max_valid(self.min_val, self.max_val) and self._is_empty():
            self._keep(low, high, histc(x, self.bins, low.item(), high.item()))
            return x_orig
        least, most = low.minimum(self.min_val), high.maximum(self.max_val)
        counts = histc(x, self.bins, least.item(), most.item())
        self._keep(least, most, counts + self._spread(least, most))
        return x_orig

    def _is_empty(self) -> bool:
        return bool(self.min_val == float("inf")) or bool(self.max_val == float("-inf"))

    def _keep(self, low: Tensor, high: Tensor, histogram: Tensor) -> None:
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        self.histogram.copy_(histogram)

    def _spread(self, low: Tensor, high: Tensor) -> Tensor:
        """What was counted so far, in bins of a wider range: each bin is cut into finer ones."""
        own_low, own_high = self.min_val, self.max_val
        if bool(low == own_low) and bool(high == own_high):
            return self.histogram
        if bool(own_low == own_high):
            return histc(own_low.reshape(1), self.bins, low.item(), high.item()) * (
                self.histogram.sum()
            )
        finer = self.bins * self.upsample_rate
        width = (own_high - own_low) / finer
        ends = linspace(own_low.item(), own_high.item(), finer + 1)
        edges = linspace(low.item(), high.item(), self.bins + 1)
        bins = (bucketize(ends[:-1] + 0.5 * width, edges, right=True) - 1).clamp(max=self.bins - 1)
        counts = self.histogram.repeat_interleave(self.upsample_rate) / self.upsample_rate
        return bincount(bins, weights=counts, minlength=self.bins)

    def calculate_qparams(self, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """The scale, and the integer that stands for 0; 1 and 0 before any tensor was seen."""
        if self._is_empty():
            warn("must run observer before calling calculate_qparams. Returning default scale and"
                 " zero point")  # fmt: skip
            return tensor([1.0]), tensor([0])
        first, last = self._best_bins()
        width = (self.max_val - self.min_val) / self.bins
        return self._calculate_qparams(
            self.min_val + width * first, self.min_val + width * (last + 1)
        )

    def _best_bins(self) -> tuple[int, int]:
        """The bins to keep: from both ends, shares are cut off until the error grows."""
        counted = self.histogram.numpy().astype(np.float32).cumsum(dtype=np.float32)
        total, least = np.float32(self.histogram.sum().item()), float("inf")
        low, high, first, last = 0.0, 1.0, 0, self.bins - 1
        while low < high:
            up, down = low + _STEP, high - _STEP
            fewest, most = np.float32(up) * total, np.float32(down) * total
            left = first + int(np.searchsorted(counted[first:last], fewest))
            right = first + int(np.searchsorted(counted[first + 1 : last + 1], most, side="right"))
            if left - first > last - right:
                cut, low = (left, last), up
            else:
                cut, high = (first, right), down
            if cut == (first, last):
                continue
            error = self._error(*cut)
            if error > least:
                break
            least, (first, last) = error, cut
        return first, last

    def _error(self, first: int, last: int) -> float:
        """The squared error of quantizing the histogram to the range of these bins.

        Elements lie evenly in a bin; those outside go to the ends of the range.
        """
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        step = width * (last - first + 1) / self.dst_nbins
        if step == 0.0:
            return 0.0
        begin = (np.arange(self.bins) - first) * width
        end = begin + width
        most = self.dst_nbins - 1
        at_begin, at_end = (np.clip(x // step, 0, most) for x in (begin, end))
        density = self.histogram.numpy().astype(np.float64) / width

        def squares(a: Any, b: Any) -> Any:
            return density * (b**3 - a**3) / 3

        half = step / 2
        error = squares(begin - (at_begin + 0.5) * step, half)
        error += (at_end - at_begin - 1) * squares(-half, half)
        error += squares(-half, end - (at_end + 0.5) * step)
        return float(error.sum())

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)

__all__ = ["HistogramObserver", "default_histogram_observer"]
