"""Maxima and means over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module
from wengert.nn.modules._common import tuple_of


class _MaxPoolNd(Module):
    """Max pooling; subclasses set the number of dimensions."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _pool(self, function: Callable[..., Any], input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding},"
            f" dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum over windows of (N, C, L).

    Sizes become `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        dilation: distance between the elements of a window.
        return_indices: whether to return the positions of the maxima, too.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.MaxPool1d(3, stride=2)(wengert.zeros(2, 4, 9)).shape
    torch.Size([2, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The maximum over windows of (N, C, H, W).

    Sizes become `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        dilation: distance between the elements of a window.
        return_indices: whether to return the positions of the maxima, too.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.MaxPool2d(2)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The maximum over windows of (N, C, D, H, W).

    Sizes become `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        dilation: distance between the elements of a window.
        return_indices: whether to return the positions of the maxima, too.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.MaxPool3d(2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool3d, input)


class AvgPool1d(Module):
    """The mean over windows of (N, C, L).

    Sizes become `floor((size + 2 * padding - kernel_size) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        ceil_mode: whether a last window that is not full counts.
        count_include_pad: whether added zeros count in the mean.

    >>> import wengert
    >>> wengert.nn.AvgPool1d(3, stride=2)(wengert.zeros(2, 4, 9)).shape
    torch.Size([2, 4, 4])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, 1)
        self.stride = tuple_of(kernel_size if stride is None else stride, 1)
        self.padding = tuple_of(padding, 1)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    """A mean over windows of two or three dimensions."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _pool(self, function: Callable[..., Tensor], input: Tensor) -> Tensor:
        return function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean over windows of (N, C, H, W).

    Sizes become `floor((size + 2 * padding - kernel_size) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        ceil_mode: whether a last window that is not full counts.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: divide by this instead of the size of the window.

    >>> import wengert
    >>> wengert.nn.AvgPool2d(2)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolNd):
    """The mean over windows of (N, C, D, H, W).

    Sizes become `floor((size + 2 * padding - kernel_size) / stride + 1)`.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        padding: added at both ends of each dimension, at most half of `kernel_size`.
        ceil_mode: whether a last window that is not full counts.
        count_include_pad: whether added zeros count in the mean.
        divisor_override: divide by this instead of the size of the window.

    >>> import wengert
    >>> wengert.nn.AvgPool3d(2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


class _AdaptiveAvgPoolNd(Module):
    """Adaptive average pooling: the output size determines the windows."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(Module):
    """Adaptive max pooling: the output size determines the windows."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean over windows of (N, C, L) that give the requested output size.

    Args:
        output_size: size of the result.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool1d(3)(wengert.zeros(2, 4, 8)).shape
    torch.Size([2, 4, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean over windows of (N, C, H, W) that give the requested output size.

    Args:
        output_size: sizes of the result; None keeps that of the input.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool2d(3)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean over windows of (N, C, D, H, W) that give the requested output size.

    Args:
        output_size: sizes of the result; None keeps that of the input.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool3d(3)(wengert.zeros(2, 4, 8, 8, 8)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The maximum over windows of (N, C, L) that give the requested output size.

    Args:
        output_size: size of the result.
        return_indices: whether to return the positions of the maxima, too.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool1d(3)(wengert.zeros(2, 4, 8)).shape
    torch.Size([2, 4, 3])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The maximum over windows of (N, C, H, W) that give the requested output size.

    Args:
        output_size: sizes of the result; None keeps that of the input.
        return_indices: whether to return the positions of the maxima, too.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool2d(3)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 3, 3])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The maximum over windows of (N, C, D, H, W) that give the requested output size.

    Args:
        output_size: sizes of the result; None keeps that of the input.
        return_indices: whether to return the positions of the maxima, too.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool3d(3)(wengert.zeros(2, 4, 8, 8, 8)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpoolNd(Module):
    """The partial inverse of max pooling; subclasses set the number of dimensions."""

    _rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = tuple_of(kernel_size, self._rank)
        self.stride = tuple_of(kernel_size if stride is None else stride, self._rank)
        self.padding = tuple_of(padding, self._rank)

    def _unpool(
        self, function: Callable[..., Tensor], input: Tensor, indices: Tensor, output_size: Any
    ) -> Tensor:
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of (N, C, L) back where they were; zeros elsewhere.

    Args:
        kernel_size: extent of the windows: a number.
        stride: step between the windows of the pooling; `kernel_size` unless given.
        padding: what the pooling added at both ends.

    >>> import wengert
    >>> x, where = wengert.nn.MaxPool1d(2, return_indices=True)(wengert.tensor([[1., 3., 2., 0.]]))
    >>> wengert.nn.MaxUnpool1d(2)(x, where)
    tensor([[0., 3., 2., 0.]])
    """

    _rank = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._unpool(F.max_unpool1d, input, indices, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of (N, C, H, W) back where they were; zeros elsewhere.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between the windows of the pooling; `kernel_size` unless given.
        padding: what the pooling added at both ends.

    >>> import wengert
    >>> pooled = wengert.nn.MaxPool2d(2, return_indices=True)(wengert.zeros(2, 4, 8, 8))
    >>> wengert.nn.MaxUnpool2d(2)(*pooled).shape
    torch.Size([2, 4, 8, 8])
    """

    _rank = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._unpool(F.max_unpool2d, input, indices, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of (N, C, D, H, W) back where they were; zeros elsewhere.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between the windows of the pooling; `kernel_size` unless given.
        padding: what the pooling added at both ends.

    >>> import wengert
    >>> pooled = wengert.nn.MaxPool3d(2, return_indices=True)(wengert.zeros(2, 4, 4, 4, 4))
    >>> wengert.nn.MaxUnpool3d(2)(*pooled).shape
    torch.Size([2, 4, 4, 4, 4])
    """

    _rank = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return self._unpool(F.max_unpool3d, input, indices, output_size)


class _LPPoolNd(Module):
    """Power-average pooling; subclasses set the number of dimensions."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def _pool(self, function: Callable[..., Tensor], input: Tensor) -> Tensor:
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride},"
            f" ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of each window of (N, C, L).

    Args:
        norm_type: the power `p`: the windows give `sum(x ** p) ** (1 / p)`.
        kernel_size: extent of the windows: a number.
        stride: step between windows; `kernel_size` unless given.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.LPPool1d(2, 2)(wengert.tensor([[3., 4.]]))
    tensor([[5.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """The norm of each window of (N, C, H, W).

    Args:
        norm_type: the power `p`: the windows give `sum(x ** p) ** (1 / p)`.
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.LPPool2d(2, (1, 2))(wengert.tensor([[[3., 4.]]]))
    tensor([[[5.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """The norm of each window of (N, C, D, H, W).

    Args:
        norm_type: the power `p`: the windows give `sum(x ** p) ** (1 / p)`.
        kernel_size: extent of the windows: a number, or one for each dimension.
        stride: step between windows; `kernel_size` unless given.
        ceil_mode: whether a last window that is not full counts.

    >>> import wengert
    >>> wengert.nn.LPPool3d(2, 2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool3d, input)


class _FractionalMaxPool(Module):
    """Max pooling over windows at random positions; subclasses set the number of dimensions."""

    _rank: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.kernel_size, self.return_indices = tuple_of(kernel_size, self._rank), return_indices
        self.output_size = None if output_size is None else tuple_of(output_size, self._rank)
        self.output_ratio = None if output_ratio is None else tuple_of(output_ratio, self._rank)
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")
        self.register_buffer("_random_samples", _random_samples)

    def _pool(self, function: Callable[..., Any], input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """Maxima over windows of (N, C, H, W) at random positions that cover the input.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        output_size: sizes of the result.
        output_ratio: size relative to the input, between 0 and 1; instead of `output_size`.
        return_indices: whether to return the positions of the maxima, too.

    >>> import wengert
    >>> wengert.nn.FractionalMaxPool2d(2, output_ratio=0.75)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 6, 6])
    """

    _rank = 2

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.fractional_max_pool2d, input)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Maxima over windows of (N, C, D, H, W) at random positions that cover the input.

    Args:
        kernel_size: extent of the windows: a number, or one for each dimension.
        output_size: sizes of the result.
        output_ratio: size relative to the input, between 0 and 1; instead of `output_size`.
        return_indices: whether to return the positions of the maxima, too.

    >>> import wengert
    >>> wengert.nn.FractionalMaxPool3d(2, output_size=2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    _rank = 3

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.fractional_max_pool3d, input)


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
