"""Copies of short rows plus a number, as LLVM text: vectors that overlap, no loop of remainders."""

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
