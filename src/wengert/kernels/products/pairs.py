"""Products of bfloat16 matrices, added in float32: the microkernel on pairs of terms.

A float32 in memory stands for the two numbers of a pair of terms, so that blocks are packed and
cut as those of float32 are, with half as many terms. Where terms lie side by side, as in `x @ w.T`,
the pairs are there; otherwise two rows are woven into one.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from wengert.kernels.jit import Kernel, kernel
from wengert.kernels.jit.builtins import f32s, i32, i32s, i64, i64s, storeds, u16s
from wengert.kernels.products.microkernel import (
    Lines,
    dots,
    dots_loop,
    gathered_product,
    lanes,
    microkernel,
    panel_product,
    panel_tiles,
    product_loop,
)
from wengert.kernels.products.packed import product_kernel

_F32 = np.dtype(np.float32)


def _both(name: str, of: str) -> Lines:
    """Two vectors of floats from one of pairs of bfloat16: `%NAME.low` and `%NAME.high`."""
    n = lanes()
    numbers, words = f"<{n} x float>", f"<{n} x i32>"
    for part, operation, number in (("low", "shl", 16), ("high", "and", -65536)):
        constant = ", ".join([f"i32 {number}"] * n)
        yield f"  %{name}.{part}.w = {operation} {words} %{of}, <{constant}>"
        yield f"  %{name}.{part} = bitcast {words} %{name}.{part}.w to {numbers}"


def _pairs_added(i: int, v: int) -> Lines:
    """As `_added` where each number is a pair of bfloat16: the sum of two products, in float32."""
    n = lanes()
    vector = f"<{n} x float>"
    tile = f"{i}.{v}"
    for side, k in (("a", i), ("b", v)):
        yield f"  %{side}.{tile}.i = bitcast {vector} %{side}.{k} to <{n} x i32>"
        yield from _both(f"{side}.{tile}", f"{side}.{tile}.i")
    fused = f"call {vector} @llvm.fmuladd.v{n}f32("
    low = f"{vector} %a.{tile}.low, {vector} %b.{tile}.low, {vector} %s.{tile}"
    high = f"{vector} %a.{tile}.high, {vector} %b.{tile}.high, {vector} %h.{tile}"
    yield f"  %h.{tile} = {fused}{low})"
    yield f"  %t.{tile} = {fused}{high})"


# Of x86 with AVX512-BF16: sums of the products of pairs.
_DOT = "@llvm.x86.avx512bf16.dpbf16ps.512"


def _pairs_dotted(i: int, v: int) -> Lines:
    """As `_pairs_added`, by one instruction, which takes subnormal numbers for zeros."""
    vector, pairs, tile = "<16 x float>", "<32 x bfloat>", f"{i}.{v}"
    for side, k in (("a", i), ("b", v)):
        yield f"  %{side}.{tile}.i = bitcast {vector} %{side}.{k} to {pairs}"
    terms = f"{vector} %s.{tile}, {pairs} %a.{tile}.i, {pairs} %b.{tile}.i"
    yield f"  %t.{tile} = call {vector} {_DOT}({terms})"


@microkernel(product_loop(False, _pairs_added), panel_tiles)
def pairs_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """As `panel_product` where each float of `a` and `b` is a pair of bfloat16.

    The products of the lower ones and of the upper ones are added, in float32.
    """
    low, high = ([_halves(x, upper) for x in (a, b)] for upper in (False, True))
    panel_product(rows, vectors, *low, pitch, depth, c, ldc, add)
    panel_product(rows, vectors, *high, pitch, depth, c, ldc, 1)


_DECLARED = f"<16 x float> {_DOT}(<16 x float>, <32 x bfloat>, <32 x bfloat>)"


@microkernel(product_loop(False, _pairs_dotted), panel_tiles, _DECLARED)
def dotted_pairs_product(
    rows: i64, vectors: i64, a: f32s, b: f32s, pitch: i64, depth: i64, c: f32s, ldc: i64, add: i64
) -> None:
    """`pairs_product` on processors with an instruction for it, which `has_pair_dots` asks."""
    pairs_product(rows, vectors, a, b, pitch, depth, c, ldc, add)


@microkernel(product_loop(True, _pairs_added))
def gathered_pairs(
    rows: i64, vectors: i64, a: f32s, b: f32s, offsets: i64s, count: i64, pitch: i64, depth: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """As `gathered_product` where each float of `a` and `b` is a pair of bfloat16."""
    low, high = ([_halves(x, upper) for x in (a, b)] for upper in (False, True))
    gathered_product(rows, vectors, *low, offsets, count, pitch, depth, c, ldc, add)
    gathered_product(rows, vectors, *high, offsets, count, pitch, depth, c, ldc, 1)


@microkernel(product_loop(True, _pairs_dotted), declared=_DECLARED)
def dotted_gathered_pairs(
    rows: i64, vectors: i64, a: f32s, b: f32s, offsets: i64s, count: i64, pitch: i64, depth: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """`gathered_pairs` on processors with an instruction for it."""
    gathered_pairs(rows, vectors, a, b, offsets, count, pitch, depth, c, ldc, add)


@microkernel(dots_loop("i16", _pairs_added))
def dots_of_brains(
    rows: i64, columns: i64, a: storeds, lda: i64, b: storeds, offsets: i64s, steps: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """As `dots` for bfloat16, of `2 * steps * lanes()` elements."""
    wide = [x.astype(np.float32) for x in (a, b)]
    dots(rows, columns, wide[0], lda, wide[1], offsets, 2 * steps, c, ldc, add)


@microkernel(dots_loop("i16", _pairs_dotted), declared=_DECLARED)
def dotted_dots_of_brains(
    rows: i64, columns: i64, a: storeds, lda: i64, b: storeds, offsets: i64s, steps: i64,
    c: f32s, ldc: i64, add: i64,
) -> None:  # fmt: skip
    """`dots_of_brains` on processors with an instruction for it."""
    dots_of_brains(rows, columns, a, lda, b, offsets, steps, c, ldc, add)


def _halves(pairs: np.ndarray, upper: bool) -> np.ndarray:
    words = np.ascontiguousarray(pairs).view(np.uint32)
    return (words & 0xFFFF0000 if upper else words << 16).astype(np.uint32).view(np.float32)


@cache
def has_pair_dots() -> bool:
    """Whether the processor multiplies pairs of bfloat16 by one instruction."""
    from wengert.kernels.jit.targets import processor

    return lanes() == 16 and processor().has("avx512bf16")


@kernel
def _weave(x: u16s, out: i32s, columns: i64, start: i64, stop: i64) -> None:
    """Two rows in one: the elements of the first in the lower halves of words."""
    for p in range(start, stop):
        for j in range(columns):
            low = i32(x[2 * p * columns + j])
            out[p * columns + j] = low | (i32(x[(2 * p + 1) * columns + j]) << 16)


# Elements that a thread weaves.
_CHUNK = 1 << 15


def paired(x: np.ndarray, terms: int = 2) -> np.ndarray:
    """The pairs of terms of a matrix or batch whose second last axis has the terms, as float32.

    With zeros up to a multiple of a number of terms, which is even.
    """
    missing = -x.shape[-2] % terms
    if missing:
        x = np.concatenate([x, np.zeros((*x.shape[:-2], missing, x.shape[-1]), x.dtype)], -2)
    if x.strides[-2] == x.itemsize:
        beside = x.swapaxes(-1, -2).view(_F32)
        if beside.flags.aligned:
            return beside.swapaxes(-1, -2)
    x = np.ascontiguousarray(x)
    out = np.empty((*x.shape[:-2], x.shape[-2] // 2, x.shape[-1]), _F32)
    rows, columns = out.size // out.shape[-1], out.shape[-1]
    _weave.f32(x, out, columns, rows, max(1, _CHUNK // columns))
    return out


def kernel_for_pairs() -> Kernel:
    """`product_kernel` for `paired` factors."""
    return _DOTTED if has_pair_dots() else _ADDED


_ADDED = Kernel(product_kernel.python, instead={panel_product: pairs_product})
_DOTTED = Kernel(product_kernel.python, instead={panel_product: dotted_pairs_product})
