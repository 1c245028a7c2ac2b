"""How gradients travel: as they are, or in 16 bits."""

from __future__ import annotations

from typing import Any

from wengert import float16
from wengert.core.tensor import Tensor


class Compressor:
    """Makes a tensor smaller, and restores it."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        """The tensor to be sent, and what `decompress` needs."""
        raise NotImplementedError

    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor:
        """The tensor as it was."""
        raise NotImplementedError


class NoneCompressor(Compressor):
    """As it is."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        return tensor, None

    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor:
        return tensor


class FP16Compressor(Compressor):
    """Floating-point numbers in 16 bits."""

    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]:
        smaller = tensor.to(float16) if tensor.is_floating_point() else tensor
        return smaller, tensor.dtype

    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor:
        return tensor.to(ctx) if ctx.is_floating_point else tensor


class Compression:
    """The compressors.

    >>> import wengert
    >>> from wengert.horovod.torch import Compression
    >>> Compression.fp16.compress(wengert.ones(2))[0].dtype
    torch.float16
    """

    none = NoneCompressor
    fp16 = FP16Compressor


__all__ = ["Compression", "Compressor", "FP16Compressor", "NoneCompressor"]
