"""Calls of the compiled reductions, in memory order.

Each function returns None if there is no kernel for the array or its axes.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.chunks import real_for, real_of, rows_of
from wengert.kernels.columns import column_sums
from wengert.kernels.halves import has_halves
from wengert.kernels.jit import Kernel, available
from wengert.kernels.layout import Sizes, in_c_order
from wengert.kernels.precision import HALF
from wengert.kernels.reduction import native
from wengert.kernels.strides import merged

Array = np.ndarray
Axes = tuple[int, ...] | None

# Up to this many rows, each is split among threads; neighbours that fill a vector.
_FEW_ROWS, _VECTOR = 16, 8
# Parts of a sum from which NumPy adds pairs of them.
_FEW_PARTS = 8
# What there are kernels for: see `ReductionPlan`.
_ROWS, _SUMS = ("R", "KR"), ("R", "KR", "RK", "KRK", "RKR")
_VARIANCES = ("R", "KR", "RK", "KRK")
_EXTREMES = ("KR", "RK", "KRK")
# Elements from which columns deserve threads.
_LARGE = 1 << 16
# Indices that fit 32 bits.
MOST_PLACES = (1 << 31) - 1


class ReductionPlan(NamedTuple):
    """How an array's axes, in memory order, are reduced.

    `pattern` has a letter, K or R, for each run of axes that is kept or reduced, and `sizes`
    its length. The result has the shape `shape`; then its axes are permuted.
    """

    pattern: str
    sizes: list[int]
    shape: tuple[int, ...]
    permuted: tuple[int, ...] | None
    kept: tuple[int, ...]


@lru_cache(maxsize=4096)
def plan_of(lengths: tuple[int, ...], axes: Axes, order: tuple[int, ...]) -> ReductionPlan:
    """The plan for an array with axes of these lengths, in that memory order."""
    reduced = [axes is None or a in axes for a in order]
    marked = [("R" if r else "K", lengths[a]) for a, r in zip(order, reduced, strict=True)]
    runs = [
        (k, prod(n for _, n in run))
        for k, run in groupby([m for m in marked if m[1] != 1], key=lambda m: m[0])
    ]
    left = [a for a, r in zip(order, reduced, strict=True) if not r]
    permuted = tuple(left.index(a) for a in sorted(left))
    return ReductionPlan(
        "".join(k for k, _ in runs),
        [n for _, n in runs],
        tuple(lengths[a] for a in left),
        None if permuted == tuple(range(len(left))) else permuted,
        tuple(lengths[a] if a in left else 1 for a in range(len(lengths))),
    )


def _run_and_plan(
    array: Array, axes: Axes, patterns: tuple[str, ...]
) -> tuple[str | None, Array, ReductionPlan]:
    """The variant of kernels, if there is one, and the array in memory order.

    An array with gaps is copied, and one that has none of the patterns but as it is indexed.
    """
    run = None if array.dtype in HALF else real_for(array.dtype)
    lengths = array.shape
    order = plain = tuple(range(array.ndim))
    if not array.flags.c_contiguous:
        order = _order_of(lengths, array.strides)
    plan = plan_of(lengths, axes, order)
    if plan.pattern not in patterns:
        order, plan = plain, plan_of(lengths, axes, plain)
    if run is None or plan.pattern not in patterns:
        return None, array, plan
    array = array.transpose(order)
    if not array.flags.c_contiguous:
        array = in_c_order(array)
    elif not array.flags.aligned:
        array = array.copy()
    return run, array, plan


@lru_cache(maxsize=1024)
def _order_of(lengths: Sizes, strides: Sizes) -> Sizes:
    """The axes in memory order."""
    return tuple(sorted(range(len(lengths)), key=lambda a: -strides[a]))


def _has_columns(array: Array, axes: Axes) -> bool:
    """Whether of an array with gaps the outermost dimensions are reduced."""
    order = _order_of(array.shape, array.strides)
    gaps = not array.transpose(order).flags.c_contiguous
    return gaps and plan_of(array.shape, axes, order).pattern == "RK"


class _Gaps(NamedTuple):
    """How an array with gaps is reduced without a copy: its axes in memory order, and rows.

    `rows` are their number, width, those of a group, and the distances of groups and rows.
    """

    order: Sizes
    plan: ReductionPlan
    rows: tuple[int, ...]


@lru_cache(maxsize=1024)
def _gaps(lengths: Sizes, strides: Sizes, itemsize: int, axes: Axes) -> _Gaps | None:
    """How that is done; None where rows have other strides than those."""
    order = _order_of(lengths, strides)
    plan = plan_of(lengths, axes, order)
    if plan.pattern not in ("R", "KR", "RK"):
        return None
    shape, steps = tuple(lengths[a] for a in order), tuple(strides[a] for a in order)
    if plan.pattern == "R":
        merged_lengths, merged_steps = merged((shape, steps))
        shape, steps = tuple(merged_lengths), tuple(s for (s,) in merged_steps)
        first = len(shape) - 1
    else:
        first, outer = 0, 1
        while outer < plan.sizes[0] or shape[first] == 1:
            outer *= shape[first]
            first += 1
    sizes, distances = merged((shape[:first], steps[:first]))
    inner, within = merged((shape[first:], steps[first:]))
    if len(inner) != 1 or within != [[itemsize]] or len(sizes) not in (1, 2):
        return None
    near = distances[-1][0]
    far = distances[0][0] if len(sizes) == 2 else near * sizes[0]
    if near % itemsize or far % itemsize:
        return None
    return _Gaps(order, plan, (prod(sizes), inner[0], sizes[-1], far // itemsize, near // itemsize))


def _total_with_gaps(array: Array, axes: Axes, keepdim: bool) -> Any:
    """The sum over rows of an array that has gaps between them."""
    run = real_for(array.dtype)
    gaps = _gaps(array.shape, array.strides, array.itemsize, axes)
    if run is None or gaps is None or not array.flags.aligned:
        return None
    count, width, inner, far, near = gaps.rows
    if gaps.plan.pattern == "RK":
        if run != "f32" or inner != count:
            return None
        out = column_sums(array.transpose(gaps.order).reshape(count, width))
        return _restored(out, gaps.plan, keepdim)
    out = np.empty(count, array.dtype)
    getattr(native.strided_row_sums, run)(
        array, out, width, inner, far, near, count, rows_of(width)
    )
    if gaps.plan.pattern == "R":
        out = np.asarray(np.add.reduce(out, dtype=np.float64), array.dtype)
    return _restored(out, gaps.plan, keepdim)


def _restored(flat: Array, plan: ReductionPlan, keepdim: bool) -> Any:
    """The result of a reduction, in the shape the caller expects."""
    if not plan.shape:
        return flat.reshape(plan.kept) if keepdim else flat.reshape(())[()]
    out = flat.reshape(plan.shape)
    if plan.permuted is not None:
        out = out.transpose(plan.permuted)
    return out.reshape(plan.kept) if keepdim else out


def total(array: Array, axes: Axes, keepdim: bool) -> Any:
    """The sum over some axes."""
    if axes is None and not keepdim and (real := real_of(array)):
        return array.dtype.type(_sum_all(real, array))
    if not array.flags.c_contiguous and array.dtype not in HALF:
        out = _total_with_gaps(array, axes, keepdim)
        if out is not None:
            return out
        if array.itemsize not in array.strides or _has_columns(array, axes):
            return None  # NumPy adds such elements as fast as it copies them
    run, array, plan = _run_and_plan(array, axes, _SUMS)
    out = None if run is None else _sums(run, array, plan)
    return None if out is None else _restored(out, plan, keepdim)


def _sums(run: str, array: Array, plan: ReductionPlan) -> Array | None:
    """The sums of an array in memory order, in the order of what is left."""
    pattern, sizes = plan.pattern, plan.sizes
    if pattern == "R":
        return np.asarray(_sum_all(run, array), array.dtype)
    if pattern == "KR":
        return _sum_rows(run, array.reshape(sizes))
    if pattern == "RK" and run == "f32":
        return column_sums(array.reshape(sizes))
    if pattern == "KRK" and sizes[2] >= _VECTOR:
        return _sum_middle(run, array.reshape(sizes))
    if pattern == "RKR":
        rows = _sum_rows(run, array.reshape(-1, sizes[2])).reshape(sizes[:2])
        sums: Array = np.add.reduce(rows, axis=0, dtype=np.float64).astype(array.dtype)
        return sums
    return None


def total_of_halves(array: Array, axes: Axes, keepdim: bool) -> Any:
    """The sum of float16 or bfloat16 over the last axis, over those beside one axis, or over all.

    Rounded once.
    """
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and available()):
        return None
    dtype, plan = array.dtype, plan_of(array.shape, axes, tuple(range(array.ndim)))
    whole = plan.pattern == "R"
    if not (whole or plan.pattern in ("KR", "RKR")) or (dtype == np.float16 and not has_halves()):
        return None
    x = array if dtype == np.float16 else array.view(np.uint16)
    if whole:
        sums = native.half_chunk_sums if x is array else native.brain_chunk_sums
        chunk = rows_of(1)
        parts = np.empty(-(-x.size // chunk))
        sums.f32(x, parts, chunk, x.size, chunk)
        out = np.asarray(np.add.reduce(parts), np.float32)
    else:
        sums = native.half_sums if x is array else native.brain_sums
        rows, width = plan.sizes[:-1], plan.sizes[-1]
        out = np.empty(rows, np.float32)
        sums.f32(x, out, width, out.size, rows_of(width))
        if len(rows) == 2:
            out = np.add.reduce(out, axis=0, dtype=np.float64).astype(np.float32)
    return _restored(out.astype(dtype), plan, keepdim)


def _sum_all(run: str, x: Array) -> Any:
    chunk = rows_of(1)
    parts = np.empty(-(-x.size // chunk))
    getattr(native.chunk_sums, run)(x, parts, chunk, x.size, chunk)
    if len(parts) == 1:
        return parts[0]
    # NumPy adds few one after the other, too.
    return sum(parts.tolist()) if len(parts) < _FEW_PARTS else np.add.reduce(parts)


def _sum_rows(run: str, x: Array) -> Array:
    count, width = x.shape
    out = np.empty(count, x.dtype)
    if count < _FEW_ROWS and width >= 2 * rows_of(1):
        for r in range(count):
            out[r] = _sum_all(run, x[r])
    else:
        getattr(native.row_sums, run)(x, out, width, count, rows_of(width))
    return out


def _sum_middle(run: str, x: Array) -> Array:
    outer, n, inner = x.shape
    out = np.empty((outer, inner), x.dtype)
    blocks = -(-inner // native.LANES)
    chunk = rows_of(n * min(inner, native.LANES))
    getattr(native.middle_sums, run)(x, out, n, inner, blocks, outer * blocks, chunk)
    return out


def _squares(run: str, x: Array, mean: float) -> Array:
    """Of each chunk the squared distances from the mean, summed."""
    chunk = rows_of(1)
    parts = np.empty(-(-x.size // chunk))
    getattr(native.chunk_squares, run)(x, mean, parts, chunk, x.size, chunk)
    return parts


def variance(array: Array, axes: Axes, degrees: float, keepdim: bool) -> Any:
    """Squared distances from the mean, summed over some axes, over the degrees."""
    run, array, plan = _run_and_plan(array, axes, _VARIANCES)
    if run is None:
        return None
    if plan.pattern[-1] == "K":
        out = _middle_variances(run, array.reshape([1, *plan.sizes][-3:]), degrees)
        return None if out is None else _restored(out, plan, keepdim)
    if plan.pattern == "R" and array.size > rows_of(1):
        parts = _squares(run, array, _sum_all(run, array) / array.size)
        with np.errstate(invalid="ignore", divide="ignore"):
            out = np.asarray(np.add.reduce(parts) / np.float64(degrees), array.dtype)
    else:
        count, width = [1, *plan.sizes][-2:]
        out = np.empty(count, array.dtype)
        getattr(native.row_variances, run)(array, out, width, degrees, count, rows_of(width))
    return _restored(out, plan, keepdim)


def _middle_variances(run: str, x: Array, degrees: float) -> Array | None:
    outer, n, inner = x.shape
    blocks = -(-inner // native.LANES)
    if x.size >= _LARGE and outer * blocks < _FEW_ROWS:
        return None  # the passes of NumPy and its sums are as fast as one thread
    out = np.empty((outer, inner), x.dtype)
    chunk = rows_of(2 * n * min(inner, native.LANES))
    getattr(native.middle_variances, run)(
        x, out, n, inner, blocks, degrees, outer * blocks, chunk
    )  # fmt: skip
    return out


def norm(array: Array, axes: Axes, keepdim: bool) -> tuple[Any] | None:
    """The root of the sum of squares over the last axis or all."""
    run, array, plan = _run_and_plan(array, axes, _ROWS)
    if run is None:
        return None
    if plan.pattern == "R" and array.size > rows_of(1):
        out = np.asarray(np.sqrt(np.add.reduce(_squares(run, array, 0.0))), array.dtype)
    else:
        count, width = [1, *plan.sizes][-2:]
        out = np.empty(count, array.dtype)
        getattr(native.row_norms, run)(array, out, width, count, rows_of(width))
    return (_restored(out, plan, keepdim),)


def product(array: Array, axes: Axes, keepdim: bool) -> Any:
    """The product over the last axis or all."""
    run, array, plan = _run_and_plan(array, axes, _ROWS)
    if run is None:
        return None
    if plan.pattern == "R":
        chunk = rows_of(1)
        parts = np.empty(-(-array.size // chunk))
        getattr(native.chunk_products, run)(array, parts, chunk, array.size, chunk)
        out = np.asarray(np.multiply.reduce(parts), array.dtype)
    else:
        count, width = plan.sizes
        out = np.empty(count, array.dtype)
        getattr(native.row_products, run)(array, out, width, count, rows_of(width))
    return _restored(out, plan, keepdim)


def extreme(array: Array, axes: Axes, keepdim: bool, largest: bool) -> Any:
    """The largest or smallest elements of rows or columns; NaN if there is one."""
    kernels = (native.row_maxima, native.middle_maxima) if largest else (
        native.row_minima, native.middle_minima
    )  # fmt: skip
    return _extremes(array, axes, keepdim, array.dtype, *kernels)


def extreme_index(array: Array, axes: Axes, keepdim: bool, largest: bool) -> Any:
    """The index of the first extreme of rows or columns; of the first NaN."""
    kernels = (native.row_argmaxima, native.middle_argmaxima) if largest else (
        native.row_argminima, native.middle_argminima
    )  # fmt: skip
    return _extremes(array, axes, keepdim, np.dtype(np.int64), *kernels)


def _extremes(
    array: Array, axes: Axes, keepdim: bool, dtype: np.dtype[Any], rows: Kernel, middle: Kernel
) -> Any:
    """What kernels find in rows, or in columns that fill a vector."""
    run, array, plan = _run_and_plan(array, axes, _EXTREMES)
    if run is None or max(plan.sizes) > MOST_PLACES:
        return None
    if plan.pattern == "KR":
        count, width = plan.sizes
        out = np.empty(count, dtype)
        getattr(rows, run)(array, out, width, count, rows_of(width))
        return _restored(out, plan, keepdim)
    outer, n, inner = [1, *plan.sizes][-3:]
    if inner < _VECTOR:
        return None
    out = np.empty((outer, inner), dtype)
    blocks = -(-inner // native.LANES)
    chunk = rows_of(n * min(inner, native.LANES))
    getattr(middle, run)(array, out, n, inner, blocks, outer * blocks, chunk)
    return _restored(out, plan, keepdim)
