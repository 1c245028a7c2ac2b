"""Images whose channels lie last, in windows that do not overlap: one matrix product, as they lie.

Such are convolutions of 1x1, and those that cut an image into patches. A row of the product is a
window, whose elements lie beside one another or are copied in runs of channels; its result is the
channels of an output. Other routes would turn images and results over, for as long as it takes.
"""

from __future__ import annotations

import numpy as np

from wengert.kernels.geometry import Geometry, Shape
from wengert.kernels.layout import contiguous, is_channels_last, write
from wengert.kernels.products.blas import dot

# Elements from which turning images over takes longer than finding out how they lie.
SOME = 1 << 12

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def _fits(images: np.ndarray, other: np.ndarray, kernel: Shape, geometry: Geometry) -> bool:
    stride, padding, dilation, groups = geometry
    return (
        images.ndim == 4
        and groups == 1
        and (kernel == (1, 1) or (kernel == stride and dilation == (1, 1)))
        and images.size >= SOME
        and is_channels_last(images)
        and not any(map(any, padding))
        and images.dtype == other.dtype
        and images.dtype in _DTYPES
    )


def _last(images: np.ndarray) -> np.ndarray:
    """(batch, channel, y, x) as (batch, y, x, channel)."""
    return images.transpose(0, 2, 3, 1)


def _first(images: np.ndarray) -> np.ndarray:
    return images.transpose(0, 3, 1, 2)


def _flat(weight: np.ndarray) -> np.ndarray:
    """Weights as (out channel, elements of a window)."""
    return contiguous(_last(weight)).reshape(len(weight), -1)


def _windows(images: np.ndarray, kernel: Shape, stride: Shape, out: Shape) -> np.ndarray:
    """(batch, y, x, channel) as a view of its windows: (batch, *out, *kernel, channel)."""
    n, y, x, c = images.strides
    shape = (len(images), *out, *kernel, images.shape[3])
    steps = (n, y * stride[0], x * stride[1], y, x, c)
    return np.lib.stride_tricks.as_strided(images, shape, steps)


def _are_inside(size: Shape, kernel: Shape, stride: Shape, out: Shape) -> bool:
    """Whether an image of that size has so many windows."""
    axes = zip(size, kernel, stride, out, strict=True)
    return all([(m - 1) * s + k <= n for n, k, s, m in axes])


def _rows(images: np.ndarray, kernel: Shape, stride: Shape, out: Shape) -> np.ndarray:
    """The windows of images, a row for each."""
    windows = contiguous(_windows(_last(images), kernel, stride, out))
    return windows.reshape(-1, windows[0, 0, 0].size)


def forward(
    x: np.ndarray, weight: np.ndarray, geometry: Geometry, bias: np.ndarray | None
) -> np.ndarray | None:
    """`Route.forward`; None if these are no such images or windows."""
    kernel = weight.shape[2:]
    if not _fits(x, weight, kernel, geometry):
        return None
    out = geometry.out_size(x.shape[2:], kernel)
    rows = _rows(x, kernel, geometry.stride, out)
    return _first(dot(rows, _flat(weight).T, bias).reshape(len(x), *out, len(weight)))


def grad_input(
    g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry, bias: np.ndarray | None
) -> np.ndarray | None:
    """`Route.grad_input`; None if these are no such images or windows."""
    kernel, stride = weight.shape[2:], geometry.stride
    fits = _fits(g, weight, kernel, geometry)
    if not (fits and _are_inside(size, kernel, stride, g.shape[2:])):
        return None
    rows = contiguous(_last(g)).reshape(-1, g.shape[1])
    found = dot(rows, _flat(weight)).reshape(len(g), *g.shape[2:], *kernel, -1)
    shape = (len(g), *size, weight.shape[1])
    covered = tuple([m * s for m, s in zip(g.shape[2:], stride, strict=True)])
    out = (np.empty if covered == size and kernel == stride else np.zeros)(shape, g.dtype)
    write(_windows(out, kernel, stride, g.shape[2:]), found)
    if bias is not None:
        out += bias
    return _first(out)


def grad_weight(
    g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry
) -> np.ndarray | None:
    """`Route.grad_weight`; None if these are no such images or windows."""
    out, stride = g.shape[2:], geometry.stride
    fits = _fits(x, g, kernel, geometry)
    if not (fits and _are_inside(x.shape[2:], kernel, stride, out)):
        return None
    rows = _rows(x, kernel, stride, out)
    outputs = contiguous(_last(g)).reshape(len(rows), -1)
    found = dot(outputs.T, rows).reshape(-1, *kernel, x.shape[1])
    return contiguous(_first(found))
