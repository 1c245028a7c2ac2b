"""Conversions between float32 and the two half types, compiled: NumPy's take each number apart."""

from __future__ import annotations

import platform
from functools import cache, lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from wengert.kernels.jit import CHUNK, Kernel, available, kernel
from wengert.kernels.jit.builtins import f16, f16s, f32, f32s, i32, i32s, i64, u16, u16s
from wengert.kernels.layout import Sizes, astype, empty_like, order_of, repeats, unrepeated
from wengert.kernels.strides import copy

_SINGLE, _HALF, _BRAIN = (np.dtype(t) for t in (np.float32, np.float16, ml_dtypes.bfloat16))

# Elements of an array from which those that it repeats are converted once.
_MANY = 1 << 14


@kernel
def _to_half(x: f32s, out: f16s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = f16(x[i])


@kernel
def _from_half(x: f16s, out: f32s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = f32(x[i])


@kernel
def _to_brain(x: i32s, out: u16s, start: i64, stop: i64) -> None:
    """The upper bits, rounded to the nearest, halves to the even one."""
    for i in range(start, stop):
        b = x[i]
        rounded = (b + 32767 + ((b >> 16) & 1)) >> 16
        # NaN stays NaN, whichever bits it has.
        nan = (b & 2147483647) > 2139095040
        out[i] = u16(((b >> 16) | 64) if nan else rounded)


@kernel
def _from_brain(x: u16s, out: i32s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = i32(x[i]) << 16


_KERNELS: dict[Any, tuple[Kernel, Any, Any]] = {
    (_SINGLE, _HALF): (_to_half, np.float32, np.float16),
    (_HALF, _SINGLE): (_from_half, np.float16, np.float32),
    (_SINGLE, _BRAIN): (_to_brain, np.int32, np.uint16),
    (_BRAIN, _SINGLE): (_from_brain, np.uint16, np.int32),
}


def kernel_of(source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    """The kernel that converts between float32 and a type of halves."""
    return _KERNELS[source, target][0].f32


@cache
def has_halves() -> bool:
    """Whether the processor converts halves: LLVM would call functions that are not there."""
    from wengert.kernels.jit.targets import processor

    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return processor().has("f16c") if x86 else platform.machine() == "aarch64"


def converted(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The array in another dtype, as `astype` gives it."""
    if array.dtype == np.float64 and dtype in (_HALF, _BRAIN):  # as in PyTorch, by way of float32
        array = _by_numpy(array, _SINGLE)
    known = _KERNELS.get((array.dtype, dtype))
    if known is None or not available():
        return _by_numpy(array, dtype)
    run, source, target = known
    if _HALF in (array.dtype, dtype) and not has_halves():
        return _by_numpy(array, dtype)
    back = None
    if not array.flags.c_contiguous:
        if array.size >= _MANY and repeats(array):
            out = empty_like(array, dtype)
            copy(out, converted(unrepeated(array), dtype))
            return out
        order, back = _orders(array.shape, array.strides)
        array = np.ascontiguousarray(array.transpose(order))
    if not array.flags.aligned:
        array = array.copy()
    out = np.empty(array.shape, dtype)
    run.f32(array.view(source), out.view(target), array.size, CHUNK)
    return out if back is None else out.transpose(back)


@lru_cache(1024)
def _orders(shape: Sizes, strides: Sizes) -> tuple[Sizes, Sizes]:
    """The permutation of dimensions to memory order, and back."""
    order = order_of(shape, ((shape, strides),))
    return order, tuple(sorted(range(len(order)), key=order.__getitem__))


def _by_numpy(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    with np.errstate(all="ignore"):  # out-of-range values convert as C does
        return astype(array, dtype, copy=True)
