"""Rearranging channels into space, back, and among groups."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module


class PixelShuffle(Module):
    """(*, C·r², H, W) to (*, C, H·r, W·r).

    Args:
        upscale_factor: factor of height and width; the channels are a multiple of its square.

    >>> import wengert
    >>> wengert.nn.PixelShuffle(3)(wengert.zeros(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(*, C, H·r, W·r) to (*, C·r², H, W), the inverse of PixelShuffle.

    Args:
        downscale_factor: divisor of height and width.

    >>> import wengert
    >>> wengert.nn.PixelUnshuffle(3)(wengert.zeros(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels interleaved across groups: the first of each group, then the second of each, ...

    Args:
        groups: groups of channels whose members are interleaved.

    >>> import wengert
    >>> wengert.nn.ChannelShuffle(2)(wengert.zeros(1, 4, 2, 2)).shape
    torch.Size([1, 4, 2, 2])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]
