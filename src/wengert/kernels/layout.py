"""The memory layout of results, which follows PyTorch's rules.

Elementwise results have the dimension order of their operands, without gaps; if these disagree
about two dimensions, the first operand that distinguishes them decides. Programs can observe
this: strides determine whether `view()` works, and whether `reshape()` and `contiguous()` copy.
NumPy's rules differ: C order wins if operands disagree, and copies put repeated dimensions
innermost.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from wengert import kernels

Sizes = tuple[int, ...]
Outline = tuple[Sizes, Sizes]  # shape and strides

# Elements from which on a kernel fills an array, bytes from which one copies it.
_MANY, _LARGE = 1 << 14, 1 << 16

# The order of the dimensions of channels-last images and volumes, by rank.
CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


def strides_of(array: np.ndarray) -> Sizes:
    """The strides in bytes; a new dimension, to which NumPy gives stride 0, gets PyTorch's stride.

    That is the extent of the next dimension.
    """
    return _strides_of(array.shape, array.strides, array.itemsize)


def _strides_of(shape: Sizes, strides: Sizes, itemsize: int) -> Sizes:
    if 0 not in strides or 1 not in shape:
        return strides
    steps, width = list(strides), itemsize
    for d in range(len(shape) - 1, -1, -1):
        if not steps[d] and shape[d] == 1:
            steps[d] = width
        width = steps[d] * shape[d]
    return tuple(steps)


def element_strides(array: np.ndarray) -> Sizes:
    """The strides PyTorch reports, in elements, also for empty arrays."""
    if array.size == 0 and array.flags.c_contiguous:  # NumPy has other conventions for these
        strides, step = [], 1
        for n in reversed(array.shape):
            strides.append(step)
            step *= max(n, 1)
        return tuple(reversed(strides))
    return tuple([s // array.itemsize for s in strides_of(array)])


def is_channels_last(array: np.ndarray) -> bool:
    """Whether the strides, with or without gaps, are in channels-last order.

    Strides of dimensions of length 1 count: they say what a single channel is meant to be.
    """
    return array.ndim in CHANNELS_LAST and _has_innermost_channels(array)


def _has_innermost_channels(array: np.ndarray) -> bool:
    shape, strides = array.shape, array.strides
    if len(shape) > 2 and strides[-1] < strides[1] * shape[1] and 0 not in strides:
        return False  # as most, at little cost
    if not array.size or (1 not in shape and array.flags.c_contiguous):
        return False
    return _in_order_of_images(shape, strides, array.itemsize)


@lru_cache(1024)
def _in_order_of_images(shape: Sizes, strides: Sizes, itemsize: int) -> bool:
    strides, least = _strides_of(shape, strides, itemsize), 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if strides[d] < least or not strides[1]:
            return False
        if not d and least == strides[1]:
            return False  # all strides are equal, which says nothing
        least = strides[d] * shape[d]
    return True


def as_images(out: np.ndarray, *inputs: np.ndarray, lines: bool = False) -> np.ndarray:
    """`out`, or a copy, in the layout PyTorch's image layers give the result for these inputs.

    That is channels last if one of the inputs is, and contiguous otherwise.
    With `lines` three dimensions are an image of one line.
    """
    known = out.ndim in CHANNELS_LAST or (lines and out.ndim == 3)
    if not known or not any(map(_has_innermost_channels, inputs)):
        return _plain(out)
    n = out.ndim
    return _plain(out.transpose(0, *range(2, n), 1)).transpose(0, n - 1, *range(1, n - 1))


def _plain(array: np.ndarray) -> np.ndarray:
    """The array in C order, with default strides for dimensions of length 1, too."""
    if not array.flags.c_contiguous:
        return in_c_order(array)
    shape = array.shape
    if 1 not in shape or array.strides == plain_strides(shape, array.itemsize):
        return array
    return array.ravel().reshape(shape)


@lru_cache(1024)
def plain_strides(shape: Sizes, itemsize: int) -> Sizes:
    """The strides of a new array in C order."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def astype(array: np.ndarray, dtype: Any, copy: bool = False) -> np.ndarray:
    """`array.astype(dtype)` in an order that needs no `arranged` in two dimensions.

    NumPy would put repeated dimensions innermost.
    """
    return array.astype(dtype, "C" if 0 in array.strides else "K", copy=copy)


def with_strides(array: np.ndarray, strides: Sizes) -> np.ndarray:
    """A copy with these strides, none of which is negative; what lies between is not copied."""
    last = sum((n - 1) * s for n, s in zip(array.shape, strides, strict=True))
    memory = np.empty(max(last, 0) + array.itemsize, np.uint8)
    out = np.ndarray(array.shape, array.dtype, memory, 0, strides)
    out[...] = array
    return out


def repeats(array: np.ndarray) -> bool:
    """Whether several indices refer to one element, as after an expansion."""
    if array.flags.c_contiguous or 0 not in array.strides:
        return False
    return any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True))


def is_dense(array: np.ndarray) -> bool:
    """Whether the elements are dense in memory, without repetition, in any order."""
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    return array.transpose(order).flags.c_contiguous


def writable(array: np.ndarray) -> np.ndarray:
    """The array, or a writable copy that repeats elements the same way."""
    if array.flags.writeable:
        return array
    out = np.broadcast_to(unrepeated(array).copy(), array.shape)
    out.flags.writeable = True
    return out


def unrepeated(array: np.ndarray) -> np.ndarray:
    """The array without repetitions: the dimensions along which elements are repeated have one."""
    return array[tuple([slice(0, 1) if s == 0 else slice(None) for s in array.strides])]


def empty(shape: Sequence[int], dtype: Any, order: Sequence[int]) -> np.ndarray:
    """A new array with dimensions in that memory order, widest stride first."""
    dtype = np.dtype(dtype)
    shape = tuple(shape)
    return np.ndarray(shape, dtype, None, 0, strides_in(shape, dtype.itemsize, tuple(order)))


@lru_cache(1024)
def strides_in(shape: Sizes, itemsize: int, order: Sizes) -> Sizes:
    """The strides of a new array with dimensions in that memory order."""
    strides, step = [0] * len(order), itemsize
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


@lru_cache(1024)
def _strides_like(shape: Sizes, strides: Sizes, itemsize: int) -> Sizes:
    """The strides of a new array in the order of one with these strides."""
    return strides_in(shape, itemsize, order_of(shape, ((shape, strides),)))


def empty_like(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A new array of the same shape, in the order of the array."""
    dtype = array.dtype if dtype is None else np.dtype(dtype)
    shape = array.shape
    if array.flags.c_contiguous:
        return np.empty(shape, dtype)
    strides = _strides_like(shape, array.strides, dtype.itemsize)
    return np.ndarray(shape, dtype, None, 0, strides)


def fill(array: np.ndarray, number: Any) -> None:
    """Set all elements to a number, or to that of a 0-d array, of their dtype."""
    if array.size < _MANY:
        array.fill(number)
    elif array.flags.c_contiguous:
        if not kernels.filling.fill(array, np.asarray(number, array.dtype)):
            array[...] = number
    elif not kernels.strides.fill(array, number):
        array[...] = number


def full(shape: Sequence[int], dtype: Any, number: Any) -> np.ndarray:
    """A new array in C order with one number everywhere."""
    out = np.empty(shape, dtype)
    fill(out, number)
    return out


def zeros_like(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Zeros of the same shape, in the order of the array."""
    out = empty_like(array, dtype)
    out[...] = 0
    return out


def copy(array: np.ndarray) -> np.ndarray:
    """A copy in the order of the array."""
    if array.flags.c_contiguous:
        return array.copy()
    out = empty_like(array)
    if array.nbytes < _LARGE:
        out[...] = array
    else:
        kernels.strides.copy(out, array, short=True)
    return out


def in_c_order(array: np.ndarray) -> np.ndarray:
    """A copy in C order."""
    if array.nbytes < _LARGE or array.flags.c_contiguous:
        return array.copy()
    out = np.empty(array.shape, array.dtype)
    kernels.strides.copy(out, array, short=True)
    return out


def contiguous(array: np.ndarray) -> np.ndarray:
    """The array, or a copy in C order."""
    return array if array.flags.c_contiguous else in_c_order(array)


def reshaped(array: np.ndarray, shape: Any) -> np.ndarray:
    """`array.reshape(shape)`: a view where that is possible, else a copy."""
    if array.nbytes < _LARGE or array.flags.c_contiguous:
        return array.reshape(shape)
    try:
        return array.reshape(shape, copy=False)
    except ValueError:
        return in_c_order(array).reshape(shape)


def write(target: np.ndarray, source: np.ndarray) -> None:
    """``target[...] = source``, of one shape and dtype; they may have memory in common."""
    if target.nbytes < _LARGE or (target.flags.c_contiguous and source.flags.c_contiguous):
        target[...] = source
    else:
        kernels.strides.copy(target, source, short=True, apart=False)


def copy_with_gaps(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides, or a dense one where elements are repeated."""
    if array.flags.c_contiguous:
        return array.copy()
    if not array.size or repeats(array):
        return copy(array)
    steps = [(s, n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    memory = np.empty(sum(s * (n - 1) for s, n in steps) + array.itemsize, np.uint8)
    out = np.ndarray(array.shape, array.dtype, memory, strides=array.strides)
    out[...] = array
    return out


def by_columns(matrices: np.ndarray) -> np.ndarray:
    """Matrices, or copies of them, in column-major order, as LAPACK writes them."""
    return np.ascontiguousarray(matrices.swapaxes(-1, -2)).swapaxes(-1, -2)


def arranged(out: np.ndarray, operands: Sequence[np.ndarray | None]) -> np.ndarray:
    """`out`, or a copy of it, in the order of a result of these operands."""
    return arranged_by(out, tuple([(a.shape, a.strides) for a in operands if a is not None]))


def arranged_by(out: np.ndarray, outlines: tuple[Outline, ...]) -> np.ndarray:
    """As `arranged`, for operands of these shapes and strides."""
    own = out.shape, out.strides
    if outlines[0] == own:
        return out
    order = _missed_order(own, out.itemsize, outlines)
    if order is None:
        return out
    arranged = empty(out.shape, out.dtype, order)
    arranged[...] = out
    return arranged


@lru_cache(4096)
def _missed_order(own: Outline, step: int, outlines: tuple[Outline, ...]) -> Sizes | None:
    """The dimensions in the order of a result of these operands; None if an array has it."""
    shape, strides = own
    if 0 in shape:
        return None
    order = order_of(shape, outlines)
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != step:
                return order
            step *= shape[d]
    return None


@lru_cache(4096)
def order_of(shape: Sizes, outlines: tuple[Outline, ...]) -> Sizes:
    """The dimensions of a result, widest stride first, for operands of these shapes and strides."""
    steps = [steps_of(shape, *outline) for outline in outlines]
    inner = list(range(len(shape) - 1, -1, -1))
    for k in range(1, len(inner)):
        at = k
        for other in range(k - 1, -1, -1):
            sign = _compared(inner[other], inner[at], shape, steps)
            if sign > 0:
                inner[other], inner[at] = inner[at], inner[other]
                at = other
            elif sign < 0:
                break
    return tuple(reversed(inner))


def steps_of(shape: Sizes, own: Sizes, strides: Sizes) -> Sizes:
    """An operand's strides along the dimensions of the result, 0 where it is repeated."""
    lead = len(shape) - len(own)
    sizes = zip(own, shape[lead:], strides, strict=True)
    return (*(0,) * lead, *(0 if n == 1 != m else s for n, m, s in sizes))


def _compared(a: int, b: int, shape: Sizes, steps: Sequence[Sizes]) -> int:
    """Positive where dimension `a` lies outside of `b`, negative where inside, 0 if none tells."""
    for strides in steps:
        x, y = strides[a], strides[b]
        if x and y:
            if x != y:
                return 1 if x > y else -1
            if shape[a] > shape[b]:
                return 1
    return 0
