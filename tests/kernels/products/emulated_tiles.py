"""AMX tiles for processors without: the kernels of `amx` with its instructions as functions.

A thread has tiles from `ldtilecfg` to `tilerelease`; what touches one outside of that crashes.
Rows and bytes of tiles are those of the configuration, and a product does what Intel's manual says,
except that subnormal numbers stay.
"""

from __future__ import annotations

import ctypes
import hashlib
from functools import cache
from typing import Any

from wengert.kernels.jit import Kernel
from wengert.kernels.products import amx

# Of a thread: the configuration, and eight tiles of 1 KiB.
_STATE = 64 + 8 * 1024


def _counted(name: str, limit: str, before: str, body: str) -> str:
    """A loop over `%NAME`, whose body may have loops; `before` is the block that it follows."""
    return f"""\
  br label %{name}.test
{name}.test:
  %{name} = phi i64 [0, %{before}], [%{name}.next, %{name}.end]
  %{name}.more = icmp slt i64 %{name}, {limit}
  br i1 %{name}.more, label %{name}.body, label %{name}.done
{name}.body:
{body}  br label %{name}.end
{name}.end:
  %{name}.next = add i64 %{name}, 1
  br label %{name}.test
{name}.done:
"""


def _copies(source: str, target: str) -> str:
    body = f"""\
  %far = mul i64 %r, %stride
  %here = mul i64 %r, 64
  %memory.r = getelementptr i8, ptr %memory, i64 %far
  %tile.r = getelementptr i8, ptr %tile, i64 %here
  call void @llvm.memcpy.p0.p0.i64(ptr %{target}.r, ptr %{source}.r, i64 %bytes, i1 false)
"""
    return _counted("r", "%rows", "entry", body)


def _sizes(*names: str) -> str:
    """`%NAME`, `%rows.NAME` and `%words.NAME` of tiles."""
    return "".join(
        f"""\
  %{x} = call ptr @emulated_tile(ptr %state, i8 %t{x})
  %rows.{x} = call i64 @emulated_rows(ptr %state, i8 %t{x})
  %bytes.{x} = call i64 @emulated_bytes(ptr %state, i8 %t{x})
  %words.{x} = udiv i64 %bytes.{x}, 4
"""
        for x in names
    )


def _word(name: str, row: str, column: str, tile: str) -> str:
    return f"""\
  %{name}.row = mul i64 {row}, 16
  %{name}.i = add i64 %{name}.row, {column}
  %{name}.p = getelementptr i32, ptr %{tile}, i64 %{name}.i
"""


def _halves(name: str) -> str:
    return f"""\
  %{name}.w = load i32, ptr %{name}.p
  %{name}.l = shl i32 %{name}.w, 16
  %{name}.h = and i32 %{name}.w, -65536
  %{name}.low = bitcast i32 %{name}.l to float
  %{name}.high = bitcast i32 %{name}.h to float
"""


_TERM = (
    _word("x", "%m", "%k", "a") + _halves("x") + _word("y", "%k", "%n", "b") + _halves("y")
    + """\
  %low.old = load float, ptr %low
  %high.old = load float, ptr %high
  %low.new = call float @llvm.fma.f32(float %x.low, float %y.low, float %low.old)
  %high.new = call float @llvm.fma.f32(float %x.high, float %y.high, float %high.old)
  store float %low.new, ptr %low
  store float %high.new, ptr %high
"""
)  # fmt: skip
_ELEMENT = (
    "  store float 0.0, ptr %low\n  store float 0.0, ptr %high\n"
    + _counted("k", "%words.a", "n.body", _TERM)
    + _word("z", "%m", "%n", "c")
    + """\
  %low.sum = load float, ptr %low
  %high.sum = load float, ptr %high
  %both = fadd float %low.sum, %high.sum
  %z.old = load float, ptr %z.p
  %z.new = fadd float %z.old, %both
  store float %z.new, ptr %z.p
"""
)

_TEXT = f"""\
@emulated_key = external global i32

define internal ptr @emulated_state() noinline {{
  %key = load i32, ptr @emulated_key
  %state = call ptr @pthread_getspecific(i32 %key)
  ret ptr %state
}}
define internal void @emulated_ldtilecfg(ptr %configuration) noinline {{
  %state = call ptr @malloc(i64 {_STATE})
  call void @llvm.memset.p0.i64(ptr %state, i8 0, i64 {_STATE}, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %state, ptr %configuration, i64 64, i1 false)
  %key = load i32, ptr @emulated_key
  call i32 @pthread_setspecific(i32 %key, ptr %state)
  ret void
}}
define internal void @emulated_tilerelease() noinline {{
  %state = call ptr @emulated_state()
  call void @free(ptr %state)
  %key = load i32, ptr @emulated_key
  call i32 @pthread_setspecific(i32 %key, ptr null)
  ret void
}}
define internal i64 @emulated_rows(ptr %state, i8 %t) noinline {{
  %t.64 = zext i8 %t to i64
  %at = add i64 %t.64, 48
  %p = getelementptr i8, ptr %state, i64 %at
  %rows = load i8, ptr %p
  %rows.64 = zext i8 %rows to i64
  ret i64 %rows.64
}}
define internal i64 @emulated_bytes(ptr %state, i8 %t) noinline {{
  %t.64 = zext i8 %t to i64
  %at = add i64 %t.64, 8
  %p = getelementptr i16, ptr %state, i64 %at
  %bytes = load i16, ptr %p
  %bytes.64 = zext i16 %bytes to i64
  ret i64 %bytes.64
}}
define internal ptr @emulated_tile(ptr %state, i8 %t) noinline {{
  %t.64 = zext i8 %t to i64
  %from = mul i64 %t.64, 1024
  %at = add i64 %from, 64
  %p = getelementptr i8, ptr %state, i64 %at
  ret ptr %p
}}
define internal void @emulated_tilezero(i8 %t) noinline {{
  %state = call ptr @emulated_state()
  %tile = call ptr @emulated_tile(ptr %state, i8 %t)
  call void @llvm.memset.p0.i64(ptr %tile, i8 0, i64 1024, i1 false)
  ret void
}}
define internal void @emulated_tileloadd64(i8 %t, ptr %memory, i64 %stride) noinline {{
entry:
  %state = call ptr @emulated_state()
  %tile = call ptr @emulated_tile(ptr %state, i8 %t)
  %rows = call i64 @emulated_rows(ptr %state, i8 %t)
  %bytes = call i64 @emulated_bytes(ptr %state, i8 %t)
  call void @llvm.memset.p0.i64(ptr %tile, i8 0, i64 1024, i1 false)
{_copies("memory", "tile")}  ret void
}}
define internal void @emulated_tilestored64(i8 %t, ptr %memory, i64 %stride) noinline {{
entry:
  %state = call ptr @emulated_state()
  %tile = call ptr @emulated_tile(ptr %state, i8 %t)
  %rows = call i64 @emulated_rows(ptr %state, i8 %t)
  %bytes = call i64 @emulated_bytes(ptr %state, i8 %t)
{_copies("tile", "memory")}  ret void
}}
define internal void @emulated_tdpbf16ps(i8 %tc, i8 %ta, i8 %tb) noinline {{
entry:
  %low = alloca float
  %high = alloca float
  %state = call ptr @emulated_state()
{_sizes("a", "b", "c")}\
{_counted("m", "%rows.c", "entry", _counted("n", "%words.c", "m.body", _ELEMENT))}  ret void
}}
"""
_DECLARED = """\
ptr @pthread_getspecific(i32)
i32 @pthread_setspecific(i32, ptr)
ptr @malloc(i64)
void @free(ptr)
void @llvm.memset.p0.i64(ptr, i8, i64, i1)
void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
float @llvm.fma.f32(float, float, float)
"""


class _Emulated:
    """A function of `amx` whose text calls the emulator."""

    def __init__(self, real: Any, emulator: str) -> None:
        # Kernels on disk are told apart by the names.
        digest = hashlib.sha256(_TEXT.encode()).hexdigest()[:8]
        self.real, self.emulator = real, emulator
        self.__name__ = f"emulated_{digest}_{real.__name__}"
        self.signature, self.inline = real.signature, {"any": self}

    def declarations(self) -> list[str]:
        return _DECLARED.splitlines() if self.emulator else []

    def llvm(self) -> str:
        text = self.real.llvm().replace("@llvm.x86.", "@emulated_")
        return self.emulator + text.replace(f"@{self.real.__name__}", f"@{self.__name__}")


@cache
def emulated() -> Kernel:
    """`amx.KERNEL` on emulated tiles."""
    import llvmlite.binding as llvm

    instead = {
        key: _Emulated(value, _TEXT if value is amx.configured else "")
        if hasattr(value, "llvm")
        else value
        for key, value in amx.KERNEL.instead.items()
    }
    _Key.number = ctypes.c_uint()
    assert ctypes.CDLL(None).pthread_key_create(ctypes.byref(_Key.number), None) == 0
    llvm.add_symbol("emulated_key", ctypes.addressof(_Key.number))
    return Kernel(amx.KERNEL.python, instead=instead)


class _Key:
    """Where the threads find their tiles."""

    number = ctypes.c_uint()
