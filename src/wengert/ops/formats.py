"""Memory formats: named orders of dimensions in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.layout import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    memory_format,
    preserve_format,
)
from wengert.kernels import layout

_RANKS = {channels_last: 4, channels_last_3d: 5}
_BY_RANK = {rank: format for format, rank in _RANKS.items()}


def check_format(name: str, format: Any, default: memory_format = preserve_format) -> memory_format:
    """The argument `memory_format` of a function, or TypeError; `default` for None."""
    if format is None:
        return default
    if not isinstance(format, memory_format):
        raise TypeError(
            f"{name}(): argument 'memory_format' must be torch.memory_format, not"
            f" {type(format).__name__}"
        )
    return format


def order_in(format: memory_format, ndim: int) -> tuple[int, ...]:
    """The dimensions of a dense tensor of that format, widest stride first."""
    rank = _RANKS.get(format)
    if rank is None:
        return tuple(range(ndim))
    if rank != ndim:
        raise RuntimeError(
            f"required rank {rank} tensor to use {format.name} format, got one of rank {ndim}"
        )
    return layout.CHANNELS_LAST[rank]


def lies_in(array: np.ndarray, format: memory_format) -> bool:
    """Whether an array is dense in a format; strides of dimensions of length 1 are ignored."""
    rank = _RANKS.get(format, array.ndim)
    if rank != array.ndim:
        return False
    return array.transpose(order_in(format, rank)).flags.c_contiguous


def suggested(array: np.ndarray) -> memory_format:
    """The memory format inferred from an array's strides."""
    return _BY_RANK[array.ndim] if layout.is_channels_last(array) else contiguous_format


def empty(array: np.ndarray, format: memory_format, dtype: Any = None) -> np.ndarray:
    """A new array of the shape of another, in a format or in its order."""
    if format is preserve_format:
        return layout.empty_like(array, dtype)
    return layout.empty(array.shape, dtype or array.dtype, order_in(format, array.ndim))


def copied(array: np.ndarray, format: memory_format) -> np.ndarray:
    """A copy of an array, in a format or in its order."""
    if format is preserve_format:
        return layout.copy(array)
    if format is contiguous_format:
        return layout.in_c_order(array)
    out = empty(array, format)
    layout.write(out, array)
    return out
