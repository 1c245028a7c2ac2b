"""The thread that gives unused blocks of memory back, in LLVM's intermediate representation.

While more than 16 MiB are kept, it inspects the allocator's lists from time to time. The minimum
length of a list since the last look is the number of blocks nobody needed; these go back to the
system. A size requested again after that doubles the time between looks, from a second up to 64,
so that a training step, however long, keeps the memory it needs.
"""

from __future__ import annotations

# Kept bytes beyond which the thread is there; seconds between its looks, at first and at most.
WATCHED = 1 << 24
_SECONDS, _MOST_SECONDS = 1, 64

_TEXT = """\
; Of each list: its length, the shortest that it was since the last look, and how many blocks
; looks gave back that nobody has asked for since.
@lengths = internal global [192 x i64] zeroinitializer, align 64
@shortest = internal global [192 x i64] zeroinitializer, align 64
@gone = internal global [192 x i64] zeroinitializer, align 64
@missed = internal global i1 false
@looked = internal global i64 0
@seconds = internal global i32 SECONDS
@watching = internal global i1 false
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @sleep(i32)

; Give back what nobody needed since the last look.
define void @memory_look() {
entry:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %clock = load i64, ptr @clock
  %last = load i64, ptr @looked
  store i64 %clock, ptr @looked
  %idle = icmp eq i64 %clock, %last ; what a program takes up again after a pause is not missed
  %missed = load i1, ptr @missed
  store i1 false, ptr @missed
  br i1 %missed, label %slower, label %begin
slower:
  %seconds = load i32, ptr @seconds
  %longer = shl i32 %seconds, 1
  %most = icmp ugt i32 %longer, MOST
  %next = select i1 %most, i32 MOST, i32 %longer
  store i32 %next, ptr @seconds
  call void @llvm.memset.p0.i64(ptr @gone, i8 0, i64 1536, i1 false)
  br label %begin
begin:
  br label %class
class:
  %index = phi i64 [0, %begin], [%following, %emptied]
  %chain = phi ptr [null, %begin], [%rest, %emptied]
  %list = getelementptr ptr, ptr @lists, i64 %index
  %low = getelementptr i64, ptr @shortest, i64 %index
  %unused = load i64, ptr %low
  br label %take
take:
  %left = phi i64 [%unused, %class], [%fewer, %unlink]
  %rest = phi ptr [%chain, %class], [%block, %unlink]
  %some = icmp ne i64 %left, 0
  br i1 %some, label %unlink, label %emptied
unlink:
  %block = load ptr, ptr %list
  %size = call i64 @unlink(i64 %index)
  store ptr %rest, ptr %block
  %fewer = sub i64 %left, 1
  %total = getelementptr %Counts, ptr @counts, i64 0, i32 6
  %returned = load i64, ptr %total
  %more = add i64 %returned, %size
  store i64 %more, ptr %total
  br label %take
emptied:
  %place = getelementptr i64, ptr @lengths, i64 %index
  %length = load i64, ptr %place
  store i64 %length, ptr %low
  %count = select i1 %idle, i64 0, i64 %unused
  %lost = getelementptr i64, ptr @gone, i64 %index
  %before = load i64, ptr %lost
  %all = add i64 %before, %count
  store i64 %all, ptr %lost
  %following = add i64 %index, 1
  %on = icmp ult i64 %following, 192
  br i1 %on, label %class, label %end
end:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %free
free:
  %first = phi ptr [%rest, %end], [%second, %unmap]
  %none = icmp eq ptr %first, null
  br i1 %none, label %done, label %unmap
unmap:
  %second = load ptr, ptr %first
  %bytes = call i64 @size_of(ptr %first)
  call i32 @munmap(ptr %first, i64 %bytes)
  br label %free
done:
  ret void
}

; The thread that looks, until nothing is kept.
define internal ptr @watch(ptr %nothing) {
entry:
  %kept = getelementptr %Counts, ptr @counts, i64 0, i32 2
  br label %again
again:
  %seconds = load i32, ptr @seconds
  call i32 @sleep(i32 %seconds)
  call void @memory_look()
  call i32 @pthread_mutex_lock(ptr @mutex)
  %cached = load i64, ptr %kept
  %on = icmp ne i64 %cached, 0
  store i1 %on, ptr @watching
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br i1 %on, label %again, label %done
done:
  ret ptr null
}

; Have a thread look, unless one does.
define internal void @begin_watch() {
entry:
  %id = alloca ptr
  call i32 @pthread_mutex_lock(ptr @mutex)
  %already = load i1, ptr @watching
  store i1 true, ptr @watching
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br i1 %already, label %done, label %create
create:
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @watch, ptr null)
  %fine = icmp eq i32 %failed, 0
  br i1 %fine, label %detach, label %retreat
detach:
  %thread = load ptr, ptr %id
  call i32 @pthread_detach(ptr %thread)
  br label %done
retreat:
  store i1 false, ptr @watching
  br label %done
done:
  ret void
}
"""


def watch_text() -> str:
    """What `memory_text` ends with."""
    return _TEXT.replace("SECONDS", str(_SECONDS)).replace("MOST", str(_MOST_SECONDS))
