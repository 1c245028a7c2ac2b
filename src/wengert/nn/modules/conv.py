"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import parameter, parameter_of, tuple_of, used
from wengert.nn.parameter import Parameter

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base class of all convolutions: parameters and their initialisation."""

    dimensions: int
    transposed = False
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        n = self.dimensions
        _check_channels(in_channels, out_channels, groups)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = tuple_of(kernel_size, n)
        self.stride = tuple_of(stride, n)
        self.padding = padding if isinstance(padding, str) else tuple_of(padding, n)
        self.dilation = tuple_of(dilation, n)
        self.output_padding = tuple_of(output_padding, n)
        _check_padding(self.padding, self.stride, padding_mode)
        self.padding_mode = padding_mode
        self._pad = self._padding_of_input()
        first, second = in_channels, out_channels
        if not self.transposed:
            first, second = second, first
        self.weight = parameter(
            first, second // groups, *self.kernel_size, device=device, dtype=dtype
        )
        if bias:
            self.bias = parameter(out_channels, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_of_input(self) -> list[int]:
        """The argument of F.pad for non-zero padding modes: last dimension first."""
        if self.padding == "valid":
            sides = [(0, 0)] * self.dimensions
        elif self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            sides = [(total // 2, total - total // 2) for total in totals]
        else:
            sides = [(int(p), int(p)) for p in self.padding]
        return [p for pair in reversed(sides) for p in pair]

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(fan-in), weight and bias."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        options = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}",
            f"stride={self.stride}",
        ]
        n = self.dimensions
        if self.padding != (0,) * n:
            options.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            options.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            options.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            options.append(f"groups={self.groups}")
        if self.bias is None:
            options.append("bias=False")
        if self.padding_mode != "zeros":
            options.append(f"padding_mode={self.padding_mode}")
        return ", ".join(options)


def _check_channels(in_channels: int, out_channels: int, groups: int) -> None:
    if groups <= 0:
        raise ValueError(f"groups must be a positive integer, got {groups}")
    if in_channels % groups != 0:
        raise ValueError(
            f"in_channels must be divisible by groups, got {in_channels} and groups={groups}"
        )
    if out_channels % groups != 0:
        raise ValueError(
            f"out_channels must be divisible by groups, got {out_channels} and groups={groups}"
        )


def _check_padding(padding: Any, stride: tuple[int, ...], mode: str) -> None:
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(
                f"Invalid padding string {padding!r}, should be one of 'same', 'valid'"
            )
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError(
                f"padding='same' is not supported for strided convolutions, got stride={stride}"
            )
    if mode not in _MODES:
        raise ValueError(
            f"padding_mode must be one of {', '.join(_MODES)}, but got padding_mode='{mode}'"
        )


class _Conv(_ConvNd):
    """A convolution; subclasses set the number of dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError

    def _convolve(
        self, function: Callable[..., Tensor], input: Tensor, weight: Tensor, bias: Tensor | None
    ) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._pad, mode=self.padding_mode)
            padding = 0
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = parameter_of(self, "weight"), parameter_of(self, "bias")
        return self._conv_forward(input, used(weight), bias)


class Conv1d(_Conv):
    """Convolution of (N, C, L).

    Takes (N, in_channels, L) or (in_channels, L) and returns (N, out_channels, ...): each size
    becomes `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.
    `weight` is (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.Conv1d(16, 33, 3, stride=2)(wengert.zeros(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    dimensions = 1

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv1d, input, weight, bias)


class Conv2d(_Conv):
    """Convolution of (N, C, H, W).

    Takes (N, in_channels, H, W) or (in_channels, H, W) and returns (N, out_channels, ...): each
    size becomes `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)`.
    `weight` is (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 2 dimensions.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.Conv2d(3, 8, 3, padding=1)(wengert.zeros(2, 3, 5, 5)).shape
    torch.Size([2, 8, 5, 5])
    """

    dimensions = 2

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv2d, input, weight, bias)


class Conv3d(_Conv):
    """Convolution of (N, C, D, H, W).

    Takes (N, in_channels, D, H, W) or (in_channels, D, H, W) and returns (N, out_channels,
    ...): each size becomes `floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) /
    stride + 1)`. `weight` is (out_channels, in_channels / groups, *kernel_size), `bias`
    (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 3 dimensions.
        stride: step between positions of the filters.
        padding: zeros added at both ends of each dimension; `"same"` keeps the size (with
            stride 1), `"valid"` adds none.
        dilation: distance between the elements of a filter.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        padding_mode: `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.Conv3d(3, 8, 3)(wengert.zeros(2, 3, 5, 5, 5)).shape
    torch.Size([2, 8, 3, 3, 3])
    """

    dimensions = 3

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._convolve(F.conv3d, input, weight, bias)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution; subclasses set the number of dimensions."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}, got'
                f" {padding_mode!r}"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _convolve(
        self, function: Callable[..., Tensor], input: Tensor, output_size: Sequence[int] | None
    ) -> Tensor:
        extra = self.output_padding
        if output_size is not None:
            extra = self._output_padding_for(input._outline.shape, list(output_size))
        return function(
            input, used(self.weight), self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip

    def _output_padding_for(
        self, shape: tuple[int, ...], output_size: list[int]
    ) -> tuple[int, ...]:
        """The output padding that gives the requested output size."""
        n = self.dimensions
        without_space = len(shape) - n
        if len(output_size) == without_space + n:
            output_size = output_size[without_space:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {len(shape)}D input, output_size must have {n} or"
                f" {len(shape)} elements (got {len(output_size)})"
            )
        least = [
            (shape[without_space + d] - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        most = [low + s - 1 for low, s in zip(least, self.stride, strict=True)]
        for size, low, high in zip(output_size, least, most, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from"
                    f" {least} to {most} (for an input of {list(shape[without_space:])})"
                )
        return tuple(size - low for size, low in zip(output_size, least, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """Transposed convolution of (N, C, L), the gradient of Conv1d with respect to its input.

    Takes (N, in_channels, L) or (in_channels, L) and returns (N, out_channels, ...): each size
    becomes `(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) + output_padding +
    1`. `weight` is (in_channels, out_channels / groups, *kernel_size), `bias` (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.ConvTranspose1d(16, 33, 3, stride=2)(wengert.zeros(20, 16, 50)).shape
    torch.Size([20, 33, 101])
    """

    dimensions = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of (N, C, H, W), the gradient of Conv2d with respect to its input.

    Takes (N, in_channels, H, W) or (in_channels, H, W) and returns (N, out_channels, ...): each
    size becomes `(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) +
    output_padding + 1`. `weight` is (in_channels, out_channels / groups, *kernel_size), `bias`
    (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 2 dimensions.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> up = wengert.nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1)
    >>> up(wengert.zeros(1, 4, 6, 6), output_size=[12, 12]).shape
    torch.Size([1, 2, 12, 12])
    """

    dimensions = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """Transposed convolution of (N, C, D, H, W).

    Takes (N, in_channels, D, H, W) or (in_channels, D, H, W) and returns (N, out_channels,
    ...): each size becomes `(size - 1) * stride - 2 * padding + dilation * (kernel_size - 1) +
    output_padding + 1`. `weight` is (in_channels, out_channels / groups, *kernel_size), `bias`
    (out_channels,).

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result, one filter each.
        kernel_size: extent of the filters: a number, or one for each of 3 dimensions.
        stride: step between positions of the filters in the result.
        padding: `dilation * (kernel_size - 1) - padding` zeros are added at both ends: a
            convolution with the same arguments is undone in shape.
        output_padding: added to the size at one end, where several sizes would fit.
        groups: parts that the channels are divided into, each convolved with filters of its
            own; it divides both numbers of channels.
        bias: whether to learn a bias.
        dilation: distance between the elements of a filter.
        padding_mode: `"zeros"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.ConvTranspose3d(4, 2, 3)(wengert.zeros(1, 4, 3, 3, 3)).shape
    torch.Size([1, 2, 5, 5, 5])
    """

    dimensions = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._convolve(F.conv_transpose3d, input, output_size)


__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]
