"""Memory formats of convolution weights."""

from __future__ import annotations

from typing import Any, TypeVar

from wengert.nn.module import Module

M = TypeVar("M", bound=Module)


def _convert(module: Any, memory_format: Any, ranks: tuple[int, ...]) -> Any:
    for child in module.modules():
        weight = child._parameters.get("weight")
        if hasattr(child, "dilation") and weight is not None and weight.ndim in ranks:
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Reorder the weights of 2-d convolutions in memory, which does not speed anything up here.

    >>> import wengert
    >>> conv = wengert.nn.utils.convert_conv2d_weight_memory_format(
    ...     wengert.nn.Conv2d(2, 2, 2), wengert.channels_last
    ... )
    >>> conv.weight.is_contiguous(memory_format=wengert.channels_last)
    True
    """
    return _convert(module, memory_format, (4,))


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Reorder the weights of 3-d convolutions in memory, which does not speed anything up here.

    >>> import wengert
    >>> conv = wengert.nn.utils.convert_conv3d_weight_memory_format(
    ...     wengert.nn.Conv3d(2, 2, 2), wengert.channels_last_3d
    ... )
    >>> conv.weight.is_contiguous(memory_format=wengert.channels_last_3d)
    True
    """
    return _convert(module, memory_format, (5,))


__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
