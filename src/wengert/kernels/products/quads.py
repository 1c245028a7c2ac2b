"""Products of eight-bit integers, four terms at a time, by an instruction of x86 with AVX512-VNNI.

A float32 in memory stands for four terms, as it does for two in `pairs`. Sums are exact integers of
32 bits as far as a block of terms goes, and float32 from there.
"""

from __future__ import annotations

import numpy as np

from wengert.kernels.jit import Kernel, available
from wengert.kernels.jit.builtins import f32s, i64
from wengert.kernels.products import gemm
from wengert.kernels.products.microkernel import (
    Lines,
    lanes,
    microkernel,
    panel_product,
    panel_tiles,
    product_loop,
)
from wengert.kernels.products.packed import product_kernel

_QUAD, _F32 = 4, np.dtype(np.float32)
_DOT = "@llvm.x86.avx512.vpdpbusd.512"


def _quads_dotted(i: int, v: int) -> Lines:
    """`%t.I.V`: the bits of the sum `%s.I.V` plus four products of `%a.I` and `%b.V` a lane."""
    floats, words, tile = "<16 x float>", "<16 x i32>", f"{i}.{v}"
    for name, of in (("s", f"s.{tile}"), ("a", f"a.{i}"), ("b", f"b.{v}")):
        yield f"  %{name}.{tile}.w = bitcast {floats} %{of} to {words}"
    terms = f"{words} %s.{tile}.w, {words} %a.{tile}.w, {words} %b.{tile}.w"
    yield f"  %t.{tile}.w = call {words} {_DOT}({terms})"
    yield f"  %t.{tile} = bitcast {words} %t.{tile}.w to {floats}"


@microkernel(
    product_loop(False, _quads_dotted, integers=True),
    panel_tiles,
    f"<16 x i32> {_DOT}(<16 x i32>, <16 x i32>, <16 x i32>)",
)
def dotted_quads_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """As `panel_product` where a float of `a` is four unsigned bytes, and one of `b` four signed.

    Only for processors of which `has_quad_dots` is true.
    """
    for term in range(_QUAD):
        left = np.ascontiguousarray(a).view(np.uint8)[term::_QUAD].astype(_F32)
        right = np.ascontiguousarray(b).view(np.int8)[term::_QUAD].astype(_F32)
        panel_product(rows, vectors, left, right, pitch, depth, c, ldc, int(add or term > 0))


_DOTTED = Kernel(product_kernel.python, instead={panel_product: dotted_quads_product})


def has_quad_dots() -> bool:
    """Whether the processor multiplies four bytes at a time by one instruction."""
    if not available():
        return False
    from wengert.kernels.jit.targets import processor

    return lanes() == 16 and processor().has("avx512vnni")


def product(rows: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
    """Rows of uint8 times the rows of a matrix of int8, in float32.

    None without the instruction, or where less than two rows meet.
    """
    if not has_quad_dots() or min(len(rows), len(weight)) < 2 or not rows.shape[1]:
        return None
    left, right = (_quads(matrix) for matrix in (rows, weight))
    return gemm.multiplied(left, right.T, _DOTTED)


def _quads(matrix: np.ndarray) -> np.ndarray:
    """A matrix of bytes as float32, with zeros up to a multiple of four."""
    missing = -matrix.shape[1] % _QUAD
    if missing:
        matrix = np.pad(matrix, ((0, 0), (0, missing)))
    return np.ascontiguousarray(matrix).view(_F32)
