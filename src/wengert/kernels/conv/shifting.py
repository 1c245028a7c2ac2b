"""Copies of short rows, of every second element of rows, and of sums plus a number, as LLVM text.

Vectors overlap at the end; there is no loop of remainders. Of bfloat16 there are copies as they
are, pairs of two rows in words, and sums that are rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import ml_dtypes
import numpy as np

from wengert.kernels.jit.builtins import f32, f32s, i64, storeds
from wengert.kernels.jit.native import native

Lines = Iterator[str]
_BRAIN = np.dtype(ml_dtypes.bfloat16)


def _row_text(name: str, arguments: str, piece: Callable[[str, int, str], Lines]) -> str:
    """A function of `%count` elements, by pieces of 8, 4 or 1: `piece(tag, size, first)`."""
    eight, four, last, one = (
        "\n".join(piece(*args))
        for args in (("a", 8, "%j"), ("b", 4, "0"), ("c", 4, "%last4"), ("d", 1, "%k"))
    )
    return f"""\
define internal void @{name}({arguments}) nounwind {{
entry:
  %last8 = sub i64 %count, 8
  %long = icmp sge i64 %last8, 0
  br i1 %long, label %eight, label %short
eight:
  ; The last vector overlaps the one before.
  %i = phi i64 [0, %entry], [%next, %eight]
  %j = call i64 @llvm.smin.i64(i64 %i, i64 %last8)
{eight}
  %next = add nuw nsw i64 %i, 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %eight, label %done
short:
  %last4 = sub i64 %count, 4
  %half = icmp sge i64 %last4, 0
  br i1 %half, label %four, label %single
four:
{four}
{last}
  ret void
single:
  %k = phi i64 [0, %short], [%k.next, %one]
  %some = icmp slt i64 %k, %count
  br i1 %some, label %one, label %done
one:
{one}
  %k.next = add nuw nsw i64 %k, 1
  br label %single
done:
  ret void
}}
"""


def _read(name: str, base: str, element: str, n: int, first: str, step: int) -> Lines:
    """`%NAME`: the elements of a row from one on; every second one, if the step is 2.

    No element is read behind the last one that is used: a second load begins one earlier than
    the first one ends.
    """
    vector = f"<{n} x {element}>"
    yield f"  %{name}.i = mul nsw i64 {first}, {step}"
    yield f"  %{name}.p = getelementptr {element}, ptr %{base}, i64 %{name}.i"
    if step == 1 or n == 1:
        yield f"  %{name} = load {vector}, ptr %{name}.p, align 2"
        return
    yield f"  %{name}.q = getelementptr {element}, ptr %{name}.p, i64 {n - 1}"
    for part in "pq":
        yield f"  %{name}.{part}.x = load {vector}, ptr %{name}.{part}, align 2"
    mask = ", ".join(f"i32 {k}" for k in (*range(0, n, 2), *range(n + 1, 2 * n, 2)))
    both = f"{vector} %{name}.p.x, {vector} %{name}.q.x"
    yield f"  %{name} = shufflevector {both}, <{n} x i32> <{mask}>"


def _write(name: str, element: str, n: int, first: str) -> Lines:
    yield f"  %{name}.to = getelementptr {element}, ptr %to, i64 {first}"
    yield f"  store <{n} x {element}> %{name}, ptr %{name}.to, align 2"


def _repeated(value: str, n: int) -> str:
    return f"<{', '.join([value] * n)}>"


def _copy_text(name: str, element: str, step: int) -> str:
    def piece(tag: str, n: int, first: str) -> Lines:
        yield from _read(f"x.{tag}", "from", element, n, first, step)
        yield from _write(f"x.{tag}", element, n, first)

    return _row_text(name, "ptr %to, ptr %from, i64 %count", piece)


def _plus_shift(tag: str, n: int, first: str) -> Lines:
    """`%y.TAG`: floats plus `%shift`."""
    vector = f"<{n} x float>"
    yield from _read(f"x.{tag}", "from", "float", n, first, 1)
    yield f"  %s.{tag} = insertelement {vector} poison, float %shift, i32 0"
    zeros = f"<{n} x i32> zeroinitializer"
    yield f"  %t.{tag} = shufflevector {vector} %s.{tag}, {vector} poison, {zeros}"
    yield f"  %y.{tag} = fadd {vector} %x.{tag}, %t.{tag}"


def _shifted_piece(tag: str, n: int, first: str) -> Lines:
    yield from _plus_shift(tag, n, first)
    yield from _write(f"y.{tag}", "float", n, first)


def _rounded_piece(tag: str, n: int, first: str) -> Lines:
    """The upper bits, rounded to the nearest, of two to the even one; NaN stays NaN."""
    words = f"<{n} x i32>"
    yield from _plus_shift(tag, n, first)
    yield f"  %w.{tag} = bitcast <{n} x float> %y.{tag} to {words}"
    yield f"  %h.{tag} = lshr {words} %w.{tag}, {_repeated('i32 16', n)}"
    yield f"  %e.{tag} = and {words} %h.{tag}, {_repeated('i32 1', n)}"
    yield f"  %a.{tag} = add {words} %e.{tag}, {_repeated('i32 32767', n)}"
    yield f"  %b.{tag} = add {words} %w.{tag}, %a.{tag}"
    yield f"  %r.{tag} = lshr {words} %b.{tag}, {_repeated('i32 16', n)}"
    yield f"  %q.{tag} = or {words} %h.{tag}, {_repeated('i32 64', n)}"
    yield f"  %n.{tag} = fcmp uno <{n} x float> %y.{tag}, zeroinitializer"
    yield f"  %c.{tag} = select <{n} x i1> %n.{tag}, {words} %q.{tag}, {words} %r.{tag}"
    yield f"  %z.{tag} = trunc {words} %c.{tag} to <{n} x i16>"
    yield from _write(f"z.{tag}", "i16", n, first)


def _woven_text(name: str, step: int) -> str:
    def piece(tag: str, n: int, first: str) -> Lines:
        words = f"<{n} x i32>"
        for row in ("low", "high"):
            yield from _read(f"{row}.{tag}", row, "i16", n, first, step)
            yield f"  %{row}.{tag}.w = zext <{n} x i16> %{row}.{tag} to {words}"
        yield f"  %m.{tag}.i = insertelement {words} poison, i32 %mask, i32 0"
        zeros = f"{words} zeroinitializer"
        yield f"  %m.{tag} = shufflevector {words} %m.{tag}.i, {words} poison, {zeros}"
        yield f"  %u.{tag} = shl {words} %high.{tag}.w, {_repeated('i32 16', n)}"
        yield f"  %v.{tag} = and {words} %u.{tag}, %m.{tag}"
        yield f"  %y.{tag} = or {words} %low.{tag}.w, %v.{tag}"
        yield from _write(f"y.{tag}", "i32", n, first)

    text = _row_text(name, "ptr %to, ptr %low, ptr %high, i64 %count, i64 %both", piece)
    return text.replace("entry:\n", "entry:\n  %mask = trunc i64 %both to i32\n", 1)


_SMIN = "i64 @llvm.smin.i64(i64, i64)"


@native(_row_text("shifted", "ptr %to, ptr %from, i64 %count, float %shift", _shifted_piece), _SMIN)
def shifted(to: f32s, source: f32s, count: i64, shift: f32) -> None:
    """Copy a short row plus a number (-0.0 for a plain copy). Rows do not overlap."""
    to[:count] = source[:count] + np.float32(shift)


@native(_copy_text("copied", "float", 1), _SMIN)
def copied(to: storeds, source: storeds, count: i64) -> None:
    """Copy a short row. Rows do not overlap."""
    to[:count] = source[:count]


@native(_copy_text("halved", "float", 2), _SMIN)
def halved(to: storeds, source: storeds, count: i64) -> None:
    """Copy every second element of a row, `count` in all. Rows do not overlap."""
    to[:count] = source[: 2 * count : 2]


@native(_copy_text("copied_brains", "i16", 1), _SMIN)
def copied_brains(to: storeds, source: storeds, count: i64) -> None:
    """`copied` for bfloat16."""
    copied(to, source, count)


@native(_copy_text("halved_brains", "i16", 2), _SMIN)
def halved_brains(to: storeds, source: storeds, count: i64) -> None:
    """`halved` for bfloat16."""
    halved(to, source, count)


@native(
    _row_text("rounded_sums", "ptr %to, ptr %from, i64 %count, float %shift", _rounded_piece), _SMIN
)
def rounded_sums(to: storeds, source: f32s, count: i64, shift: f32) -> None:
    """As `shifted`, to bfloat16."""
    to[:count] = (source[:count] + np.float32(shift)).astype(_BRAIN)


@native(_woven_text("woven", 1), _SMIN)
def woven(to: f32s, low: storeds, high: storeds, count: i64, both: i64) -> None:
    """Two short rows of bfloat16 in words; zeros instead of the upper one, unless `both` is -1."""
    words = low[:count].view(np.uint16).astype(np.uint32)
    if both:
        words |= high[:count].view(np.uint16).astype(np.uint32) << 16
    to[:count] = words.view(np.float32)


@native(_woven_text("woven_halved", 2), _SMIN)
def woven_halved(to: f32s, low: storeds, high: storeds, count: i64, both: i64) -> None:
    """`woven` of every second element of rows."""
    woven(to, low[: 2 * count : 2].copy(), high[: 2 * count : 2].copy(), count, both)
