"""Products of bfloat16 matrices on AMX tiles: Intel's processors from Sapphire Rapids on.

A tile is a square of sixteen words a side, and a word is a pair of terms, as in `pairs`. The panels
of `b` are as there; those of `a` have the words of a row side by side.

The instructions are there for threads of processes that have asked Linux for them. Whether they
compute what they should a process of its own finds out once for a machine: there an illegal
instruction harms nobody.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

from wengert.core.forks import once
from wengert.kernels.jit import Kernel, disk
from wengert.kernels.jit.builtins import at, f32s, i64, inline
from wengert.kernels.jit.native import native
from wengert.kernels.products.microkernel import Lines, Microkernel, lanes, panel_product
from wengert.kernels.products.packed import Panels, prepared, product_kernel, released
from wengert.kernels.products.packing import pack_rows, square, strip, tile_rows
from wengert.kernels.products.pairs import pairs_product
from wengert.kernels.products.tiles import move

# The words of a side of a tile, and of all of it.
_SIDE, _TILE = 16, 256
# Terms of which a product has a multiple, and how it is cut into panels.
TERMS, PANELS = 2 * _SIDE, Panels(high=_SIDE, step=_SIDE)
# Tiles of the microkernel: sums from 0 on, one of `a`, those of `b`.
_A, _B = 3, 4

# Palette 1; for each of eight tiles the bytes of a row (16 bits each), and the rows.
_CONFIGURATION = bytes([1, *[0] * 15, *[4 * _SIDE, 0] * 8, *[0] * 16, *[_SIDE] * 8, *[0] * 8])
_ESCAPED = "".join(f"\\{byte:02X}" for byte in _CONFIGURATION)
_PREPARE = f"""\
@tile_configuration = internal constant [64 x i8] c"{_ESCAPED}"
define internal void @configured() nounwind {{
  call void @llvm.x86.ldtilecfg(ptr @tile_configuration)
  ret void
}}
"""
_RELEASE = """\
define internal void @unconfigured() nounwind {
  call void @llvm.x86.tilerelease()
  ret void
}
"""


@native(_PREPARE, "void @llvm.x86.ldtilecfg(ptr)")
def configured() -> None:
    """Give this thread its tiles."""


@native(_RELEASE, "void @llvm.x86.tilerelease()")
def unconfigured() -> None:
    """Take them away: what has none is switched faster."""


def _loop(rows: int, vectors: int) -> Lines:
    """The sums of products of a tile, from zero; then stored, or added to what is there."""
    for v in range(vectors):
        yield f"  call void @llvm.x86.tilezero(i8 {v})"
    yield "  %sums = alloca [256 x float], align 64"
    yield "  %down = mul i64 %pitch, 4"
    yield "  %step = mul i64 %pitch, 16"
    yield "  br label %test"
    yield "test:"
    yield "  %k = phi i64 [0, %entry], [%k.next, %loop]"
    yield "  %pa = phi ptr [%a, %entry], [%pa.next, %loop]"
    yield "  %pb = phi ptr [%b, %entry], [%pb.next, %loop]"
    yield "  %more = icmp slt i64 %k, %depth"
    yield "  br i1 %more, label %loop, label %finish"
    yield "loop:"
    yield f"  call void @llvm.x86.tileloadd64(i8 {_A}, ptr %pa, i64 64)"
    for v in range(vectors):
        yield f"  %pb.{v} = getelementptr float, ptr %pb, i64 {_SIDE * v}"
        yield f"  call void @llvm.x86.tileloadd64(i8 {_B + v}, ptr %pb.{v}, i64 %down)"
        yield f"  call void @llvm.x86.tdpbf16ps(i8 {v}, i8 {_A}, i8 {_B + v})"
    yield f"  %k.next = add nuw nsw i64 %k, {_SIDE}"
    yield f"  %pa.next = getelementptr float, ptr %pa, i64 {_TILE}"
    yield "  %pb.next = getelementptr float, ptr %pb, i64 %step"
    yield "  br label %test"
    yield "finish:"
    yield "  %across = mul i64 %ldc, 4"
    yield "  %adds = icmp ne i64 %add, 0"
    yield "  br i1 %adds, label %sum.0, label %put"
    yield "put:"
    for v in range(vectors):
        yield f"  %put.{v} = getelementptr float, ptr %c, i64 {_SIDE * v}"
        yield f"  call void @llvm.x86.tilestored64(i8 {v}, ptr %put.{v}, i64 %across)"
    yield "  ret void"
    for v in range(vectors):
        yield f"sum.{v}:"
        yield f"  call void @llvm.x86.tilestored64(i8 {v}, ptr %sums, i64 64)"
        for i in range(_SIDE):
            s = f"{v}.{i}"
            yield f"  %ps.{s} = getelementptr float, ptr %sums, i64 {_SIDE * i}"
            yield f"  %s.{s} = load <16 x float>, ptr %ps.{s}, align 64"
            yield f"  %at.{s} = mul i64 %ldc, {i}"
            yield f"  %to.{s} = add i64 %at.{s}, {_SIDE * v}"
            yield f"  %pc.{s} = getelementptr float, ptr %c, i64 %to.{s}"
            yield f"  %c.{s} = load <16 x float>, ptr %pc.{s}, align 4"
            yield f"  %r.{s} = fadd <16 x float> %s.{s}, %c.{s}"
            yield f"  store <16 x float> %r.{s}, ptr %pc.{s}, align 4"
        yield "  ret void" if v + 1 == vectors else f"  br label %sum.{v + 1}"


class _Tiled(Microkernel):
    """A microkernel of AMX."""

    def declarations(self) -> Lines:
        numbers = "i8 immarg, ptr, i64"
        yield from (
            "void @llvm.x86.tilezero(i8 immarg)",
            f"void @llvm.x86.tileloadd64({numbers})",
            f"void @llvm.x86.tilestored64({numbers})",
            "void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)",
        )


def _tiled_pairs_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """As `pairs_product` for the sixteen rows of `pack_lines`; `depth` is a multiple of sixteen.

    The instructions take subnormal numbers for zeros.
    """
    panel = a[: rows * depth].reshape(-1, rows, _SIDE).swapaxes(1, 2).reshape(-1)
    pairs_product(rows, vectors, panel, b, pitch, depth, c, ldc, add)


tiled_pairs_product = _Tiled(_tiled_pairs_product, _loop, lambda: {_SIDE: 3})


@inline
def whole_tile(rows: i64) -> i64:
    """As `tile_rows`: all tiles have sixteen rows."""
    return 16


@inline
def pack_lines(to: f32s, a: f32s, row: i64, column: i64, rows: i64, depth: i64, side: i64) -> None:
    """As `pack_rows`: panels of squares whose rows have their elements side by side."""
    for i in range(0, rows, _SIDE):
        high = min(_SIDE, rows - i)
        for p in range(0, depth, _SIDE):
            block = at(to, i * depth + p * _SIDE)
            source = at(a, i * row + p * column)
            if column == 1:
                strip(block, _SIDE, side, source, row, high, _SIDE)
            elif row == 1 and high == _SIDE:
                for x in range(0, _SIDE, side):
                    for y in range(0, _SIDE, side):
                        square(at(block, x * _SIDE + y), _SIDE, at(source, x + y * column), column)
            else:
                for x in range(high):
                    for y in range(_SIDE):
                        move(at(source, x * row + y * column), at(block, x * _SIDE + y))
            for x in range(high * _SIDE, _TILE):
                block[x] = 0.0


KERNEL = Kernel(
    product_kernel.python,
    instead={
        panel_product: tiled_pairs_product,
        pack_rows: pack_lines,
        tile_rows: whole_tile,
        prepared: configured,
        released: unconfigured,
    },
)

# Of Linux on x86-64: the system call, what it is asked for, and of which state.
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18


@once
def permitted() -> bool:
    """Whether Linux lets this process use tiles; what it forks may as well."""
    return _asked_linux()


def _asked_linux() -> bool:
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return False
    numbers = map(ctypes.c_long, (_ARCH_PRCTL, _REQUEST, _TILE_DATA))
    return bool(ctypes.CDLL(None).syscall(*numbers) == 0)


@once
def has_amx() -> bool:
    """Whether products run on AMX tiles here: processor, system and a first product say so."""
    return _found()


def _found() -> bool:
    from wengert.kernels.jit.targets import key, processor

    if os.environ.get("WENGERT_AMX") == "0":
        return False
    there = lanes() == _SIDE and all(map(processor().has, ("amx-tile", "amx-bf16")))
    if not there or not permitted():
        return False
    name = key("amx")
    kept = disk.read(name)
    if kept is not None:
        return kept == _RIGHT
    right = _tried()
    if right is not None:
        disk.write(name, _RIGHT if right else _WRONG)
    return bool(right)


# The module that computes a first product; what is kept of that.
_CHECK = "wengert.kernels.products.amx_check"
_RIGHT, _WRONG = b"right", b"wrong"
# How its process ends where it is wrong.
_WRONG_NUMBER = 3
# Seconds that it may take: all of its kernels are compiled.
_PATIENCE = 120


def _tried() -> bool | None:
    """Whether a process of its own computes a product as it should; None if there can be none."""
    if not sys.executable:
        return None
    package = Path(__file__).parents[3]
    program = f"import sys; sys.path.insert(0, {str(package)!r})\n"
    program += f"from {_CHECK} import computes; sys.exit(0 if computes() else {_WRONG_NUMBER})"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], check=False, timeout=_PATIENCE,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode in (0, _WRONG_NUMBER):
        return done.returncode == 0
    # By a signal of its own, as for an illegal instruction; others say nothing about products.
    own = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGTRAP)
    return False if -done.returncode in own else None
