"""Private scratch memory for the threads working on one kernel call.

A kernel does not know which thread runs it. It takes a free slot, works in the part of a buffer
with that number, and returns it: `busy` has an entry, 0 if free, for each possible thread.
"""

from __future__ import annotations

from wengert.kernels.jit.builtins import i64, i64s
from wengert.kernels.jit.native import native

_TAKE = """\
define internal i64 @take(ptr %busy, i64 %count) nounwind {
entry:
  br label %look
look:
  %i = phi i64 [0, %entry], [%following, %on]
  %place = getelementptr i64, ptr %busy, i64 %i
  %swap = cmpxchg ptr %place, i64 0, i64 1 acquire monotonic
  %got = extractvalue {i64, i1} %swap, 1
  br i1 %got, label %done, label %on
on:
  %next = add nuw nsw i64 %i, 1
  %last = icmp sge i64 %next, %count
  %following = select i1 %last, i64 0, i64 %next
  br label %look
done:
  ret i64 %i
}
"""

_LEAVE = """\
define internal void @leave(ptr %busy, i64 %slot) nounwind {
  %place = getelementptr i64, ptr %busy, i64 %slot
  store atomic i64 0, ptr %place release, align 8
  ret void
}
"""


@native(_TAKE)
def take(busy: i64s, count: i64) -> i64:
    """Take a free slot out of `count`."""
    slot = next(i for i in range(count) if not busy[i])
    busy[slot] = 1
    return slot


@native(_LEAVE)
def leave(busy: i64s, slot: i64) -> None:
    """Make a slot free again."""
    busy[slot] = 0
