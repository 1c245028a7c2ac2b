"""Float32 products on the microkernel: blocks that stay in the caches, packed into panels.

A task computes a rectangle of the product. It copies blocks of both factors into the order in which
the tiles of the microkernel read them: panels of some rows of `a`, and of some vectors of `b`.
Either factor may lie transposed, as the copy puts it right. Where few rows meet a small `b`, its
rows are read where they are.

A sum's terms are added in their order, in blocks of `block_depth`, which depends on nothing but
their number. So an element has the same digits however the product is cut into tasks, and the
product of a matrix and its transpose is symmetric.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wengert.kernels.jit import Kernel, kernel
from wengert.kernels.jit.builtins import apart, at, f32s, given, i64, i64s, inline
from wengert.kernels.jit.native import native
from wengert.kernels.jit.records import Record
from wengert.kernels.jit.slots import leave, take
from wengert.kernels.products.microkernel import lanes, panel_product, tiles
from wengert.kernels.products.packing import pack_columns, pack_rows, side, tile_rows

# Multiplications that a task has at least; tasks that a thread has at most; how much of a task the
# last thread comes late.
_TASK, _PER_THREAD, _LATE = 1 << 18, 2, 0.1
# Panels of `a` up to which packing `b` does not pay off if it fits the cache.
_FEW = 8
# Multiplications in the time of packing an element.
_PACKING = 16
# Where the system does not say how large its caches are.
_L1, _L2 = 32 << 10, 256 << 10


class Factors(NamedTuple):
    """Sizes and steps of a batch of products; a step is the distance of neighbours in floats."""

    rows: int
    columns: int
    depth: int
    a_row: int
    a_column: int
    b_row: int
    b_column: int
    # The leading axes, at most two: how many products, how many along the inner axis, and steps.
    batch: int = 1
    inner: int = 1
    a_outer: int = 0
    a_inner: int = 0
    b_outer: int = 0
    b_inner: int = 0


class Blocks(Record):
    """How a batch of products is computed: that of `Factors`, tiles, blocks, tasks."""

    rows: i64
    columns: i64
    depth: i64
    a_row: i64
    a_column: i64
    b_row: i64
    b_column: i64
    batch: i64
    inner: i64
    a_outer: i64
    a_inner: i64
    b_outer: i64
    b_inner: i64
    # The rows and columns of the best tile, floats to a vector, and the side of squares.
    high: i64
    wide: i64
    lanes: i64
    side: i64
    # Rows of `a`, columns of `b` and terms that are packed at a time; whether all terms of the
    # rows of a task are packed at once; whether `b` is read where it lies.
    block_rows: i64
    block_columns: i64
    block_depth: i64
    held: i64
    in_place: i64
    # The rectangle of a task, how many are beside one another, and in a product; scratch floats.
    tall: i64
    broad: i64
    across: i64
    tasks: i64
    scratch: i64


@native("define internal void @prepared() alwaysinline nounwind {\n  ret void\n}")
def prepared() -> None:
    """What a thread does before it computes tiles: nothing for those in vectors."""


@native("define internal void @released() alwaysinline nounwind {\n  ret void\n}")
def released() -> None:
    """What it does after the last one."""


@apart
def pack_left(sizes: Blocks, to: f32s, a: f32s, rows: i64, depth: i64) -> None:
    """Panels of rows of a block."""
    pack_rows(to, a, sizes.a_row, sizes.a_column, rows, depth, sizes.side)


@inline
def _panel_width(sizes: Blocks, columns: i64) -> i64:
    """The columns of the next panel of so many: a last panel of one vector would have few sums."""
    width = min(sizes.wide, columns)
    if columns > width and columns <= width + sizes.lanes and width > 2 * sizes.lanes:
        width = width - sizes.lanes
    return width


@apart
def pack_right(sizes: Blocks, to: f32s, b: f32s, columns: i64, depth: i64) -> None:
    """Panels of columns of a block; what is read in place is left out."""
    lane = sizes.lanes
    y = 0
    while y < columns:
        width = _panel_width(sizes, columns - y)
        pitch = (width + lane - 1) // lane * lane
        if sizes.in_place == 0 or width < pitch:
            place = 0 if sizes.in_place != 0 else y * depth
            pack_columns(
                at(to, place), pitch, at(b, y * sizes.b_column), sizes.b_row, sizes.b_column, width,
                depth, sizes.side,
            )  # fmt: skip
        y += width


@inline
def _tile(
    rows: i64, width: i64, lane: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64,
    add: i64, temporary: f32s,
) -> None:  # fmt: skip
    """A tile of the product, of which the last rows and vector may reach beyond the edge."""
    high = tile_rows(rows)
    vectors = (width + lane - 1) // lane
    n = vectors * lane
    if width == n and rows == high:
        panel_product(high, vectors, a, b, pitch, depth, c, ldc, add)
    else:
        panel_product(high, vectors, a, b, pitch, depth, temporary, n, 0)
        for i in range(rows):
            if add != 0:
                for j in range(width):
                    c[i * ldc + j] = c[i * ldc + j] + temporary[i * n + j]
            else:
                for j in range(width):
                    c[i * ldc + j] = temporary[i * n + j]


@apart
def _panel(
    sizes: Blocks, left: f32s, b: f32s, pitch: i64, c: f32s, bias: f32s, rows: i64, width: i64,
    depth: i64, add: i64, first: i64, temporary: f32s,
) -> None:  # fmt: skip
    """The tiles below one another; at the `first` terms of sums the bias comes in."""
    ldc = sizes.columns
    for x in range(0, rows, sizes.high):
        high = min(sizes.high, rows - x)
        to = at(c, x * ldc)
        if first != 0:
            for i in range(high):
                for j in range(width):
                    to[i * ldc + j] = bias[j]
        _tile(
            high, width, sizes.lanes, at(left, x * depth), b, pitch, depth, to, ldc, add, temporary
        )


@apart
def block_product(
    sizes: Blocks, left: f32s, b: f32s, right: f32s, c: f32s, bias: f32s, rows: i64, columns: i64,
    depth: i64, add: i64, first: i64, temporary: f32s,
) -> None:  # fmt: skip
    """The panels of a block."""
    y = 0
    while y < columns:
        width = _panel_width(sizes, columns - y)
        pitch = (width + sizes.lanes - 1) // sizes.lanes * sizes.lanes
        place = 0 if sizes.in_place != 0 else y * depth
        if sizes.in_place != 0 and width == pitch:
            _panel(
                sizes, left, at(b, y), sizes.b_row, at(c, y), at(bias, y), rows, width, depth, add,
                first, temporary,
            )  # fmt: skip
        else:
            _panel(
                sizes, left, at(right, place), pitch, at(c, y), at(bias, y), rows, width, depth,
                add, first, temporary,
            )  # fmt: skip
        y += width


@kernel
def product_kernel(
    a: f32s, b: f32s, c: f32s, bias: f32s, scratch: f32s, busy: i64s, slots: i64, add: i64,
    sizes: Blocks, start: i64, stop: i64,
) -> None:  # fmt: skip
    """c = a @ b, plus `bias` in each row, or what is there if `add` is 1."""
    slot = take(busy, slots)
    packed = at(scratch, slot * sizes.scratch)
    terms = sizes.depth if sizes.held != 0 else sizes.block_depth
    right = at(packed, sizes.block_rows * terms)
    room = sizes.wide if sizes.in_place != 0 else sizes.block_columns
    temporary = at(right, room * sizes.block_depth)
    prepared()
    for task in range(start, stop):
        batch = task // sizes.tasks
        piece = task % sizes.tasks
        outer = batch // sizes.inner
        inner = batch % sizes.inner
        top = piece // sizes.across * sizes.tall
        left_edge = piece % sizes.across * sizes.broad
        bottom = min(sizes.rows, top + sizes.tall)
        right_edge = min(sizes.columns, left_edge + sizes.broad)
        rows_of_a = at(a, outer * sizes.a_outer + inner * sizes.a_inner + top * sizes.a_row)
        factor = at(b, outer * sizes.b_outer + inner * sizes.b_inner)
        out = at(c, batch * sizes.rows * sizes.columns)
        padded = (bottom - top + sizes.high - 1) // sizes.high * sizes.high
        if sizes.held != 0:
            for p in range(0, sizes.depth, sizes.block_depth):
                pack_left(
                    sizes, at(packed, p * padded), at(rows_of_a, p * sizes.a_column),
                    bottom - top, min(sizes.block_depth, sizes.depth - p),
                )  # fmt: skip
        for y in range(left_edge, right_edge, sizes.block_columns):
            width = min(sizes.block_columns, right_edge - y)
            for p in range(0, sizes.depth, sizes.block_depth):
                depth = min(sizes.block_depth, sizes.depth - p)
                source = at(factor, p * sizes.b_row + y * sizes.b_column)
                pack_right(sizes, right, source, width, depth)
                first = i64(p == 0 and given(bias))
                for x in range(top, bottom, sizes.block_rows):
                    high = min(sizes.block_rows, bottom - x)
                    place = p * padded if sizes.held != 0 else 0
                    if sizes.held == 0:
                        pack_left(
                            sizes, packed,
                            at(rows_of_a, (x - top) * sizes.a_row + p * sizes.a_column), high,
                            depth,
                        )  # fmt: skip
                    block_product(
                        sizes, at(packed, place), source, right, at(out, x * sizes.columns + y),
                        at(bias, y), high, width, depth, min(1, add + p + first), first, temporary,
                    )  # fmt: skip
    released()
    leave(busy, slot)


class Panels(NamedTuple):
    """The rows of the best tile, and what the terms of a block are a multiple of."""

    high: int
    step: int


class Plan(NamedTuple):
    """The arguments of the kernel for products of given sizes."""

    sizes: Blocks
    slots: int
    scratch: int  # floats of all slots
    tasks: int
    chunk: int


@cache
def caches() -> tuple[int, int]:
    """The bytes of a core's first and second cache for data, as Linux says, or modest ones."""
    sizes = {1: _L1, 2: _L2}
    for entry in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, size = (
                (entry / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction" and size.endswith("K") and int(level) in sizes:
            sizes[int(level)] = int(size[:-1]) << 10
    return sizes[1], sizes[2]


def _up(n: int, to: int) -> int:
    return -(-n // to) * to


def _even(n: int, most: int, step: int) -> int:
    """The size of the fewest equal parts of `n`, of at most that size; a multiple of the step."""
    return min(_up(-(-n // -(-n // most)), step), _up(n, step))


def plan(factors: Factors, threads: int, panels: Panels | None = None) -> Plan:
    """How products are cut into blocks and tasks; by default for tiles in vectors."""
    m, n, k = factors[:3]
    high, step = panels or (side(), 1)
    wide = tiles()[side()] * lanes()
    first, second = caches()
    deep = _even(k, max(step, 2 * first // (4 * (high + wide)) // step * step), step)
    tall, broad = _rectangle(factors, high, wide, threads)
    down, across = -(-m // tall), -(-n // broad)
    in_place = factors.b_column == 1 and 4 * n * k <= second and m <= _FEW * high
    columns = min(_up(max(wide, 2 * second // (4 * deep)), wide), broad)
    columns = broad if in_place else _even(broad, columns, wide)
    rows = max(high, second // 2 // (4 * deep) // high * high)
    held = tall * k * 4 <= second // 2
    rows = tall if held else _even(tall, rows, high)
    scratch = rows * (k if held else deep) + (wide if in_place else columns) * deep + high * wide
    scratch = _up(scratch, 16)
    tasks = down * across
    sizes = Blocks(
        *factors, high=high, wide=wide, lanes=lanes(), side=side(), block_rows=rows,
        block_columns=columns, block_depth=deep, held=int(held), in_place=int(in_place), tall=tall,
        broad=broad, across=across, tasks=tasks, scratch=scratch,
    )  # fmt: skip
    total = factors.batch * tasks
    chunk = max(1, min(_TASK // (tall * broad * k), -(-total // threads)))
    slots = min(threads, -(-total // chunk))
    return Plan(sizes, slots, slots * scratch, total, chunk)


@cache
def _grids(most: int, threads: int) -> list[tuple[int, int]]:
    """Tasks below and beside one another: as many as there are threads, some times, or the most."""
    counts = {1, most, *range(threads, most + 1, threads)}
    return [
        (n, count // n) for count in sorted(counts) for n in range(1, count + 1) if not count % n
    ]


def _rectangle(factors: Factors, high: int, wide: int, threads: int) -> tuple[int, int]:
    """The rows and columns of a task: enough tasks for all threads, and little to pack twice."""
    m, n, k = factors[:3]
    most = 1
    if threads > 1:
        most = min(factors.batch * m * n * k // _TASK, _PER_THREAD * threads)
        most = max(1, -(-most // factors.batch))
    best, least = (_up(m, high), _up(n, wide)), math.inf
    for down, across in _grids(most, threads):
        tall, broad = _up(-(-m // down), high), _up(-(-n // across), wide)
        tasks = -(-m // tall) * -(-n // broad) * factors.batch
        rows, columns = min(m, tall), min(_up(n, lanes()), broad)
        rounds = -(-tasks // threads) + _LATE
        cost = rounds * (rows * columns + _PACKING * (rows + columns))
        if cost < least:
            least, best = cost, (tall, broad)
    return best


def multiply(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, bias: np.ndarray | None, add: bool, plan: Plan,
    run: Kernel = product_kernel,
) -> None:  # fmt: skip
    """c = a @ b as planned; plus `bias`, or added to `c`."""
    scratch, busy = np.empty(plan.scratch, np.float32), np.zeros(plan.slots, np.int64)
    run.f32(a, b, c, bias, scratch, busy, plan.slots, int(add), plan.sizes, plan.tasks, plan.chunk)
