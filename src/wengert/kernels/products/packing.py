"""Packing: copies of blocks of matrices, in the order in which tiles of products read them.

What lies contiguous is copied by vectors, what lies across by squares that are transposed in
registers. Their side is the number of rows of the best tile.
"""

from __future__ import annotations

from collections.abc import Callable

from wengert.kernels.jit.builtins import at, f32s, i64, inline
from wengert.kernels.jit.native import Native
from wengert.kernels.products.microkernel import PREFETCH, tiles, transposed_text
from wengert.kernels.products.tiles import move

# Panels that are written to at a time; rows that are fetched ahead: each is on a page of its own.
_STREAMS, _AHEAD = 4, 8


def side() -> int:
    """The rows and columns of a square."""
    return max(tiles())


class _Sided(Native):
    """A function whose text depends on the side of squares, which the processor determines."""

    def __init__(self, python: Callable[..., None], sided: Callable[[int], str]) -> None:
        super().__init__(python, declared=PREFETCH)
        self._sided = sided

    def llvm(self) -> str:
        return self._sided(side())


def _of_side(text: Callable[[int], str]) -> Callable[[Callable[..., None]], _Sided]:
    return lambda python: _Sided(python, text)


def _strip_text(n: int) -> str:
    arguments = "ptr %to, i64 %to_pitch, i64 %step, ptr %source, i64 %pitch, i64 %count, i64 %width"
    return f"""\
define internal void @strip({arguments}) nounwind {{
entry:
  %some = icmp sgt i64 %count, 0
  %ahead = mul i64 %pitch, {_AHEAD}
  %last = sub i64 %width, 1
  br i1 %some, label %row, label %done
row:
  %i = phi i64 [0, %entry], [%i.next, %following]
  %p = phi ptr [%source, %entry], [%p.next, %following]
  %q = phi ptr [%to, %entry], [%q.next, %following]
  %soon = getelementptr float, ptr %p, i64 %ahead
  call void @llvm.prefetch.p0(ptr %soon, i32 0, i32 3, i32 1)
  %end = getelementptr float, ptr %soon, i64 %last
  call void @llvm.prefetch.p0(ptr %end, i32 0, i32 3, i32 1)
  br label %loop
loop:
  %j = phi i64 [0, %row], [%j.next, %loop]
  %k = phi i64 [0, %row], [%k.next, %loop]
  %from = getelementptr float, ptr %p, i64 %j
  %place = getelementptr float, ptr %q, i64 %k
  %x = load <{n} x float>, ptr %from, align 4
  store <{n} x float> %x, ptr %place, align 4
  %j.next = add nuw nsw i64 %j, {n}
  %k.next = add nuw nsw i64 %k, %step
  %wider = icmp slt i64 %j.next, %width
  br i1 %wider, label %loop, label %following
following:
  %p.next = getelementptr float, ptr %p, i64 %pitch
  %q.next = getelementptr float, ptr %q, i64 %to_pitch
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %row, label %done
done:
  ret void
}}"""


@_of_side(lambda n: "\n".join(transposed_text("square", n)))
def square(to: f32s, to_pitch: i64, source: f32s, pitch: i64) -> None:
    """A transposed square: `to[j * to_pitch + i] = source[i * pitch + j]`."""
    for i in range(side()):
        for j in range(side()):
            to[j * to_pitch + i] = source[i * pitch + j]


def _column_text(n: int) -> str:
    lines = ["define internal void @column(ptr %to, ptr %source, i64 %step) nounwind {"]
    vector, before = f"<{n} x float>", "poison"
    for i in range(n):
        lines += [
            f"  %at.{i} = mul i64 %step, {i}",
            f"  %p.{i} = getelementptr float, ptr %source, i64 %at.{i}",
            f"  %x.{i} = load float, ptr %p.{i}, align 4",
            f"  %v.{i} = insertelement {vector} {before}, float %x.{i}, i32 {i}",
        ]
        before = f"%v.{i}"
    return "\n".join([*lines, f"  store {vector} {before}, ptr %to, align 4", "  ret void", "}"])


@_of_side(_column_text)
def column(to: f32s, source: f32s, step: i64) -> None:
    """As many elements as a square has rows, `step` apart, one behind the other."""
    to[: side()] = source[: (side() - 1) * step + 1 : step]


@_of_side(_strip_text)
def strip(
    to: f32s, to_pitch: i64, step: i64, source: f32s, pitch: i64, count: i64, width: i64
) -> None:
    """Copy `width` elements of `count` rows: some sides, not none, which end up `step` apart."""
    assert width > 0 == width % side()
    for i in range(count):
        for j in range(width):
            to[i * to_pitch + j // side() * step + j % side()] = source[i * pitch + j]


@inline
def tile_rows(rows: i64) -> i64:
    """The rows of the smallest tile that is high enough: a power of 2."""
    high = 1
    while high < rows:
        high = high * 2
    return high


@inline
def _pack_panel(to: f32s, a: f32s, row: i64, column: i64, rows: i64, depth: i64, side: i64) -> None:
    """A panel: for each term, the elements of all rows, and zeros up to the rows of a tile."""
    high = tile_rows(rows)
    done = depth // side * side if rows == side and column == 1 else 0
    for p in range(0, done, side):
        square(at(to, p * side), side, at(a, p), row)
    for p in range(done, depth):
        for i in range(rows):
            move(at(a, i * row + p * column), at(to, p * high + i))
        for i in range(rows, high):
            to[p * high + i] = 0.0


@inline
def pack_rows(to: f32s, a: f32s, row: i64, column: i64, rows: i64, depth: i64, side: i64) -> None:
    """Panels of as many rows as the best tile has; the last may have fewer."""
    done = 0
    if row == 1 and column != 1:
        done = rows // side * side
        for i in range(0, done, _STREAMS * side):
            width = min(_STREAMS * side, done - i)
            strip(at(to, i * depth), side, side * depth, at(a, i), column, depth, width)
    for i in range(done, rows, side):
        _pack_panel(
            at(to, i * depth), at(a, i * row), row, column, min(side, rows - i), depth, side
        )


@inline
def pack_columns(
    to: f32s, pitch: i64, b: f32s, row: i64, column: i64, columns: i64, depth: i64, side: i64
) -> None:
    """A panel: for each term, the elements of all columns, and zeros up to the pitch."""
    whole = columns // side * side
    if whole > 0 and column == 1:
        strip(to, pitch, side, b, row, depth, whole)
    else:
        done = depth // side * side if row == 1 else 0
        for j in range(0, whole, side):
            for p in range(0, done, side):
                square(at(to, p * pitch + j), pitch, at(b, j * column + p), column)
            for p in range(done, depth):
                for i in range(j, j + side):
                    move(at(b, p * row + i * column), at(to, p * pitch + i))
    if whole < pitch:
        for p in range(depth):
            for j in range(whole, columns):
                move(at(b, p * row + j * column), at(to, p * pitch + j))
            for j in range(columns, pitch):
                to[p * pitch + j] = 0.0
