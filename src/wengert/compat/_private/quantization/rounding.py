"""Values rounded to what integers would keep of them, with the gradient of the identity."""

from __future__ import annotations

from typing import Any

from wengert.autograd.custom.function import Function
from wengert.core.dtypes import FLOAT, float32, int32
from wengert.core.tensor import Tensor
from wengert.tensor import tensor


class _Rounding(Function):
    """Numbers as the integers of a range would keep them; those outside have no gradient."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, scale: Tensor, zero: Tensor, low: int, high: int
    ) -> Tensor:  # fmt: skip
        steps = x * scale.reciprocal()
        whole = zero.dtype.category != FLOAT  # whether 0 is an integer itself
        integers = zero + steps.round() if whole else (zero + steps).round()
        ctx.save_for_backward((integers >= low) & (integers <= high))
        return ((integers.clamp(low, high) - zero) * scale).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (inside,) = ctx.saved_tensors
        return gradient * inside, None, None, None, None


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Numbers rounded to multiples of `scale`, of which `quant_min` to `quant_max` are kept.

    `zero_point` is the integer that stands for 0. The gradient is that of the identity, and 0 for
    numbers outside of the range. RuntimeError for a range or a zero point that does not fit.
    """
    _check_range(quant_min, quant_max)
    if not isinstance(zero_point, Tensor) and not quant_min <= zero_point <= quant_max:
        raise RuntimeError(
            f"`zero_point` must be between `quant_min` and `quant_max`, but is {zero_point}"
        )
    steps, zero = (
        x.detach() if isinstance(x, Tensor) else tensor(x, dtype=kind)
        for x, kind in ((scale, float32), (zero_point, int32))
    )
    out: Tensor = _Rounding.apply(input, steps.to(float32), zero, quant_min, quant_max)
    return out


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each channel.

    Channels are those of dimension `axis`. RuntimeError for tensors that do not fit.
    """
    _check_range(quant_min, quant_max)
    if scale.dtype is not float32:
        raise RuntimeError(f"Scale must be Float, found {scale.dtype}")
    if zero_point.dtype is not int32 and zero_point.dtype.category != FLOAT:
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype}")
    if scale.ndim != 1 or zero_point.ndim != 1 or scale.numel() != zero_point.numel():
        raise RuntimeError(
            "scale and zero point should be 1-D tensors of the same size, got shapes"
            f" {list(scale.shape)} and {list(zero_point.shape)}"
        )
    if not 0 <= axis < input.ndim:
        raise RuntimeError(
            f"`axis` must be between 0 and number of dimensions of input, but is {axis}"
        )
    if scale.numel() != input.shape[axis]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor: there are"
            f" {scale.numel()} scales for {input.shape[axis]} channels"
        )
    if zero_point.dtype is int32 and not bool(
        ((zero_point >= quant_min) & (zero_point <= quant_max)).all()
    ):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    shape = [1] * input.ndim
    shape[axis] = -1
    steps, zero = (x.detach().reshape(shape) for x in (scale, zero_point))
    out: Tensor = _Rounding.apply(input, steps, zero, quant_min, quant_max)
    return out


def _check_range(quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError(
            f"`quant_min` should be less than or equal to `quant_max`, got {quant_min} and"
            f" {quant_max}"
        )


__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]
