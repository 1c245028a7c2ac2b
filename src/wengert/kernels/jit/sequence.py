"""Many kernels in one call from Python: a table says which, and with which arguments.

`run(control, words, *arrays)` reads two arrays of i64. `control` begins with the number of calls
and of places to fill. Then come the places, three numbers each: which of `arrays` lies there, the
word that gets its address, and the bytes to add to it. The calls follow, four numbers each: the
kernel's task (see `compiler.task`), the word that its arguments begin at, and its count and chunk.
All other words are there already: numbers, and addresses of memory that the caller keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.forks import once
from wengert.kernels.jit import compiler, targets

_TEXT = """\
declare ptr @PyLong_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @parallel_for(ptr, ptr, i64, i64)

define ptr @run_sequence(ptr %self, ptr %arguments, i64 %given) {{
entry:
  %o0 = load ptr, ptr %arguments
  %d0 = getelementptr i8, ptr %o0, i64 {data}
  %control = load ptr, ptr %d0
  %g1 = getelementptr ptr, ptr %arguments, i64 1
  %o1 = load ptr, ptr %g1
  %d1 = getelementptr i8, ptr %o1, i64 {data}
  %words = load ptr, ptr %d1
  %arrays = getelementptr ptr, ptr %arguments, i64 2
  %calls = load i64, ptr %control
  %head = getelementptr i64, ptr %control, i64 1
  %places = load i64, ptr %head
  %filling = getelementptr i64, ptr %control, i64 2
  %skipped = mul i64 %places, 3
  %table = getelementptr i64, ptr %filling, i64 %skipped
  br label %fill
fill:
  %i = phi i64 [0, %entry], [%next_i, %filled]
  %filling_on = icmp slt i64 %i, %places
  br i1 %filling_on, label %filled, label %release
filled:
  %first = mul i64 %i, 3
  %p0 = getelementptr i64, ptr %filling, i64 %first
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %which = load i64, ptr %p0
  %word = load i64, ptr %p1
  %bytes = load i64, ptr %p2
  %ga = getelementptr ptr, ptr %arrays, i64 %which
  %array = load ptr, ptr %ga
  %da = getelementptr i8, ptr %array, i64 {data}
  %address = load i64, ptr %da
  %sum = add i64 %address, %bytes
  %to = getelementptr i64, ptr %words, i64 %word
  store i64 %sum, ptr %to
  %next_i = add i64 %i, 1
  br label %fill
release:
  %state = call ptr @PyEval_SaveThread()
  br label %calling
calling:
  %k = phi i64 [0, %release], [%next_k, %called]
  %calling_on = icmp slt i64 %k, %calls
  br i1 %calling_on, label %call, label %done
call:
  %row = mul i64 %k, 4
  %r0 = getelementptr i64, ptr %table, i64 %row
  %r1 = getelementptr i64, ptr %r0, i64 1
  %r2 = getelementptr i64, ptr %r0, i64 2
  %r3 = getelementptr i64, ptr %r0, i64 3
  %task = load ptr, ptr %r0
  %at = load i64, ptr %r1
  %count = load i64, ptr %r2
  %chunk = load i64, ptr %r3
  %passed = getelementptr i64, ptr %words, i64 %at
  %one = icmp sle i64 %count, %chunk
  br i1 %one, label %here, label %threads
here:
  call void %task(ptr %passed, i64 0, i64 %count)
  br label %called
threads:
  call void @parallel_for(ptr %task, ptr %passed, i64 %count, i64 %chunk)
  br label %called
called:
  %next_k = add i64 %k, 1
  br label %calling
done:
  call void @PyEval_RestoreThread(ptr %state)
  %result = call ptr @PyLong_FromLong(i64 0)
  ret ptr %result
}}
"""


@once
def runner() -> Callable[..., Any]:
    """`run`, which checks nothing."""
    compiler.pool()
    address = compiler.add("sequence", lambda: _TEXT.format(data=targets.DATA))
    return compiler.function("sequence", address("run_sequence"), compiler.FASTCALL)
