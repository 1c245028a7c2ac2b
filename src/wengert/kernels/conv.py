"""Convolution of any dimension by GEMM over columns of windows (im2col).

Three maps make a family that is closed under differentiation: `convolve` (input and weight
to output), `spread` (its adjoint in the input, the transposed convolution) and `correlate`
(its adjoint in the weight). Arrays are laid out (batch, channel, *space), weights
(out channel, in channel / groups, *kernel).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from wengert.kernels.blas import threads_for

Shape = tuple[int, ...]

# Columns that one GEMM should at least have: small images are taken several at a time.
_FEWEST_COLUMNS = 2048


class Geometry(NamedTuple):
    """How windows lie over the input, one entry per spatial dimension."""

    stride: Shape
    padding: tuple[tuple[int, int], ...]  # zeros before and after
    dilation: Shape
    groups: int = 1

    def out_size(self, size: Shape, kernel: Shape) -> Shape:
        """How many windows fit into each dimension."""
        return tuple(
            (n + low + high - d * (k - 1) - 1) // s + 1
            for n, k, s, (low, high), d in zip(
                size, kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )


def _space(index: Sequence[Any]) -> tuple[Any, ...]:
    """The index of spatial dimensions, behind batch and channel."""
    return (slice(None), slice(None), *index)


def padded(x: np.ndarray, padding: tuple[tuple[int, int], ...]) -> np.ndarray:
    """`x` with zeros around its spatial dimensions; itself where there are none to add."""
    if not any(low or high for low, high in padding):
        return x
    size = [n + low + high for n, (low, high) in zip(x.shape[2:], padding, strict=True)]
    out = np.zeros((*x.shape[:2], *size), x.dtype)
    inside = [slice(low, low + n) for n, (low, _) in zip(x.shape[2:], padding, strict=True)]
    out[_space(inside)] = x
    return out


def windows(x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry) -> np.ndarray:
    """A view (batch, channel, *kernel, *out) of the windows of an already padded array."""
    space = x.strides[2:]
    within = (s * d for s, d in zip(space, geometry.dilation, strict=True))
    between = (s * t for s, t in zip(space, geometry.stride, strict=True))
    return as_strided(
        x, (*x.shape[:2], *kernel, *out), (*x.strides[:2], *within, *between), writeable=False
    )


def offsets(
    kernel: Shape, out: Shape, geometry: Geometry
) -> Iterator[tuple[Shape, tuple[slice, ...]]]:
    """For each place in the kernel: its index, and the slices of the padded input it meets."""
    for place in product(*map(range, kernel)):
        yield (
            place,
            tuple(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, n, s, d in zip(place, out, geometry.stride, geometry.dilation, strict=True)
            ),
        )


def _parts(batch: int, out: Shape) -> Iterator[slice]:
    step = max(1, _FEWEST_COLUMNS // max(1, prod(out)))
    return (slice(i, min(i + step, batch)) for i in range(0, batch, step))


def _columns(
    x: np.ndarray, kernel: Shape, out: Shape, geometry: Geometry
) -> Iterator[tuple[slice, np.ndarray]]:
    """Windows as matrices (groups, channels / groups * kernel, samples * out), part by part.

    The matrix is valid until the next one is asked for.
    """
    x = padded(x, geometry.padding)
    view = windows(x, kernel, out, geometry)
    rank, rows = len(kernel), x.shape[1] * prod(kernel) // geometry.groups
    order = (*range(1, 2 + rank), 0, *range(2 + rank, 2 + 2 * rank))
    buffer = None
    for part in _parts(len(x), out):
        here = view[part].transpose(order)
        if prod(kernel) == 1 and here.flags.c_contiguous:
            yield part, here.reshape(geometry.groups, rows, -1)
            continue
        if buffer is None or buffer.shape != here.shape:
            buffer = np.empty(here.shape, x.dtype)
        np.copyto(buffer, here)
        yield part, buffer.reshape(geometry.groups, rows, -1)


def _by_group(g: np.ndarray, groups: int) -> np.ndarray:
    """(samples, channels, *out) as matrices (groups, channels / groups, samples * out)."""
    return g.swapaxes(0, 1).reshape(groups, g.shape[1] // groups, -1)


def _threads(weight: Shape, batch: int, out: Shape) -> AbstractContextManager[None]:
    """One thread unless the products, part by part, are large."""
    samples = min(batch, max(1, _FEWEST_COLUMNS // max(1, prod(out))))
    return threads_for(prod(weight) * prod(out) * samples)


def convolve(x: np.ndarray, weight: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Each output is a window's product with the weights."""
    kernel, groups = weight.shape[2:], geometry.groups
    size = geometry.out_size(x.shape[2:], kernel)
    out = np.empty((len(x), len(weight), *size), x.dtype)
    matrix = weight.reshape(groups, len(weight) // groups, prod(weight.shape[1:]))
    with _threads(weight.shape, len(x), size):
        for part, columns in _columns(x, kernel, size, geometry):
            if part.stop - part.start == 1:
                target = out[part].reshape(groups, len(weight) // groups, prod(size))
                np.matmul(matrix, columns, out=target)
            else:
                result = np.matmul(matrix, columns).reshape(len(weight), -1, *size)
                out[part] = result.swapaxes(0, 1)
    return out


def correlate(g: np.ndarray, x: np.ndarray, kernel: Shape, geometry: Geometry) -> np.ndarray:
    """Each weight is the product of the outputs with what its place in the kernel met."""
    groups, channels = geometry.groups, g.shape[1]
    rows = x.shape[1] // groups
    total = np.zeros((groups, channels // groups, rows * prod(kernel)), x.dtype)
    with _threads((channels, rows, *kernel), len(x), g.shape[2:]):
        for part, columns in _columns(x, kernel, g.shape[2:], geometry):
            total += np.matmul(_by_group(g[part], groups), columns.swapaxes(1, 2))
    return total.reshape(channels, rows, *kernel)


def overlap_add(blocks: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray:
    """Blocks (batch, channel, *kernel, *out), each added where its window lies; then the padding
    is cut off: (batch, channel, *size)."""
    rank, pads = len(size), geometry.padding
    kernel, out = blocks.shape[2 : 2 + rank], blocks.shape[2 + rank :]
    whole = [n + low + high for n, (low, high) in zip(size, pads, strict=True)]
    total = np.zeros((*blocks.shape[:2], *whole), blocks.dtype)
    for place, slices in offsets(kernel, out, geometry):
        total[_space(slices)] += blocks[_space(place)]
    inside = [slice(low, low + n) for n, (low, _) in zip(size, pads, strict=True)]
    return total[_space(inside)]


def spread(g: np.ndarray, weight: np.ndarray, size: Shape, geometry: Geometry) -> np.ndarray:
    """Each value is added, times the weights, to its window in an array of that size."""
    kernel, out, groups = weight.shape[2:], g.shape[2:], geometry.groups
    channels = weight.shape[1] * groups
    matrix = weight.reshape(groups, len(weight) // groups, -1).swapaxes(1, 2)
    total = np.empty((len(g), channels, *size), g.dtype)
    with _threads(weight.shape, len(g), out):
        for part in _parts(len(g), out):
            columns = np.matmul(matrix, _by_group(g[part], groups))
            columns = columns.reshape(channels, *kernel, -1, *out)
            total[part] = overlap_add(np.moveaxis(columns, 1 + len(kernel), 0), size, geometry)
    return total
