"""Kernels along a dimension: of rows, or of columns where there are others behind it."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from wengert.kernels.axes import axes_of
from wengert.kernels.chunks import rows_of
from wengert.replay.emitting import Emitter, View
from wengert.replay.layout_forms import dense_of


class Lines(NamedTuple):
    """A kernel of rows, one of columns, and how many of these it takes together."""

    rows: Any
    columns: Any
    lanes: int

    def run(
        self, emitter: Emitter, arrays: tuple[Any, ...], shape: tuple[int, ...], axis: int,
        *more: Any,
    ) -> None:  # fmt: skip
        """Call one of them for arrays, and numbers, of a shape, along one of its dimensions."""
        outer, n, inner = prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])
        if inner == 1:
            emitter.call(self.rows.f32, *arrays, n, *more, total=outer, chunk=rows_of(n))
            return
        blocks = -(-inner // self.lanes)
        emitter.call(
            self.columns.f32, *arrays, n, inner, blocks, *more, total=outer * blocks,
            chunk=rows_of(n * min(inner, self.lanes)),
        )  # fmt: skip


def reduced_axes(dim: Any, rank: int) -> tuple[int, ...]:
    """The dimensions that a reduction goes over, in order."""
    axes = axes_of(dim, rank)
    return tuple(range(rank)) if axes is None else tuple(sorted(axes))


def folded(emitter: Emitter, source: View, axes: tuple[int, ...]) -> View:
    """The elements as (outer, n, inner), where n has those of some dimensions; at least one.

    Where these are not neighbours, they come last, in a copy.
    """
    first, last = axes[0], axes[-1] + 1
    if axes != (*range(first, last),):
        kept = [d for d in range(len(source.shape)) if d not in axes]
        source = source.permuted((*kept, *axes))
        first, last = len(kept), len(source.shape)
    shape = source.shape
    sizes = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
    return dense_of(emitter, source).shaped(*sizes)


def unreduced(x: View, shape: tuple[int, ...], axes: tuple[int, ...]) -> View:
    """The result of a reduction of such a shape with length 1 in the dimensions it went over."""
    if len(x.shape) == len(shape):
        return x
    kept = iter(x.strides)
    strides = tuple([1 if d in axes else next(kept) for d in range(len(shape))])
    return x._replace(
        shape=tuple([1 if d in axes else n for d, n in enumerate(shape)]), strides=strides
    )  # fmt: skip
