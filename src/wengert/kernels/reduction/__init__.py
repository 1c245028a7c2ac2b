"""Reductions over arrays: sums, means, products, variances, norms, and their layouts.

Half precision is accumulated in float32 and rounded once. Float32 sums down the columns
of a long array are computed in blocks whose totals are added in float64: NumPy's pairwise
summation only applies to the last axis.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from wengert.core import dtypes
from wengert.kernels.axes import Dims, axes_of, count_of
from wengert.kernels.chunks import FEW, SOME
from wengert.kernels.columns import column_sums
from wengert.kernels.jit import LARGE
from wengert.kernels.precision import HALF, widened
from wengert.kernels.products.blas import inner

_F32 = np.dtype(np.float32)
_I64, _TRUTH = np.dtype(np.int64), np.dtype(np.bool_)

# The dtype to accumulate in, if it is not the array's own.
ACCUMULATOR = dict.fromkeys(HALF, _F32) | {
    d.np: _I64 for d in dtypes.ALL if d.category < dtypes.FLOAT
}
# Elements up to which the order of summation does not matter.
_FEW = 128
# Elements from which a compiled sum, on several threads, is faster than NumPy's.
_LONG = 1 << 15

# NumPy's signatures know no `keepdims` that is only known when it is called.
add_reduce: Any = np.add.reduce
_multiply_reduce: Any = np.multiply.reduce


def total(array: np.ndarray, dim: Dims, keepdim: bool = False) -> Any:
    """Sum over `dim`; integers and booleans to int64."""
    axes = axes_of(dim, array.ndim)
    dtype = array.dtype
    if dtype is _TRUTH and axes is None and not keepdim:
        return np.int64(np.count_nonzero(array))
    if array.size >= FEW and dtype in HALF:
        out = _compiled().total_of_halves(array, axes, keepdim)
        return out if out is not None else total(widened(array), dim, keepdim).astype(dtype)
    if array.size >= _LONG:
        if 0 in array.strides and dtype not in ACCUMULATOR:
            return _repeated_total(array, axes, keepdim)
        if (out := _compiled().total(array, axes, keepdim)) is not None:
            return out
    if dtype is _F32 and axes is not None and array.size > _FEW:
        leading = len(axes)
        if leading < array.ndim and sorted(axes) == list(range(leading)):
            return _column_total(array, leading, keepdim)
    accumulator = ACCUMULATOR.get(dtype)
    if accumulator is None:
        return add_reduce(array, axis=axes, keepdims=keepdim)
    out = add_reduce(array, axis=axes, dtype=accumulator, keepdims=keepdim)
    return out if accumulator is _I64 else out.astype(dtype)


def _repeated_total(array: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool) -> Any:
    """The sum of an array that repeats elements: each is added once, and multiplied."""
    repeats = _repeats(array.shape, array.strides, axes, keepdim)
    out = array[repeats.once]
    if repeats.axes != ():
        out = total(out, repeats.axes)
    with np.errstate(over="ignore"):
        out = out * array.dtype.type(repeats.times)
    if repeats.small == repeats.shape:
        return out.reshape(repeats.shape)[()]
    return np.broadcast_to(out.reshape(repeats.small), repeats.shape).copy()


class _Repeats(NamedTuple):
    """What there is to add of an array that repeats elements: where it is, and over which axes.

    `times` is how often each element counts, `shape` the result's, `small` that without repetition.
    """

    once: tuple[Any, ...]
    axes: tuple[int, ...] | None
    times: int
    small: tuple[int, ...]
    shape: tuple[int, ...]


@lru_cache(maxsize=1024)
def _repeats(
    shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...] | None, keepdim: bool
) -> _Repeats:
    reduced = [axes is None or d in axes for d in range(len(shape))]
    repeated = [not s for s in strides]
    left = [d for d, again in enumerate(repeated) if not again]
    over = tuple([k for k, d in enumerate(left) if reduced[d]])
    count = math.prod(
        n for n, r, again in zip(shape, reduced, repeated, strict=True) if r and again
    )
    kept = [d for d, r in enumerate(reduced) if keepdim or not r]
    return _Repeats(
        tuple([0 if again else slice(None) for again in repeated]),
        None if over and len(over) == len(left) else over,
        count,
        tuple([1 if reduced[d] or repeated[d] else shape[d] for d in kept]),
        tuple([1 if reduced[d] else shape[d] for d in kept]),
    )


@cache
def _compiled() -> Any:
    from wengert.kernels.reduction import calls as reduction_calls

    return reduction_calls


def _column_total(array: np.ndarray, leading: int, keepdim: bool) -> Any:
    """Sum over the first `leading` axes."""
    columns = array.shape[leading:]
    shape = (1,) * leading + columns if keepdim else columns
    if not array.flags.c_contiguous:
        return add_reduce(array, axis=tuple(range(leading))).reshape(shape)
    return column_sums(array.reshape(math.prod(array.shape[:leading]), -1)).reshape(shape)


def total_of_known(array: np.ndarray, dim: Dims, keepdim: bool = False) -> Any:
    """Sum over `dim`, ignoring nan, of a floating-point or complex array."""
    out = total(array, dim, keepdim)
    # Most arrays have no nan, and one pass suffices. A sum of infinities may be nan, too.
    if np.count_nonzero(np.isnan(out)):
        out = total(np.where(np.isnan(array), array.dtype.type(0), array), dim, keepdim)
    return out


def average(array: np.ndarray, dim: Dims, keepdim: bool = False) -> Any:
    """Mean over `dim` of a floating-point or complex array; nan if it is empty."""
    n = count_of(array.shape, dim)
    wide = widened(array)
    with np.errstate(invalid="ignore", divide="ignore"):
        out = total(wide, dim, keepdim) / wide.dtype.type(n)
    return out if wide is array else out.astype(array.dtype)


def product(array: np.ndarray, dim: Dims, keepdim: bool = False) -> Any:
    """Product over `dim`; integers and booleans to int64."""
    accumulator = ACCUMULATOR.get(array.dtype)
    axes = axes_of(dim, array.ndim)
    if array.size >= LARGE and (out := _compiled().product(array, axes, keepdim)) is not None:
        return out
    out = _multiply_reduce(array, axis=axes, dtype=accumulator, keepdims=keepdim)
    return out.astype(array.dtype) if accumulator is _F32 else out


def variance(array: np.ndarray, dim: Dims, correction: float, keepdim: bool = False) -> Any:
    """Sum of squared deviations over count minus `correction` (inf or nan if that is 0)."""
    degrees = max(count_of(array.shape, dim) - correction, 0)
    if array.size >= FEW:
        axes = axes_of(dim, array.ndim)
        if (out := _compiled().variance(array, axes, degrees, keepdim)) is not None:
            return out
    wide = widened(array)
    deviation = wide - average(wide, dim, True)
    if wide.dtype.kind == "c":
        squares = deviation.real**2 + deviation.imag**2
    else:
        squares = np.multiply(deviation, deviation, out=np.asarray(deviation))
    with np.errstate(invalid="ignore", divide="ignore"):
        out = total(squares, dim, keepdim) / squares.dtype.type(degrees)
    return out if wide is array else out.astype(array.dtype)


def extreme(array: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool, largest: bool) -> Any:
    """The largest or smallest elements over some axes; nan if there is one."""
    if array.size >= LARGE and array.dtype in HALF:
        return extreme(widened(array), axes, keepdim, largest).astype(array.dtype)
    if array.size >= LARGE and axes is not None:
        out = _compiled().extreme(array, axes, keepdim, largest)
        if out is not None:
            return out
    reduce: Any = np.maximum if largest else np.minimum
    return reduce.reduce(array, axis=axes, keepdims=keepdim)


def extreme_index(array: np.ndarray, axis: int | None, keepdim: bool, largest: bool) -> Any:
    """The index of the first largest or smallest element over an axis or all; of the first nan."""
    if array.size >= LARGE and axis is not None:
        indices = _compiled().extreme_index(array, (axis,), keepdim, largest)
        if indices is not None:
            return indices
    find: Any = array.argmax if largest else array.argmin
    return find(axis, keepdims=keepdim)


def p_norm(array: np.ndarray, p: float, dim: Dims, keepdim: bool = False) -> Any:
    """The p-norm over `dim`: a count for 0, the largest or smallest magnitude for +-inf."""
    wide = widened(array)
    axes = axes_of(dim, array.ndim)
    if p == 2 and axes is None and not keepdim and wide.flags.c_contiguous:
        flat = wide.reshape(-1)
        out = np.sqrt(inner(flat, flat).real)
    elif p == 2 and wide.size >= SOME and (norms := _compiled().norm(wide, axes, keepdim)):
        out = norms[0]
    elif p == 2:
        squares = wide.real**2 + wide.imag**2 if wide.dtype.kind == "c" else wide * wide
        out = np.sqrt(total(squares, dim, keepdim))
    else:
        out = _general_norm(np.abs(wide), p, dim, keepdim, axes)
    return out if wide is array else out.astype(array.dtype)


def _general_norm(
    size: np.ndarray, p: float, dim: Dims, keepdim: bool, axes: tuple[int, ...] | None
) -> Any:
    if p == 0:
        return add_reduce(size != 0, axis=axes, dtype=size.dtype, keepdims=keepdim)
    if p == 1:
        return total(size, dim, keepdim)
    if math.isinf(p):
        if not size.size:
            return total(size, dim, keepdim)
        extreme: Any = np.maximum if p > 0 else np.minimum
        return extreme.reduce(size, axis=axes, keepdims=keepdim)
    with np.errstate(divide="ignore"):
        return total(_power(size, p), dim, keepdim) ** (1 / p)


def _power(size: np.ndarray, p: float) -> np.ndarray:
    if p != 3:
        power: np.ndarray = size**p
        return power
    cube = np.asarray(size * size)  # in a tenth of the time of a power
    cube *= size
    return cube


def broadcast(array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A read-only view of that shape, whose elements repeat those of `array`."""
    array = np.asarray(array)
    if array.ndim == 0 and array.dtype not in HALF:
        # np.broadcast_to takes ten times as long; bfloat16 has no buffer.
        view: np.ndarray = np.ndarray(shape, array.dtype, array, 0, (0,) * len(shape))
        view.flags.writeable = False
        return view
    return np.broadcast_to(array, shape)


def ties(array: np.ndarray, extreme: Any) -> Any:
    """Where `array` equals its extreme value (nan equals nan), in an array of its shape."""
    mask = array == extreme
    if array.dtype in dtypes.inexact:
        mask |= (array != array) & (extreme != extreme)
    return mask
