"""The allocator of large blocks of memory, in LLVM's intermediate representation.

Memory fresh from the system costs a page fault for every 4 KiB, which exceeds the time most
kernels spend on it. Blocks of 64 KiB and more are kept when freed, in lists by size class, four
per power of two, and reused. All kept blocks together are bounded by a limit; beyond it, the
least recently requested sizes go back to the system. So do blocks that have been unused for a
while (see `memory_watch`).

The functions have the signatures of NumPy's allocators (NEP 49), and delegate smaller sizes to
NumPy's previous one. They may be called from any thread. A block is preceded by a header of 64
bytes, at the start of a page, with its size class. Blocks of the other allocator are recognised
by their address, or by not being preceded by the block's scrambled address.
"""

from __future__ import annotations

import mmap

from wengert.kernels.jit.memory_watch import WATCHED, watch_text

# Bytes from which blocks are ours, and from which huge pages are asked for.
LARGE = 1 << 16
_HUGE = 1 << 22

# The counters written by `memory_counts`, in order.
COUNTS = ("limit", "allocated", "cached", "peak", "hits", "misses", "returned")
# Where the functions are in a PyDataMem_Handler of NumPy.
FUNCTIONS = 128

_TEXT = """\
%Counts = type {i64, i64, i64, i64, i64, i64, i64}
%Functions = type {ptr, ptr, ptr, ptr, ptr}
%Handler = type {[127 x i8], i8, %Functions}

; PyDataMem_Handler: name, version, then context, malloc, calloc, realloc, free.
@memory_handler = global %Handler {[127 x i8] c"wengert_bufferPADDING", i8 1, %Functions {
  ptr null, ptr @allocate, ptr @allocate_zeros, ptr @reallocate, ptr @release}}
@default = internal global %Functions zeroinitializer
@counts = internal global %Counts zeroinitializer, align 64
@clock = internal global i64 0
@lists = internal global [192 x ptr] zeroinitializer, align 64
@used = internal global [192 x i64] zeroinitializer, align 64
@mutex = internal global [16 x i64] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Begin, with the functions to hand smaller sizes on to.
define void @memory_start(ptr %functions) {
  %all = load %Functions, ptr %functions
  store %Functions %all, ptr @default
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  ret void
}

; In the child of a fork: kept blocks are the parent's, and lists may be half changed.
define void @memory_forked() {
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call void @llvm.memset.p0.i64(ptr @lists, i8 0, i64 1536, i1 false)
  call void @llvm.memset.p0.i64(ptr @lengths, i8 0, i64 1536, i1 false)
  call void @llvm.memset.p0.i64(ptr @shortest, i8 0, i64 1536, i1 false)
  store i1 false, ptr @watching
  %cached = getelementptr %Counts, ptr @counts, i64 0, i32 2
  store i64 0, ptr %cached
  ret void
}

define void @memory_counts(ptr %out) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  %all = load %Counts, ptr @counts
  call i32 @pthread_mutex_unlock(ptr @mutex)
  store %Counts %all, ptr %out
  ret void
}

; The peak starts again from what is allocated now.
define void @memory_reset_peak() {
  call i32 @pthread_mutex_lock(ptr @mutex)
  %now = getelementptr %Counts, ptr @counts, i64 0, i32 1
  %peak = getelementptr %Counts, ptr @counts, i64 0, i32 3
  %allocated = load i64, ptr %now
  store i64 %allocated, ptr %peak
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; How many bytes may be kept.
define void @memory_limit(i64 %limit) {
  call i32 @pthread_mutex_lock(ptr @mutex)
  store i64 %limit, ptr @counts
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call void @memory_trim(i64 %limit)
  ret void
}

; Give kept blocks back to the system until they take up no more than that.
define void @memory_trim(i64 %target) {
entry:
  %place = getelementptr %Counts, ptr @counts, i64 0, i32 2
  br label %again
again:
  call i32 @pthread_mutex_lock(ptr @mutex)
  %cached = load i64, ptr %place
  %enough = icmp ule i64 %cached, %target
  br i1 %enough, label %done, label %search
search:
  %class = phi i64 [0, %again], [%following, %search]
  %oldest = phi i64 [-1, %again], [%older, %search]
  %found = phi i64 [0, %again], [%better, %search]
  %list = getelementptr ptr, ptr @lists, i64 %class
  %first = load ptr, ptr %list
  %tick = getelementptr i64, ptr @used, i64 %class
  %time = load i64, ptr %tick
  %some = icmp ne ptr %first, null
  %earlier = icmp ult i64 %time, %oldest
  %take = and i1 %some, %earlier
  %older = select i1 %take, i64 %time, i64 %oldest
  %better = select i1 %take, i64 %class, i64 %found
  %following = add i64 %class, 1
  %on = icmp ult i64 %following, 192
  br i1 %on, label %search, label %remove
remove:
  %from = getelementptr ptr, ptr @lists, i64 %better
  %block = load ptr, ptr %from
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %unlink
unlink:
  %size = call i64 @unlink(i64 %better)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call i32 @munmap(ptr %block, i64 %size)
  br label %again
done:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}

; Under the lock: take the first block off a list that has one. Its size is the result.
define internal i64 @unlink(i64 %class) {
  %list = getelementptr ptr, ptr @lists, i64 %class
  %block = load ptr, ptr %list
  %next = load ptr, ptr %block
  store ptr %next, ptr %list
  %size = call i64 @size_of(ptr %block)
  %kept = getelementptr %Counts, ptr @counts, i64 0, i32 2
  %cached = load i64, ptr %kept
  %less = sub i64 %cached, %size
  store i64 %less, ptr %kept
  %place = getelementptr i64, ptr @lengths, i64 %class
  %length = load i64, ptr %place
  %shorter = sub i64 %length, 1
  store i64 %shorter, ptr %place
  %low = getelementptr i64, ptr @shortest, i64 %class
  %before = load i64, ptr %low
  %now = call i64 @llvm.umin.i64(i64 %before, i64 %shorter)
  store i64 %now, ptr %low
  ret i64 %size
}

; The header of a block: the next one of its list, its list, its capacity; at its end the mark.
define internal i64 @size_of(ptr %block) {
  %place = getelementptr i64, ptr %block, i64 2
  %capacity = load i64, ptr %place
  %size = add i64 %capacity, 4096
  ret i64 %size
}

define internal i64 @mark_of(ptr %data) {
  %address = ptrtoint ptr %data to i64
  %mark = xor i64 %address, 7640891576956012809
  ret i64 %mark
}

; The header of data that is ours, or null.
define internal ptr @header_of(ptr %data) {
entry:
  %address = ptrtoint ptr %data to i64
  %offset = and i64 %address, 4095
  %likely = icmp eq i64 %offset, 64
  br i1 %likely, label %look, label %other
look:
  %place = getelementptr i8, ptr %data, i64 -8
  %found = load i64, ptr %place
  %mark = call i64 @mark_of(ptr %data)
  %ours = icmp eq i64 %found, %mark
  %header = getelementptr i8, ptr %data, i64 -64
  %result = select i1 %ours, ptr %header, ptr null
  ret ptr %result
other:
  ret ptr null
}

; A block of at least that size, which is LARGE or more; null if there is no memory.
define internal ptr @take(i64 %size, i1 %zero) {
entry:
  %last = sub i64 %size, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %last, i1 true)
  %log = sub i64 63, %zeros
  %unit = sub i64 %log, 2
  %full = lshr i64 %last, %unit
  %parts = add i64 %full, 1
  %capacity = shl i64 %parts, %unit
  %octave = sub i64 %log, 15
  %base = shl i64 %octave, 2
  %quarter = and i64 %full, 3
  %class = add i64 %base, %quarter
  %total = add i64 %capacity, 4096
  %list = getelementptr ptr, ptr @lists, i64 %class
  %tick = getelementptr i64, ptr @used, i64 %class
  call i32 @pthread_mutex_lock(ptr @mutex)
  %time = load i64, ptr @clock
  %later = add i64 %time, 1
  store i64 %later, ptr @clock
  store i64 %later, ptr %tick
  %first = load ptr, ptr %list
  %miss = icmp eq ptr %first, null
  br i1 %miss, label %fresh, label %reuse
reuse:
  call i64 @unlink(i64 %class)
  call void @count(i64 %capacity, i32 4)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %used = getelementptr i8, ptr %first, i64 64
  br i1 %zero, label %clear, label %done
clear:
  call void @llvm.memset.p0.i64(ptr %used, i8 0, i64 %size, i1 false)
  br label %done
fresh:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %block = call ptr @mmap(ptr null, i64 %total, i32 3, i32 FLAGS, i32 -1, i64 0)
  %address = ptrtoint ptr %block to i64
  %failed = icmp eq i64 %address, -1
  br i1 %failed, label %none, label %got
none:
  ret ptr null
got:
  %huge = icmp uge i64 %total, HUGE
  br i1 %huge, label %advise, label %fill
advise:
  ADVISE
  br label %fill
fill:
  %new = getelementptr i8, ptr %block, i64 64
  %place1 = getelementptr i64, ptr %block, i64 1
  %place2 = getelementptr i64, ptr %block, i64 2
  %place7 = getelementptr i64, ptr %block, i64 7
  %mark = call i64 @mark_of(ptr %new)
  store i64 %class, ptr %place1
  store i64 %capacity, ptr %place2
  store i64 %mark, ptr %place7
  call i32 @pthread_mutex_lock(ptr @mutex)
  call void @count(i64 %capacity, i32 5)
  %lost = getelementptr i64, ptr @gone, i64 %class
  %given = load i64, ptr %lost
  %again = icmp ne i64 %given, 0
  br i1 %again, label %miss_again, label %counted
miss_again:
  %fewer = sub i64 %given, 1
  store i64 %fewer, ptr %lost
  store i1 true, ptr @missed
  br label %counted
counted:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %done
done:
  %data = phi ptr [%used, %reuse], [%used, %clear], [%new, %counted]
  ret ptr %data
}

; Under the lock: so many bytes more are allocated, by a hit (4) or a miss (5).
define internal void @count(i64 %capacity, i32 %kind) {
  %now = getelementptr %Counts, ptr @counts, i64 0, i32 1
  %peak = getelementptr %Counts, ptr @counts, i64 0, i32 3
  %allocated = load i64, ptr %now
  %more = add i64 %allocated, %capacity
  store i64 %more, ptr %now
  %before = load i64, ptr %peak
  %most = call i64 @llvm.umax.i64(i64 %before, i64 %more)
  store i64 %most, ptr %peak
  %index = zext i32 %kind to i64
  %place = getelementptr i64, ptr @counts, i64 %index
  %times = load i64, ptr %place
  %again = add i64 %times, 1
  store i64 %again, ptr %place
  ret void
}

define internal void @give(ptr %block) {
entry:
  %place1 = getelementptr i64, ptr %block, i64 1
  %place2 = getelementptr i64, ptr %block, i64 2
  %class = load i64, ptr %place1
  %capacity = load i64, ptr %place2
  %total = add i64 %capacity, 4096
  %now = getelementptr %Counts, ptr @counts, i64 0, i32 1
  %kept = getelementptr %Counts, ptr @counts, i64 0, i32 2
  call i32 @pthread_mutex_lock(ptr @mutex)
  %allocated = load i64, ptr %now
  %less = sub i64 %allocated, %capacity
  store i64 %less, ptr %now
  %limit = load i64, ptr @counts
  %large = icmp ugt i64 %total, %limit
  br i1 %large, label %back, label %keep
back:
  call i32 @pthread_mutex_unlock(ptr @mutex)
  call i32 @munmap(ptr %block, i64 %total)
  ret void
keep:
  %list = getelementptr ptr, ptr @lists, i64 %class
  %first = load ptr, ptr %list
  store ptr %first, ptr %block
  store ptr %block, ptr %list
  %time = load i64, ptr @clock
  %tick = getelementptr i64, ptr @used, i64 %class
  store i64 %time, ptr %tick
  %cached = load i64, ptr %kept
  %more = add i64 %cached, %total
  store i64 %more, ptr %kept
  %place = getelementptr i64, ptr @lengths, i64 %class
  %length = load i64, ptr %place
  %longer = add i64 %length, 1
  store i64 %longer, ptr %place
  %watched = load i1, ptr @watching
  call i32 @pthread_mutex_unlock(ptr @mutex)
  %much = icmp ugt i64 %more, WATCHED
  %alone = xor i1 %watched, true
  %begin = and i1 %much, %alone
  br i1 %begin, label %watch, label %compare
watch:
  call void @begin_watch()
  br label %compare
compare:
  %over = icmp ugt i64 %more, %limit
  br i1 %over, label %trim, label %done
trim:
  call void @memory_trim(i64 %limit)
  br label %done
done:
  ret void
}

define internal ptr @allocate(ptr %context, i64 %size) {
entry:
  %small = icmp ult i64 %size, LARGE
  br i1 %small, label %other, label %ours
ours:
  %data = call ptr @take(i64 %size, i1 false)
  %none = icmp eq ptr %data, null
  br i1 %none, label %other, label %done
done:
  ret ptr %data
other:
  %all = load %Functions, ptr @default
  %inner = extractvalue %Functions %all, 0
  %function = extractvalue %Functions %all, 1
  %result = call ptr %function(ptr %inner, i64 %size)
  ret ptr %result
}

define internal ptr @allocate_zeros(ptr %context, i64 %count, i64 %each) {
entry:
  %product = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %size = extractvalue {i64, i1} %product, 0
  %wrong = extractvalue {i64, i1} %product, 1
  %few = icmp ult i64 %size, LARGE
  %small = or i1 %few, %wrong
  br i1 %small, label %other, label %ours
ours:
  %data = call ptr @take(i64 %size, i1 true)
  %none = icmp eq ptr %data, null
  br i1 %none, label %other, label %done
done:
  ret ptr %data
other:
  %all = load %Functions, ptr @default
  %inner = extractvalue %Functions %all, 0
  %function = extractvalue %Functions %all, 2
  %result = call ptr %function(ptr %inner, i64 %count, i64 %each)
  ret ptr %result
}

define internal ptr @reallocate(ptr %context, ptr %data, i64 %size) {
entry:
  %header = call ptr @header_of(ptr %data)
  %foreign = icmp eq ptr %header, null
  br i1 %foreign, label %other, label %ours
other:
  %all = load %Functions, ptr @default
  %inner = extractvalue %Functions %all, 0
  %function = extractvalue %Functions %all, 3
  %result = call ptr %function(ptr %inner, ptr %data, i64 %size)
  ret ptr %result
ours:
  %total = call i64 @size_of(ptr %header)
  %capacity = sub i64 %total, 4096
  %half = lshr i64 %capacity, 1
  %fits = icmp ule i64 %size, %capacity
  %fills = icmp ugt i64 %size, %half
  %stay = and i1 %fits, %fills
  br i1 %stay, label %same, label %move
same:
  ret ptr %data
move:
  %new = call ptr @allocate(ptr %context, i64 %size)
  %none = icmp eq ptr %new, null
  br i1 %none, label %refuse, label %copy
refuse:
  ret ptr null
copy:
  %bytes = call i64 @llvm.umin.i64(i64 %capacity, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %data, i64 %bytes, i1 false)
  call void @give(ptr %header)
  ret ptr %new
}

define internal void @release(ptr %context, ptr %data, i64 %size) {
entry:
  %header = call ptr @header_of(ptr %data)
  %foreign = icmp eq ptr %header, null
  br i1 %foreign, label %other, label %ours
ours:
  call void @give(ptr %header)
  ret void
other:
  %all = load %Functions, ptr @default
  %inner = extractvalue %Functions %all, 0
  %function = extractvalue %Functions %all, 4
  call void %function(ptr %inner, ptr %data, i64 %size)
  ret void
}

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
@mem_handler = internal constant [12 x i8] c"mem_handler\\00"
@own = internal global ptr null
@theirs = internal global ptr null
@get = internal global ptr null
@set = internal global ptr null

; What the next function needs: our capsule, NumPy's own handler, and the functions of NumPy
; that get and set the handler of the current context.
define void @memory_hooks(ptr %own, ptr %theirs, ptr %get, ptr %set) {
  store ptr %own, ptr @own
  store ptr %theirs, ptr @theirs
  store ptr %get, ptr @get
  store ptr %set, ptr @set
  ret void
}

; As a function of Python without arguments: have arrays of the current context use this
; allocator, if they use NumPy's own.
define ptr @memory_enter(ptr %self, ptr %nothing) {
entry:
  %get = load ptr, ptr @get
  %own = load ptr, ptr @own
  %now = call ptr %get()
  %error = icmp eq ptr %now, null
  br i1 %error, label %fail, label %compare
fail:
  ret ptr null
compare:
  %same = icmp eq ptr %now, %own
  br i1 %same, label %leave, label %look
look:
  %there = call ptr @PyCapsule_GetPointer(ptr %now, ptr @mem_handler)
  %theirs = load ptr, ptr @theirs
  %plain = icmp eq ptr %there, %theirs
  br i1 %plain, label %change, label %leave
change:
  %set = load ptr, ptr @set
  %before = call ptr %set(ptr %own)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %undone, label %changed
undone:
  call void @Py_DecRef(ptr %now)
  ret ptr null
changed:
  call void @Py_DecRef(ptr %before)
  br label %leave
leave:
  call void @Py_DecRef(ptr %now)
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}
@_Py_NoneStruct = external global i8
"""


def memory_text() -> str:
    """The allocator for this system."""
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    advise = f"call i32 @madvise(ptr %block, i64 %total, i32 {advice})" if advice else ""
    name = "wengert_buffer"
    text = (_TEXT + watch_text()).replace("PADDING", "\\00" * (127 - len(name)))
    text = text.replace("WATCHED", str(WATCHED))
    text = text.replace("FLAGS", str(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
    return text.replace("ADVISE", advise).replace("HUGE", str(_HUGE)).replace("LARGE", str(LARGE))
