"""Maxima and means over windows."""

from __future__ import annotations

from typing import Any

from wengert._core import Tensor
from wengert.nn import functional as F
from wengert.nn._module import Module
from wengert.nn.modules._common import tuple_of


class _MaxPool(Module):
    """A maximum over windows; its subclasses say of how many dimensions."""

    _function: str  # its name in nn.functional

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

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
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


class MaxPool1d(_MaxPool):
    """The maximum over windows of (N, C, L).

    >>> import wengert
    >>> wengert.nn.MaxPool1d(3, stride=2)(wengert.zeros(2, 4, 9)).shape
    torch.Size([2, 4, 4])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPool):
    """The maximum over windows of (N, C, H, W).

    >>> import wengert
    >>> wengert.nn.MaxPool2d(2)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 4, 4])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPool):
    """The maximum over windows of (N, C, D, H, W).

    >>> import wengert
    >>> wengert.nn.MaxPool3d(2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    _function = "max_pool3d"


class AvgPool1d(Module):
    """The mean over windows of (N, C, L).

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


class _AvgPool(Module):
    """A mean over windows of two or three dimensions."""

    _function: str  # its name in nn.functional

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

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """The mean over windows of (N, C, H, W).

    >>> import wengert
    >>> wengert.nn.AvgPool2d(2)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 4, 4])
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPool):
    """The mean over windows of (N, C, D, H, W).

    >>> import wengert
    >>> wengert.nn.AvgPool3d(2)(wengert.zeros(2, 4, 4, 4, 4)).shape
    torch.Size([2, 4, 2, 2, 2])
    """

    _function = "avg_pool3d"


class _AdaptiveAvgPool(Module):
    _function: str  # its name in nn.functional

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(Module):
    _function: str  # its name in nn.functional

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean over as many windows of (N, C, L) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool1d(3)(wengert.zeros(2, 4, 8)).shape
    torch.Size([2, 4, 3])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean over as many windows of (N, C, H, W) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool2d(3)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 3, 3])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean over as many windows of (N, C, D, H, W) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveAvgPool3d(3)(wengert.zeros(2, 4, 8, 8, 8)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    _function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maximum over as many windows of (N, C, L) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool1d(3)(wengert.zeros(2, 4, 8)).shape
    torch.Size([2, 4, 3])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maximum over as many windows of (N, C, H, W) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool2d(3)(wengert.zeros(2, 4, 8, 8)).shape
    torch.Size([2, 4, 3, 3])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maximum over as many windows of (N, C, D, H, W) as the output size asks for.

    >>> import wengert
    >>> wengert.nn.AdaptiveMaxPool3d(3)(wengert.zeros(2, 4, 8, 8, 8)).shape
    torch.Size([2, 4, 3, 3, 3])
    """

    _function = "adaptive_max_pool3d"


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
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]
