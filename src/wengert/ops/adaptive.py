"""Adaptive pooling, where the output size determines the windows; and max unpooling."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.kernels.geometry import Geometry, Shape
from wengert.ops.checks import require_kind, typed_ints
from wengert.ops.interpolate import area_taps, resample
from wengert.ops.operands import as_one_call
from wengert.ops.pool import (
    Ints,
    Windows,
    batched,
    ints_of,
    max_positions,
    maxima,
    region_max_positions,
    space_of,
    take_positions,
    unpool,
    window_mean,
)
from wengert.ops.shape import contiguous


def _out_size(name: str, output_size: Any, size: Shape) -> Shape:
    """The requested size; in two and three dimensions None keeps the input's."""
    n = len(size)
    if n > 1 and isinstance(output_size, (tuple, list)) and len(output_size) == n:
        output_size = [m if o is None else o for o, m in zip(output_size, size, strict=True)]
    sizes = typed_ints(name, "output_size", output_size)
    if len(sizes) != n and (n == 1 or isinstance(output_size, (tuple, list))):
        raise RuntimeError(f"{name}: output_size must be {n} numbers, got {sizes}")
    sizes = sizes * (n // len(sizes))
    if min(sizes) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received"
            f" {sizes}"
        )
    return sizes


@lru_cache(maxsize=1024)
def _even_windows(size: Shape, out: Shape) -> Windows | None:
    """The windows if all are equal and none overlap; else None."""
    if 0 in out or any(n % o for n, o in zip(size, out, strict=True)):
        return None
    kernel = tuple(n // o for n, o in zip(size, out, strict=True))
    n = len(size)
    return Windows(kernel, out, Geometry(kernel, ((0, 0),) * n, (1,) * n))


def _space_of(name: str, input: Tensor, n: int, output_size: Any) -> Shape:
    """The spatial size of an input; the same dimensions may be empty as in PyTorch."""
    sizes = isinstance(output_size, (tuple, list)) and n > 1
    if sizes and isinstance(input, Tensor) and len(input.shape) <= len(output_size):
        raise ValueError(
            f"Input dimension should be at least {len(output_size) + 1}: {name}() got shape"
            f" {list(input.shape)}"
        )
    return space_of(name, input, n, range(-n, 0) if name in _OF_NO_CHANNELS else None)


_OF_NO_CHANNELS = ("adaptive_avg_pool1d", "adaptive_avg_pool2d")


def _adaptive_avg(name: str, n: int, input: Tensor, output_size: Any) -> Tensor:
    if (level := as_one_call(input)) is not None:
        function = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1]
        return level.call(function, (input, output_size), {})
    size = _space_of(name, input, n, output_size)
    out = _out_size(name, output_size, size)
    require_kind(name, input._outline, "fc")
    input = contiguous(input) if n == 3 else input  # as PyTorch has it
    first = input._outline.ndim - n
    windows = _even_windows(size, out)
    if windows is not None:
        return batched(window_mean, input, n, windows, float(prod(windows.kernel)))
    taps = [area_taps(first + d, m, o) for d, (m, o) in enumerate(zip(size, out, strict=True))]
    return resample(input, tuple(taps), lines=True)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Average the last dimension over windows chosen to give `output_size` elements.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_avg_pool1d(wengert.tensor([[1., 2., 3., 6.]]), 2)
    tensor([[1.5000, 4.5000]])
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Average over windows of the last two dimensions; None in `output_size` keeps a dimension.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_avg_pool2d(wengert.arange(16.).reshape(1, 4, 4), (1, 2))
    tensor([[[6.5000, 8.5000]]])
    """
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Average over windows of the last three dimensions.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_avg_pool3d(wengert.arange(8.).reshape(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size)


def _adaptive_max(name: str, n: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    if (level := as_one_call(input)) is not None:
        function = (adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d)[n - 1]
        return level.call(function, (input, output_size, return_indices), {})
    size = _space_of(name, input, n, output_size)
    out = _out_size(name, output_size, size)
    require_kind(name, input._outline, "f")
    windows = _even_windows(size, out)
    input = contiguous(input) if n == 3 else input
    if windows is not None and not return_indices:
        return batched(maxima, input, n, windows)
    indices = region_max_positions(input, out) if windows is None else max_positions(input, windows)
    result = take_positions(input, indices, n)
    return (result, indices) if return_indices else result


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows of the last dimension chosen to give `output_size` elements.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_max_pool1d(wengert.tensor([[1., 2., 3., 6.]]), 2)
    tensor([[2., 6.]])
    """
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows of the last two dimensions; None in `output_size` keeps a dimension.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_max_pool2d(wengert.arange(16.).reshape(1, 4, 4), (1, 2))
    tensor([[[13., 15.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows of the last three dimensions.

    >>> import wengert
    >>> wengert.nn.functional.adaptive_max_pool3d(wengert.arange(8.).reshape(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices)


def _max_unpool(
    name: str, n: int, input: Tensor, indices: Tensor, kernel_size: Ints, stride: Any,
    padding: Ints, output_size: Any,
) -> Tensor:  # fmt: skip
    stride = kernel_size if stride is None else stride
    named = (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    kernel, strides, padded = (
        (value,) * n if isinstance(value, int) else typed_ints(name, what, value)
        for what, value in named
    )
    size = input.shape[input.ndim - n :]
    out = _unpooled_size(n, size, kernel, strides, padded, output_size)
    space_of(name, input, n)
    if n == 3:  # PyTorch reads stride and padding a second time
        for what, value in named[1:]:
            ints_of(name, what, value, n)
        if min(strides) < 1:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {strides}")
    index = indices._array
    if index.dtype != np.int64:
        kind = of_numpy[index.dtype].short
        raise RuntimeError(f"elements in indices should be type int64 but got: {kind}")
    if index.shape != input._outline.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor"
            f" ({list(input.shape)}) but got indices tensor with shape: {list(index.shape)}"
        )
    return unpool(input, indices, out)


def _unpooled_size(
    n: int, size: Shape, kernel: Shape, stride: Shape, padding: Shape, output_size: Any
) -> Shape:
    """The requested size, which must be close to the default: a size that pools to the input's.

    As in PyTorch the kernel determines the number of dimensions; the error classes match.
    """
    if len(kernel) > min(len(size), len(stride), len(padding)):
        raise IndexError(
            f"max_unpool{n}d(): kernel_size has {len(kernel)} numbers, stride {len(stride)},"
            f" padding {len(padding)}, and the input {len(size)} dimensions"
        )
    default = [
        (m - 1) * s + k - 2 * p for m, s, k, p in zip(size, stride, kernel, padding, strict=False)
    ]
    out = default
    if output_size is not None:
        out = list(output_size)
        out = out[2:] if len(out) == len(default) + 2 else out
        if len(out) != len(default):
            raise ValueError(f"output_size should be a sequence of {n} numbers, but got {out}")
        for d, (o, m, s) in enumerate(zip(out, default, stride, strict=False)):
            if not m - s < o < m + s:
                raise ValueError(
                    f'invalid output_size "{out}" (dim {d} must be between {m - s} and {m + s})'
                )
    if len(out) != n:
        raise RuntimeError(f"There should be exactly {n} elements in output_size, but got {out}")
    if min(out) < 0:
        raise ValueError(f"max_unpooling: output_size must be non-negative, but got {out}")
    return tuple(map(int, out))


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None,
    padding: Ints = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back where `max_pool1d` found them, zeros elsewhere.

    >>> import wengert
    >>> out, indices = wengert.nn.functional.max_pool1d(
    ...     wengert.tensor([[1., 3., 5., 4.]]), 2, return_indices=True)
    >>> wengert.nn.functional.max_unpool1d(out, indices, 2)
    tensor([[0., 3., 5., 0.]])
    """
    return _max_unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None,
    padding: Ints = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back where `max_pool2d` found them, zeros elsewhere.

    Raises RuntimeError for an index outside the output and ValueError for an `output_size`
    that could not have been pooled to the input's size.

    >>> import wengert
    >>> x = wengert.tensor([[[1., 3.], [5., 4.]]])
    >>> out, indices = wengert.nn.functional.max_pool2d(x, 2, return_indices=True)
    >>> wengert.nn.functional.max_unpool2d(out, indices, 2)
    tensor([[[0., 0.],
             [5., 0.]]])
    """
    return _max_unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Ints, stride: Ints | None = None,
    padding: Ints = 0, output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Put maxima back where `max_pool3d` found them, zeros elsewhere.

    >>> import wengert
    >>> x = wengert.arange(8.).reshape(1, 2, 2, 2)
    >>> out, indices = wengert.nn.functional.max_pool3d(x, 2, return_indices=True)
    >>> wengert.nn.functional.max_unpool3d(out, indices, 2).sum()
    tensor(7.)
    """
    return _max_unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)


__all__ = ["adaptive_avg_pool1d"]
FUNCTIONAL = (
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
)  # fmt: skip
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
