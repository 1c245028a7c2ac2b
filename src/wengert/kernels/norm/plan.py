"""Which elements a normalisation averages together, and which it scales together."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

Shape = tuple[int, ...]


@lru_cache(256)
def _size(view: Shape, axes: Shape) -> int:
    return prod([view[a] for a in axes])


@lru_cache(256)
def _stats(view: Shape, axes: Shape) -> Shape:
    return tuple([1 if a in axes else n for a, n in enumerate(view)])


class NormPlan(NamedTuple):
    """Which elements are normalised together, and which are scaled together.

    The input is viewed in the shape `view`, and averaged over `axes` (the last among them);
    then in the shape `channels`, where weight and bias have the shape `affine`. Either the
    first axis of both shapes is free of `axes`, or the shapes are (batch, channel, space).
    With `wide` the input is of halves, beside weights and running statistics of float32.
    """

    view: Shape
    axes: Shape
    channels: Shape
    affine: Shape
    centred: bool = True
    wide: bool = False

    @property
    def size(self) -> int:
        """The number of elements normalised together."""
        return _size(self.view, self.axes)

    @property
    def stats(self) -> Shape:
        """The shape of the means."""
        return _stats(self.view, self.axes)
