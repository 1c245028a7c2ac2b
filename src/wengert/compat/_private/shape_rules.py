"""``torch._prims_common``: shapes, strides and dtypes as reference implementations ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from wengert.core import layout
from wengert.core.device import device
from wengert.core.dtypes import dtype as dtype_type
from wengert.core.tensor import Tensor
from wengert.ops.masking import where

is_contiguous = is_contiguous_or_false = Tensor.is_contiguous
DeviceLikeType = str | device | int


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension, counted from the front; IndexError if there is none."""
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got"
            f" {idx})"
        )
    return idx % rank


def canonicalize_dims(
    rank: int, indices: int | Sequence[int], wrap_scalar: bool = True
) -> int | tuple[int, ...]:
    """Dimensions, counted from the front."""
    if isinstance(indices, Sequence):
        return tuple(canonicalize_dim(rank, x, wrap_scalar) for x in indices)
    return canonicalize_dim(rank, indices, wrap_scalar)


def make_contiguous_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of a shape, in elements."""
    if not shape:
        return ()
    steps = accumulate((max(n, 1) for n in reversed(shape[1:])), mul, initial=1)
    return tuple(steps)[::-1]


def suggest_memory_format(x: Tensor) -> layout.memory_format:
    """The format of a tensor's memory: channels last, or contiguous."""
    for rank, format in ((4, layout.channels_last), (5, layout.channels_last_3d)):
        if x.layout is layout.strided and x.ndim == rank and x.stride(1) == 1 != x.shape[1]:
            return format if x.is_contiguous(memory_format=format) else layout.contiguous_format
    return layout.contiguous_format


def mask_tensor(mask: Tensor, t: Tensor) -> Tensor:
    """A tensor with zeros where a mask is false."""
    return where(mask, t, 0)


def corresponding_complex_dtype(dtype: dtype_type) -> dtype_type:
    """The complex dtype of a real one."""
    return dtype.to_complex()


def corresponding_real_dtype(dtype: dtype_type) -> dtype_type:
    """The dtype of a complex one's parts."""
    return dtype.to_real()


__all__ = [
    "DeviceLikeType",
    "canonicalize_dim",
    "canonicalize_dims",
    "corresponding_complex_dtype",
    "corresponding_real_dtype",
    "is_contiguous",
    "is_contiguous_or_false",
    "make_contiguous_strides_for",
    "mask_tensor",
    "suggest_memory_format",
]
