"""Sliding blocks of an image as columns, and back."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module


class Unfold(Module):
    """The sliding blocks of (N, C, H, W) as columns (N, C·kernel, L).

    Args:
        kernel_size: size of the blocks.
        dilation: distance between the elements of a block.
        padding: zeros added at both ends.
        stride: step between blocks.

    >>> import wengert
    >>> wengert.nn.Unfold(2)(wengert.zeros(1, 3, 4, 4)).shape
    torch.Size([1, 12, 9])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation},"
            f" padding={self.padding}, stride={self.stride}"
        )


class Fold(Module):
    """Columns (N, C·kernel, L) summed into the image (N, C, H, W) whose blocks they are.

    Args:
        output_size: size of the images.
        kernel_size: size of the blocks.
        dilation: distance between the elements of a block.
        padding: zeros that were added at both ends.
        stride: step between blocks.

    >>> import wengert
    >>> wengert.nn.Fold((4, 4), 2)(wengert.zeros(1, 12, 9)).shape
    torch.Size([1, 3, 4, 4])
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size},"
            f" dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


__all__ = ["Fold", "Unfold"]
