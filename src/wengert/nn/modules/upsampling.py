"""Resizing by interpolation."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.module import Module


class Upsample(Module):
    """Resizes (N, C, ...) to a size or by a factor, as `nn.functional.interpolate`.

    Args:
        size: size of the result, for each spatial dimension.
        scale_factor: factor of the size, instead.
        mode: `"nearest"`, `"linear"`, `"bilinear"`, `"bicubic"` or `"trilinear"`.
        align_corners: whether the outermost elements stay where they are; not for `"nearest"`.
        recompute_scale_factor: whether to compute with the factor of the rounded sizes.

    >>> import wengert
    >>> wengert.nn.Upsample(scale_factor=2)(wengert.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes (N, C, H, W) by repeating pixels.

    Args:
        size: height and width of the result.
        scale_factor: factor of both, instead.

    >>> import wengert
    >>> wengert.nn.UpsamplingNearest2d(scale_factor=2)(wengert.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes (N, C, H, W) bilinearly, with aligned corners.

    Args:
        size: height and width of the result.
        scale_factor: factor of both, instead.

    >>> import wengert
    >>> wengert.nn.UpsamplingBilinear2d(scale_factor=2)(wengert.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
