"""The pool of threads that kernels share, in LLVM's intermediate representation.

`parallel_for(task, arguments, count, chunk)` hands out chunks of `range(count)` to the calling
thread and to the workers, which take the next one when they are done. One caller has the workers
at a time; a second one (another Python thread) works alone. Workers start at the first call with
work for them, spin for some 200 microseconds for the next, yielding the core to others, and then
sleep: waking one can take longer than the work. After a fork the child has none, and starts its
own.
"""

from __future__ import annotations

# The instruction that tells a processor that a thread is spinning.
_PAUSES = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "amd64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
    "arm64": ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)"),
}

# Pauses before a worker sleeps, and before a caller waiting for the last chunk yields.
_SPINS, _PATIENCE = 10000, 2000

_TEXT = """\
@generation = internal global i64 0, align 64
@next = internal global i64 0, align 64
@lock = internal global i64 0, align 64
@active = internal global i64 0, align 64
@sleeping = internal global i64 0, align 64
@limit = internal global i64 0, align 64
@started = internal global i64 0, align 64
@task = internal global ptr null, align 64
@arguments = internal global ptr null, align 8
@count = internal global i64 0, align 8
@chunk = internal global i64 0, align 8
@mutex = internal global [16 x i64] zeroinitializer, align 64
@condition = internal global [16 x i64] zeroinitializer, align 64
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @sched_yield()

; Forget all workers: at the start, and in the child of a fork.
define void @pool_reset() {
  store atomic i64 0, ptr @generation seq_cst, align 8
  store atomic i64 0, ptr @lock seq_cst, align 8
  store atomic i64 0, ptr @active seq_cst, align 8
  store atomic i64 0, ptr @sleeping seq_cst, align 8
  store atomic i64 0, ptr @started seq_cst, align 8
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @condition, ptr null)
  ret void
}

; How many workers may help.
define void @pool_limit(i64 %limit) {
  store atomic i64 %limit, ptr @limit seq_cst, align 8
  ret void
}

define internal void @drain() {
entry:
  %task = load ptr, ptr @task
  %arguments = load ptr, ptr @arguments
  %count = load i64, ptr @count
  %chunk = load i64, ptr @chunk
  br label %take
take:
  %start = atomicrmw add ptr @next, i64 %chunk seq_cst
  %some = icmp slt i64 %start, %count
  br i1 %some, label %work, label %done
work:
  %end = add i64 %start, %chunk
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %count)
  call void %task(ptr %arguments, i64 %start, i64 %stop)
  br label %take
done:
  ret void
}

define internal ptr @worker(ptr %argument) {
entry:
  %index = ptrtoint ptr %argument to i64
  %first = load atomic i64, ptr @generation seq_cst, align 8
  ; It was started for a call that is under way.
  br label %join
look:
  %spins = phi i64 [0, %again], [%more, %spin], [%more, %yield]
  %now = load atomic i64, ptr @generation seq_cst, align 8
  %same = icmp eq i64 %now, %seen
  br i1 %same, label %idle, label %join
idle:
  %patient = icmp slt i64 %spins, SPINS
  br i1 %patient, label %spin, label %rest
spin:
  PAUSE
  %more = add i64 %spins, 1
  %phase = and i64 %more, 127
  %often = icmp ne i64 %phase, 0
  br i1 %often, label %look, label %yield
yield:
  ; To whoever else wants this core.
  call i32 @sched_yield()
  br label %look
rest:
  call i32 @pthread_mutex_lock(ptr @mutex)
  atomicrmw add ptr @sleeping, i64 1 seq_cst
  br label %sleep
sleep:
  %then = load atomic i64, ptr @generation seq_cst, align 8
  %still = icmp eq i64 %then, %seen
  br i1 %still, label %wait, label %wake
wait:
  call i32 @pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %sleep
wake:
  atomicrmw sub ptr @sleeping, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %join
join:
  %taken = phi i64 [%first, %entry], [%now, %look], [%then, %wake]
  ; The call may be over by now: `active` keeps a caller from closing it under a worker that
  ; has seen it open.
  atomicrmw add ptr @active, i64 1 seq_cst
  %limit = load atomic i64, ptr @limit seq_cst, align 8
  %wanted = icmp slt i64 %index, %limit
  %lock = load atomic i64, ptr @lock seq_cst, align 8
  %open = icmp eq i64 %lock, 1
  %go = and i1 %wanted, %open
  br i1 %go, label %help, label %leave
help:
  call void @drain()
  br label %leave
leave:
  atomicrmw sub ptr @active, i64 1 seq_cst
  br label %again
again:
  %seen = phi i64 [%taken, %leave]
  br label %look
}

define internal void @start(i64 %limit) {
entry:
  %id = alloca i64
  %have = load atomic i64, ptr @started seq_cst, align 8
  br label %check
check:
  %index = phi i64 [%have, %entry], [%following, %create]
  %missing = icmp slt i64 %index, %limit
  br i1 %missing, label %create, label %done
create:
  %following = add i64 %index, 1
  store atomic i64 %following, ptr @started seq_cst, align 8
  %argument = inttoptr i64 %index to ptr
  call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %argument)
  br label %check
done:
  ret void
}

define void @parallel_for(ptr %task, ptr %arguments, i64 %count, i64 %chunk) {
entry:
  %limit = load atomic i64, ptr @limit seq_cst, align 8
  %few = icmp sle i64 %count, %chunk
  %none = icmp eq i64 %limit, 0
  %serial = or i1 %few, %none
  br i1 %serial, label %alone, label %ask
ask:
  %swap = cmpxchg ptr @lock, i64 0, i64 2 seq_cst seq_cst
  %got = extractvalue {i64, i1} %swap, 1
  br i1 %got, label %open, label %alone
alone:
  ; In the same chunks, so that results do not depend on the number of threads.
  %start = phi i64 [0, %entry], [0, %ask], [%end, %alone]
  %end = add i64 %start, %chunk
  %stop = call i64 @llvm.smin.i64(i64 %end, i64 %count)
  call void %task(ptr %arguments, i64 %start, i64 %stop)
  %on = icmp slt i64 %end, %count
  br i1 %on, label %alone, label %over
over:
  ret void
open:
  store ptr %task, ptr @task
  store ptr %arguments, ptr @arguments
  store i64 %count, ptr @count
  store i64 %chunk, ptr @chunk
  store atomic i64 0, ptr @next seq_cst, align 8
  store atomic i64 1, ptr @lock seq_cst, align 8
  atomicrmw add ptr @generation, i64 1 seq_cst
  call void @start(i64 %limit)
  %asleep = load atomic i64, ptr @sleeping seq_cst, align 8
  %any = icmp sgt i64 %asleep, 0
  br i1 %any, label %wake, label %work
wake:
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_broadcast(ptr @condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %work
work:
  call void @drain()
  store atomic i64 3, ptr @lock seq_cst, align 8
  br label %wait
wait:
  %waits = phi i64 [0, %work], [%more, %pause], [0, %yield]
  %busy = load atomic i64, ptr @active seq_cst, align 8
  %others = icmp sgt i64 %busy, 0
  br i1 %others, label %patience, label %done
patience:
  %patient = icmp slt i64 %waits, PATIENCE
  br i1 %patient, label %pause, label %yield
pause:
  PAUSE
  %more = add i64 %waits, 1
  br label %wait
yield:
  call i32 @sched_yield()
  br label %wait
done:
  store atomic i64 0, ptr @lock seq_cst, align 8
  ret void
}
"""


def pool_text(architecture: str) -> str:
    """The pool for a processor."""
    declared, pause = _PAUSES.get(architecture, ("", ""))
    text = _TEXT.replace("PAUSE", pause)
    text = text.replace("SPINS", str(_SPINS)).replace("PATIENCE", str(_PATIENCE))
    return f"declare i64 @llvm.smin.i64(i64, i64)\n{declared}\n{text}"
