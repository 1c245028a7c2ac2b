"""Copies of short rows plus a number, and of every second element of rows, as LLVM text.

Vectors overlap at the end; there is no loop of remainders.
"""

from __future__ import annotations

import numpy as np

from wengert.kernels.jit.builtins import f32, f32s, i64
from wengert.kernels.jit.native import native

_SHIFTED = """\
define internal void @shifted(ptr %to, ptr %from, i64 %count, float %shift) nounwind {
entry:
  %s = insertelement <8 x float> poison, float %shift, i32 0
  %shift8 = shufflevector <8 x float> %s, <8 x float> poison, <8 x i32> zeroinitializer
  %shift4 = shufflevector <8 x float> %s, <8 x float> poison, <4 x i32> zeroinitializer
  %last8 = sub i64 %count, 8
  %long = icmp sge i64 %last8, 0
  br i1 %long, label %eight, label %short
eight:
  ; The last vector overlaps the one before.
  %i = phi i64 [0, %entry], [%next, %eight]
  %j = call i64 @llvm.smin.i64(i64 %i, i64 %last8)
  %from8 = getelementptr float, ptr %from, i64 %j
  %x8 = load <8 x float>, ptr %from8, align 4
  %y8 = fadd <8 x float> %x8, %shift8
  %to8 = getelementptr float, ptr %to, i64 %j
  store <8 x float> %y8, ptr %to8, align 4
  %next = add nuw nsw i64 %i, 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %eight, label %done
short:
  %last4 = sub i64 %count, 4
  %half = icmp sge i64 %last4, 0
  br i1 %half, label %four, label %single
four:
  %x4 = load <4 x float>, ptr %from, align 4
  %from4 = getelementptr float, ptr %from, i64 %last4
  %x5 = load <4 x float>, ptr %from4, align 4
  %y4 = fadd <4 x float> %x4, %shift4
  %y5 = fadd <4 x float> %x5, %shift4
  store <4 x float> %y4, ptr %to, align 4
  %to4 = getelementptr float, ptr %to, i64 %last4
  store <4 x float> %y5, ptr %to4, align 4
  ret void
single:
  %k = phi i64 [0, %short], [%k.next, %one]
  %some = icmp slt i64 %k, %count
  br i1 %some, label %one, label %done
one:
  %from1 = getelementptr float, ptr %from, i64 %k
  %x1 = load float, ptr %from1, align 4
  %y1 = fadd float %x1, %shift
  %to1 = getelementptr float, ptr %to, i64 %k
  store float %y1, ptr %to1, align 4
  %k.next = add nuw nsw i64 %k, 1
  br label %single
done:
  ret void
}
"""


@native(_SHIFTED, "i64 @llvm.smin.i64(i64, i64)")
def shifted(to: f32s, source: f32s, count: i64, shift: f32) -> None:
    """Copy a short row plus a number (-0.0 for a plain copy). Rows do not overlap."""
    to[:count] = source[:count] + np.float32(shift)


# The last element that is read is the last one that is copied: the second load begins one earlier
# than the first ends.
_HALVED = """\
define internal void @halved(ptr %to, ptr %from, i64 %count) nounwind {
entry:
  %last8 = sub i64 %count, 8
  %long = icmp sge i64 %last8, 0
  br i1 %long, label %eight, label %short
eight:
  %i = phi i64 [0, %entry], [%next, %eight]
  %j = call i64 @llvm.smin.i64(i64 %i, i64 %last8)
  %j2 = shl nuw nsw i64 %j, 1
  %j3 = add nuw nsw i64 %j2, 7
  %from8 = getelementptr float, ptr %from, i64 %j2
  %from9 = getelementptr float, ptr %from, i64 %j3
  %a8 = load <8 x float>, ptr %from8, align 4
  %b8 = load <8 x float>, ptr %from9, align 4
  %y8 = shufflevector <8 x float> %a8, <8 x float> %b8,
    <8 x i32> <i32 0, i32 2, i32 4, i32 6, i32 9, i32 11, i32 13, i32 15>
  %to8 = getelementptr float, ptr %to, i64 %j
  store <8 x float> %y8, ptr %to8, align 4
  %next = add nuw nsw i64 %i, 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %eight, label %done
short:
  %k = phi i64 [0, %entry], [%k.next, %one]
  %some = icmp slt i64 %k, %count
  br i1 %some, label %one, label %done
one:
  %k2 = shl nuw nsw i64 %k, 1
  %from1 = getelementptr float, ptr %from, i64 %k2
  %x1 = load float, ptr %from1, align 4
  %to1 = getelementptr float, ptr %to, i64 %k
  store float %x1, ptr %to1, align 4
  %k.next = add nuw nsw i64 %k, 1
  br label %short
done:
  ret void
}
"""


@native(_HALVED, "i64 @llvm.smin.i64(i64, i64)")
def halved(to: f32s, source: f32s, count: i64) -> None:
    """Copy every second element of a row, `count` in all. Rows do not overlap."""
    to[:count] = source[: 2 * count : 2]
