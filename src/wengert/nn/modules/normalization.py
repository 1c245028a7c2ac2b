"""Normalisation over the features of a sample: layer, group, RMS, local response."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import parameter, parameter_of
from wengert.nn.parameter import Parameter


class _Affine(Module):
    """A normalisation with an optional learnable scale (`weight`) and shift (`bias`)."""

    weight: Parameter | None
    bias: Parameter | None

    def _register_affine(
        self, shape: tuple[int, ...], *, weight: bool, bias: bool, device: Any, dtype: Any
    ) -> None:
        for name, exists in (("weight", weight), ("bias", bias)):
            value = parameter(*shape, device=device, dtype=dtype) if exists else None
            self.register_parameter(name, value)

    def reset_parameters(self) -> None:
        """Scale 1, shift 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Zero mean and unit variance over the last dimensions, then a scale and a shift.

    Args:
        normalized_shape: the last dimensions, over which each sample is normalized: a number,
            or a shape.
        eps: added to the denominator, against division by zero.
        elementwise_affine: whether to learn a scale (and offset) per element.
        bias: whether to learn the offset, where `elementwise_affine`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.LayerNorm(10)(wengert.zeros(20, 5, 10)).shape
    torch.Size([20, 5, 10])
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self._register_affine(
            self.normalized_shape, weight=elementwise_affine, bias=elementwise_affine and bias,
            device=device, dtype=dtype,
        )  # fmt: skip
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = parameter_of(self, "weight"), parameter_of(self, "bias")
        return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps},"
            f" elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)


class RMSNorm(Module):
    """Division by the root mean square over the last dimensions, then a scale.

    Args:
        normalized_shape: the last dimensions, over which each sample is normalized: a number,
            or a shape.
        eps: added to the mean of squares; the epsilon of the dtype unless given.
        elementwise_affine: whether to learn a scale (and offset) per element.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.RMSNorm([2, 3])(wengert.ones(2, 2, 3)).shape
    torch.Size([2, 2, 3])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        affine = elementwise_affine
        self.register_parameter(
            "weight",
            parameter(*self.normalized_shape, device=device, dtype=dtype) if affine else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Scale 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, parameter_of(self, "weight"), self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """Zero mean and unit variance over groups of channels, then a scale and a shift.

    Args:
        num_groups: groups that the channels are divided into, normalized one by one.
        num_channels: channels, a multiple of `num_groups`.
        eps: added to the denominator, against division by zero.
        affine: whether to learn a scale and an offset per channel.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.
        bias: whether to learn the offset, where `affine`.

    >>> import wengert
    >>> wengert.nn.GroupNorm(3, 6)(wengert.zeros(20, 6, 10, 10)).shape
    torch.Size([20, 6, 10, 10])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self._register_affine(
            (num_channels,), weight=affine, bias=affine and bias, device=device, dtype=dtype
        )
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = parameter_of(self, "weight"), parameter_of(self, "bias")
        return F.group_norm(input, self.num_groups, weight, bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine},"
            f" bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Division by a power of the mean square over neighbouring channels.

    Args:
        size: channels that are summed over.
        alpha: factor of the sum of squares.
        beta: exponent.
        k: added to the sum.

    >>> import wengert
    >>> wengert.nn.LocalResponseNorm(2)(wengert.ones(2, 5, 4, 4)).shape
    torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """An older local response norm of (N, C, H, W), over ``2 * ((size + 1) // 2) - 1`` channels.

    As in PyTorch, the first channel is never dropped from the running sum.

    Args:
        size: channels that are summed over.
        alpha: factor of the sum of squares.
        beta: exponent.
        k: added to the sum.

    >>> import wengert
    >>> wengert.nn.CrossMapLRN2d(2)(wengert.ones(2, 5, 4, 4)).shape
    torch.Size([2, 5, 4, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        reach = int((self.size - 1) / 2 + 1)
        channel = np.arange(input.shape[1])
        near = np.abs(channel[:, None] - channel) < reach
        near[reach:, :1] = True
        summed = F.linear((input * input).movedim(1, -1), wrap(near.astype(input._outline.dtype)))
        scale = summed.movedim(-1, 1) * (self.alpha / self.size) + self.k
        return input * scale**-self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
