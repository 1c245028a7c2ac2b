"""The geometry of the windows of convolution and pooling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

Shape = tuple[int, ...]

# Elements of a window from which its sum is taken by itself, rather than a row of sums at a time.
_LONG = 1 << 4


class Geometry(NamedTuple):
    """The geometry of windows over the input, one entry per spatial dimension."""

    stride: Shape
    padding: tuple[tuple[int, int], ...]  # zeros before and after
    dilation: Shape
    groups: int = 1

    def out_size(self, size: Shape, kernel: Shape) -> Shape:
        """The number of windows along each dimension."""
        return tuple(
            (n + low + high - d * (k - 1) - 1) // s + 1
            for n, k, s, (low, high), d in zip(
                size, kernel, self.stride, self.padding, self.dilation, strict=True
            )
        )


def space(index: Sequence[Any]) -> tuple[Any, ...]:
    """The index of spatial dimensions, after batch and channel."""
    return (slice(None), slice(None), *index)


def padded(x: np.ndarray, padding: tuple[tuple[int, int], ...]) -> np.ndarray:
    """`x` with its spatial dimensions zero-padded; itself if there is no padding."""
    if not any(low or high for low, high in padding):
        return x
    size = [n + low + high for n, (low, high) in zip(x.shape[2:], padding, strict=True)]
    out = np.zeros((*x.shape[:2], *size), x.dtype)
    inside = [slice(low, low + n) for n, (low, _) in zip(x.shape[2:], padding, strict=True)]
    out[space(inside)] = x
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
    """For each kernel tap: its index, and the slices of the padded input it reads."""
    for place in product(*map(range, kernel)):
        yield (
            place,
            tuple(
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, n, s, d in zip(place, out, geometry.stride, geometry.dilation, strict=True)
            ),
        )


@lru_cache(1024)
def runs_of(size: Shape, kernel: Shape, out: Shape, geometry: Geometry) -> tuple[int, int] | None:
    """How many windows a plane has, and their elements, if each is a long run of memory."""
    if any([low for low, _ in geometry.padding]):
        return None
    if kernel == size and prod(out) == 1:
        return 1, prod(size)
    width, ones = kernel[-1], (1,) * (len(size) - 1)
    if width < _LONG or geometry.dilation[-1] != 1 or size != (*out[:-1], out[-1] * width):
        return None
    return (prod(out), width) if kernel[:-1] == ones and geometry.stride == (*ones, width) else None
