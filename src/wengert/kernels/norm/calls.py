"""Calls of the compiled kernels of normalisation.

`run` is the variant: of `chunks.stored_for` of inputs, outputs and their cotangents. Weights, their
gradients and statistics have the type in which it computes (`computed`). Arrays are contiguous,
except that channels averaged over a batch may be last in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.kernels.chunks import plain, rows_of
from wengert.kernels.norm import native
from wengert.kernels.precision import HALF

if TYPE_CHECKING:
    from wengert.kernels.norm.plan import NormPlan

Array = np.ndarray

# Channels side by side, from which there are vectors to work with; rows of a chunk of them.
WIDE, DEEP = 8, 512


def computed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which numbers of a dtype are computed with."""
    return np.dtype(np.float32) if dtype in HALF else dtype


def _matrix(x: Array) -> Array:
    """A batch whose channels lie side by side as a matrix whose columns they are."""
    last = x.transpose(0, *range(2, x.ndim), 1)
    return last.reshape(-1, last.shape[-1])


def _side_by_side(x: Array) -> bool:
    """Whether channels lie side by side, and are enough for vectors."""
    if x.ndim < 2 or x.shape[1] < WIDE:
        return False
    if x.flags.c_contiguous:
        return x.size == x.shape[0] * x.shape[1]
    flags = x.transpose(0, *range(2, x.ndim), 1).flags
    return flags.c_contiguous and flags.aligned


def normalise(
    run: str, x: Array, weight: Array, bias: Array, plan: NormPlan, eps: float
) -> tuple[Array, Array, Array, Array]:
    """The output, means, variances and 1 / deviations."""
    mean, variance, rstd = np.empty((3, *plan.stats), weight.dtype)
    by_channel = 0 in plan.axes
    if by_channel and _side_by_side(x):
        out = _normalise_columns(run, x, weight, bias, (mean, variance, rstd), eps)
        return out, mean, variance, rstd
    x = plain(x)
    out = np.empty_like(x)
    arrays = (x, weight, bias, out, mean, variance, rstd)
    if by_channel:
        batch, count, space = plan.view
        chunk = min(native.MOST, rows_of(batch * space))
        getattr(native.channels, run)(*arrays, batch, space, count, eps, count, chunk)
    elif len(plan.view) == 2:
        size = plan.view[1]
        getattr(native.rows, run)(*arrays, size, plan.centred, eps, mean.size, rows_of(size))
    else:
        size, (_, count, space) = plan.size, plan.channels
        sizes = (size // space, space, count)
        getattr(native.groups, run)(*arrays, *sizes, eps, mean.size, rows_of(size))
    return out, mean, variance, rstd


def gradients(
    run: str, g: Array, x: Array, weight: Array, mean: Array, rstd: Array, plan: NormPlan
) -> tuple[Array, Array, Array]:
    """The cotangents of input, weight and bias, those two flat."""
    by_channel = 0 in plan.axes
    if by_channel and _side_by_side(x):
        grad = np.empty_like(x)
        return grad, *_column_gradients(run, g, x, weight, mean, rstd, grad)
    x = plain(x)
    grad = np.empty_like(x)
    arrays = (plain(g), x, weight, mean, rstd, grad)
    if by_channel:
        return grad, *_channel_gradients(run, plan, *arrays)
    width = rstd.size
    if len(plan.view) == 2:
        size = plan.view[1]
        chunk = max(rows_of(size), min(-(-width // 64), DEEP))
        parts = np.empty((2, -(-width // chunk), size), weight.dtype)
        sizes: tuple[int, ...] = (size, plan.centred, chunk, width, chunk)
        getattr(native.rows_gradient, run)(*arrays, parts[0], parts[1], *sizes)
    else:
        size, (batch, count, space) = plan.size, plan.channels
        parts = np.empty((2, batch, count), weight.dtype)
        sizes = (size // space, space, count, width, rows_of(size))
        getattr(native.groups_gradient, run)(*arrays, parts[0], parts[1], *sizes)
    sums = np.add.reduce(parts, axis=1, dtype=np.float64).astype(weight.dtype)
    return grad, sums[0], sums[1]


def plain_gradient(run: str, g: Array, x: Array, mean: Array, rstd: Array, plan: NormPlan) -> Array:
    """The cotangent of the input, where there is no weight and each row has its statistics."""
    x, size = plain(x), plan.view[1]
    grad = np.empty_like(x)
    arrays = (plain(g), x, mean, rstd, grad)
    getattr(native.plain_rows_gradient, run)(*arrays, size, plan.centred, rstd.size, rows_of(size))
    return grad


def _normalise_columns(
    run: str, x: Array, weight: Array, bias: Array, stats: tuple[Array, Array, Array], eps: float
) -> Array:
    matrix, out = _matrix(x), np.empty_like(x)
    height, count = matrix.shape
    chunk = min(DEEP, rows_of(count))
    parts = np.empty((2, -(-height // chunk), count), weight.dtype)
    means, squares = parts[0], parts[1]
    getattr(native.column_statistics, run)(matrix, means, squares, count, chunk, height, chunk)
    scale = np.empty(count, weight.dtype)
    sizes = (count, height, chunk, eps, count, count)
    getattr(native.merged_statistics, run)(means, squares, weight, *stats, scale, *sizes)
    vectors = (stats[0], scale, bias, _matrix(out))
    getattr(native.scaled_columns, run)(matrix, *vectors, count, height, rows_of(count))
    return out


def _channel_gradients(
    run: str, plan: NormPlan, g: Array, x: Array, weight: Array, mean: Array, rstd: Array,
    grad: Array | None,
) -> tuple[Array, Array]:  # fmt: skip
    """Those of weight and bias; that of the input if there is an array for it."""
    batch, count, space = plan.view
    gain, shift = np.empty(count, weight.dtype), np.empty(count, weight.dtype)
    chunk = min(native.MOST, rows_of(batch * space))
    arrays = (g, x, weight, mean, rstd, grad, gain, shift)
    getattr(native.channels_gradient, run)(*arrays, batch, space, count, count, chunk)
    return gain, shift


def _column_gradients(
    run: str, g: Array, x: Array, weight: Array, mean: Array, rstd: Array, grad: Array | None
) -> tuple[Array, Array]:
    """As `_channel_gradients`."""
    matrix, grads = _matrix(x), plain(_matrix(g))
    height, count = matrix.shape
    chunk = min(DEEP, rows_of(count))
    parts = np.empty((2, -(-height // chunk), count), weight.dtype)
    gains, shifts, sizes = parts[0], parts[1], (count, chunk, height, chunk)
    getattr(native.column_products, run)(grads, matrix, mean, gains, shifts, *sizes)
    gain, shift, scale, common, tilt = (np.empty(count, weight.dtype) for _ in range(5))
    vectors: tuple[Array, ...] = (weight, rstd, gain, shift, scale, common, tilt)
    sizes = (count, height, parts.shape[1], count)
    getattr(native.merged_products, run)(gains, shifts, *vectors, *sizes, count)
    if grad is not None:
        vectors = (mean, scale, common, tilt, _matrix(grad))
        run_it = getattr(native.columns_gradient, run)
        run_it(grads, matrix, *vectors, count, height, rows_of(count))
    return gain, shift


def channel_sums(
    run: str, g: Array, x: Array, mean: Array, rstd: Array, plan: NormPlan
) -> tuple[Array, Array]:
    """The cotangents of weight and bias of channels."""
    if _side_by_side(x):
        return _column_gradients(run, g, x, rstd, mean, rstd, None)
    return _channel_gradients(run, plan, plain(g), plain(x), rstd, mean, rstd, None)


def scaled(run: str, x: Array, mean: Array, scale: Array, shift: Array) -> Any:
    """(x - mean) * scale + shift, where each channel has its own."""
    vectors = (mean, scale, shift)
    if _side_by_side(x):
        matrix, out = _matrix(x), np.empty_like(x)
        height, count = matrix.shape
        sizes = (count, height, rows_of(count))
        getattr(native.scaled_columns, run)(matrix, *vectors, _matrix(out), *sizes)
        return out
    x = plain(x)
    out, count = np.empty_like(x), x.shape[1]
    space = x.size // (x.shape[0] * count)
    rows = x.shape[0] * count
    getattr(native.scaled_planes, run)(x, *vectors, out, count, space, rows, rows_of(space))
    return out
