"""Fusing batch norms in evaluation mode into the preceding layer."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from wengert.core.tensor import Tensor
from wengert.nn.module import Module
from wengert.nn.parameter import Parameter

M = TypeVar("M", bound=Module)


def _scale_and_shift(mean: Any, var: Any, eps: float, weight: Any, bias: Any) -> tuple[Any, Any]:
    """A batch norm as ``scale * x + shift``."""
    scale = (var + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    return scale, shift if bias is None else shift + bias


def _fuse_affine(
    weight: Any, bias: Any, scale: Any, shift: Any, dim: int
) -> tuple[Parameter, Parameter]:
    shape = [1] * weight.ndim
    shape[dim] = -1
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = (shift if bias is None else bias * scale + shift).to(
        weight.dtype if bias is None else bias.dtype
    )
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.detach(), weight.requires_grad if bias is None else bias.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor | None, bn_b: Tensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Return weight and bias of a convolution fused with the batch norm after it.

    >>> import wengert
    >>> conv, bn = wengert.nn.Conv2d(1, 2, 1), wengert.nn.BatchNorm2d(2)
    >>> weight, bias = wengert.nn.utils.fuse_conv_bn_weights(
    ...     conv.weight, conv.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    ... )
    >>> weight.shape, bias.shape
    (torch.Size([2, 1, 1, 1]), torch.Size([2]))
    """
    scale, shift = _scale_and_shift(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fuse_affine(conv_w, conv_b, scale, shift, int(transpose))


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
    bn_w: Tensor, bn_b: Tensor,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """Return weight and bias of a linear layer fused with the batch norm after it.

    >>> import wengert
    >>> linear, bn = wengert.nn.Linear(3, 2), wengert.nn.BatchNorm1d(2)
    >>> weight, bias = wengert.nn.utils.fuse_linear_bn_weights(
    ...     linear.weight, linear.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    ... )
    >>> weight.shape, bias.shape
    (torch.Size([2, 3]), torch.Size([2]))
    """
    scale, shift = _scale_and_shift(bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _fuse_affine(linear_w, linear_b, scale, shift, 0)


def _statistics(bn: Any) -> tuple[Any, Any, Any, Any, Any]:
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Only a batch norm with running statistics can be fused")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_eval(conv: M, bn: Module, transpose: bool = False) -> M:
    """Fuse `conv` with the batch norm after it; both must be in eval mode.

    >>> import wengert
    >>> conv, bn = wengert.nn.Conv2d(1, 2, 1).eval(), wengert.nn.BatchNorm2d(2).eval()
    >>> x = wengert.ones(1, 1, 2, 2)
    >>> fused = wengert.nn.utils.fuse_conv_bn_eval(conv, bn)
    >>> wengert.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused: Any = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *_statistics(bn), transpose
    )
    return fused


def fuse_linear_bn_eval(linear: M, bn: Module) -> M:
    """Fuse `linear` with the batch norm after it; both must be in eval mode.

    >>> import wengert
    >>> linear, bn = wengert.nn.Linear(3, 2).eval(), wengert.nn.BatchNorm1d(2).eval()
    >>> x = wengert.ones(4, 3)
    >>> fused = wengert.nn.utils.fuse_linear_bn_eval(linear, bn)
    >>> wengert.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused: Any = copy.deepcopy(linear)
    features: Any = bn.num_features
    if fused.out_features != features and features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got"
            f" {fused.out_features} and {features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_statistics(bn))
    return fused


__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]
