"""Float32 products by weights that are used again as they were: those are packed once.

`packed` packs blocks of both factors as it needs them, which for the right one takes as long as the
multiplications of some rows. A weight that stays as it is can be packed whole, and kept: blocks of
`block_depth` terms, and in each the panels that `pack_right` makes of all columns. Terms are added
in the same order as there, so that no digit changes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from wengert.kernels.derived import derived
from wengert.kernels.jit import get_threads, kernel
from wengert.kernels.jit.builtins import at, f32s, given, i64, i64s
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.packed import (
    Blocks,
    Factors,
    Plan,
    block_product,
    pack_left,
    pack_right,
    plan,
)

# Elements that a thread packs at least.
_CHUNK = 1 << 15

Shape = tuple[int, ...]


@kernel
def pack(b: f32s, to: f32s, sizes: Blocks, padded: i64, start: i64, stop: i64) -> None:
    """Some blocks of terms of the right factor."""
    for block in range(start, stop):
        p = block * sizes.block_depth
        depth = min(sizes.block_depth, sizes.depth - p)
        pack_right(sizes, at(to, p * padded), at(b, p * sizes.b_row), sizes.columns, depth)


@kernel
def multiply(
    a: f32s, right: f32s, c: f32s, bias: f32s, scratch: f32s, busy: i64s, slots: i64,
    sizes: Blocks, padded: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """c = a @ b, plus `bias` in each row, as `product_kernel`; `right` is b, packed."""
    slot = take(busy, slots)
    left = at(scratch, slot * sizes.scratch)
    terms = sizes.depth if sizes.held != 0 else sizes.block_depth
    temporary = at(left, sizes.block_rows * terms)
    for task in range(start, stop):
        top = task // sizes.across * sizes.tall
        left_edge = task % sizes.across * sizes.broad
        bottom = min(sizes.rows, top + sizes.tall)
        right_edge = min(sizes.columns, left_edge + sizes.broad)
        high = (bottom - top + sizes.high - 1) // sizes.high * sizes.high
        rows = at(a, top * sizes.a_row)
        if sizes.held != 0:
            for p in range(0, sizes.depth, sizes.block_depth):
                depth = min(sizes.block_depth, sizes.depth - p)
                terms_of_a = at(rows, p * sizes.a_column)
                pack_left(sizes, at(left, p * high), terms_of_a, bottom - top, depth)
        for y in range(left_edge, right_edge, sizes.block_columns):
            width = min(sizes.block_columns, right_edge - y)
            for p in range(0, sizes.depth, sizes.block_depth):
                depth = min(sizes.block_depth, sizes.depth - p)
                first = i64(p == 0 and given(bias))
                columns = at(right, p * padded + y * depth)
                for x in range(top, bottom, sizes.block_rows):
                    count = min(sizes.block_rows, bottom - x)
                    if sizes.held == 0:
                        block = at(rows, (x - top) * sizes.a_row + p * sizes.a_column)
                        pack_left(sizes, left, block, count, depth)
                    block_product(
                        sizes, at(left, p * high if sizes.held != 0 else 0), columns, columns,
                        at(c, x * sizes.columns + y), at(bias, y), count, width, depth,
                        min(1, p + first), first, temporary,
                    )  # fmt: skip
    leave(busy, slot)


class Form(NamedTuple):
    """How products are computed whose right factor is packed.

    Attributes:
        padded: the columns of the packed factor.
        key: what it is kept as; products with the same key are by the same packed factor.
        blocks: how many blocks of terms it has, and `chunk` how many a thread packs.
    """

    sizes: Blocks
    padded: int
    key: Shape
    blocks: int
    chunk: int

    @property
    def packed_size(self) -> int:
        """The elements of the packed factor."""
        return self.padded * self.sizes.depth


def form_of(planned: Blocks) -> Form:
    """The form of a product that is planned, of one matrix."""
    sizes = planned.copy()
    sizes.in_place = 0
    padded = -(-sizes.columns // sizes.lanes) * sizes.lanes
    b = sizes.depth, sizes.columns, sizes.b_row, sizes.b_column
    blocks = -(-sizes.depth // sizes.block_depth)
    chunk = 1 + _CHUNK // (padded * sizes.block_depth)
    return Form(sizes, padded, (*b, sizes.block_depth, sizes.wide), blocks, chunk)


class _Ready(NamedTuple):
    """How a product is computed: as planned, in a form."""

    plan: Plan
    form: Form

    def packed(self, b: np.ndarray) -> np.ndarray:
        """The right factor, packed."""
        form, to = self.form, np.empty(self.form.packed_size, np.float32)
        pack.f32(b, to, form.sizes, form.padded, form.blocks, form.chunk)
        return to


@lru_cache(1024)
def _ready(a: Shape, a_steps: Shape, b: Shape, b_steps: Shape, threads: int) -> _Ready:
    """The plan for matrices with such shapes and strides, in bytes."""
    steps = [step // 4 for step in (*a_steps, *b_steps)]
    planned = plan(Factors(a[0], b[1], a[1], *steps), threads)
    return _Ready(planned, form_of(planned.sizes))


def times_kept(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """a @ b, plus `bias`, a dense row; `b` shows all elements of a weight of which values are kept.

    Both are aligned float32 matrices of two rows, two columns and one term or more, with strides
    of whole elements.
    """
    ready = _ready(a.shape, a.strides, b.shape, b.strides, get_threads())
    (_, slots, room, tasks, chunk), form = ready
    right = derived(weight, form.key, lambda: ready.packed(b))
    out, scratch = np.empty((len(a), b.shape[1]), np.float32), np.empty(room, np.float32)
    multiply.f32(
        a, right, out, bias, scratch, np.zeros(slots, np.int64), slots, form.sizes, form.padded,
        tasks, chunk,
    )  # fmt: skip
    return out
