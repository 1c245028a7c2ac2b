"""Normalisation to mean 0 and variance 1 over some axes, then scale and shift by channel.

Layer, group, instance, batch and root-mean-square normalisation differ in their `NormPlan`.
All work on parts that are normalised independently and small enough for the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.chunks import FEW, SOME, pays_off, plain, real_for, real_of, stored_for
from wengert.kernels.jit import CHUNK
from wengert.kernels.norm.plan import NormPlan, Shape
from wengert.kernels.precision import narrowed, widened

Array = np.ndarray

# Rows shorter than this are multiplied and summed: a dot product per row would cost more.
_SHORT = 8
# Elements of a part.
_PART = 1 << 16


@cache
def _calls() -> Any:
    """The module that calls kernels, which is loaded on first use."""
    from wengert.kernels.norm import calls

    return calls


@cache
def _native() -> Any:
    """The kernels themselves, likewise."""
    from wengert.kernels.norm import native

    return native


def _parts(plan: NormPlan) -> Iterator[tuple[tuple[slice, ...], slice]]:
    """Keys of parts: of the input in both of its shapes, and of arrays of the affine shape."""
    by_channel = 0 in plan.axes
    n = plan.view[1 if by_channel else 0]
    step = max(1, _PART * n // max(1, prod(plan.view)))
    for i in range(0, n, step):
        part = slice(i, i + step)
        yield ((slice(None), part), part) if by_channel else ((part,), slice(None))


def _total(x: Array, axes: Shape) -> Array:
    return np.add.reduce(x, axis=axes, keepdims=True)


def _dot(a: Array, b: Array, axes: Shape) -> Array:
    """The sum of a * b over the axes, which are kept with length one."""
    if a.shape[-1] < _SHORT:
        return _total(a * b, axes)
    rows = np.vecdot(a, b)[..., None]
    return rows if len(axes) == 1 else _total(rows, axes[:-1])


def _subtract(x: Array, mean: Array | None, part: tuple[slice, ...], out: Array) -> Array:
    """A part of `x` less its means, in the memory of `out`."""
    here = out[part]
    if mean is None:
        np.copyto(here, x[part])
    else:
        np.subtract(x[part], mean[part], out=here)
    return here


def normalise(
    x: Array, weight: Array | None, bias: Array | None, plan: NormPlan, eps: float
) -> tuple[Array, Array | None, Array, Array]:
    """The output, the means (None if not subtracted), variances, and 1 / deviations.

    Statistics of halves are float32; weight and bias may be, too.
    """
    if x.size >= FEW and real_for(x.dtype):
        return _normalise_natively(x, weight, bias, plan, eps)
    wide = widened(x)
    seen, axes = wide.reshape(plan.view), plan.axes
    out = np.empty(plan.view, wide.dtype)
    channels = out.reshape(plan.channels)
    mean = np.empty(plan.stats, wide.dtype) if plan.centred else None
    variance, rstd = np.empty(plan.stats, wide.dtype), np.empty(plan.stats, wide.dtype)
    count = wide.dtype.type(plan.size)
    gain = None if weight is None else widened(weight).reshape(plan.affine)
    shift = None if bias is None else widened(bias).reshape(plan.affine)
    for part, channel in _parts(plan):
        if mean is not None:
            mean[part] = _total(seen[part], axes) / count
        here = _subtract(seen, mean, part, out)
        variance[part] = _dot(here, here, axes) / count
        rstd[part] = inverse_deviation(variance[part], eps)
        here *= rstd[part]
        if gain is not None:
            channels[part] *= gain[channel]
        if shift is not None:
            channels[part] += shift[channel]
    return narrowed(out.reshape(x.shape), x.dtype), mean, variance, rstd


@lru_cache(maxsize=32)
def _constant(n: int, dtype: np.dtype, number: int) -> Array:
    """So many equal numbers, which are only read."""
    numbers = np.full(n, number, dtype)
    numbers.flags.writeable = False
    return numbers


def _vector(x: Array | None, plan: NormPlan, dtype: np.dtype, fill: int) -> Array:
    """Weights or biases of a plan as kernels read them."""
    if x is None:
        return _constant(prod(plan.affine), dtype, fill)
    return plain((x if x.dtype is dtype else x.astype(dtype, copy=False)).reshape(-1))


def _readable(*arrays: Array) -> tuple[str, tuple[Array, ...]]:
    """The variant of kernels for arrays of one dtype, and these or, without one for it, others."""
    run = stored_for(arrays[0].dtype)
    return (run, arrays) if run else ("f32", tuple([widened(a) for a in arrays]))


def _normalise_natively(
    x: Array, weight: Array | None, bias: Array | None, plan: NormPlan, eps: float
) -> tuple[Array, Array | None, Array, Array]:
    (run, (read,)), dtype = _readable(x), _calls().computed(x.dtype)
    gain, shift = _vector(weight, plan, dtype, 1), _vector(bias, plan, dtype, 0)
    out, mean, variance, rstd = _calls().normalise(run, read, gain, shift, plan, eps)
    return narrowed(out, x.dtype), mean if plan.centred else None, variance, rstd


def gradients(
    g: Array, x: Array, weight: Array | None, mean: Array | None, rstd: Array, plan: NormPlan
) -> tuple[Array, Array | None, Array | None] | None:
    """The cotangents of input, weight and bias from one pass; None if there is no kernel.

    Those of weight and bias are flat, and of the type that is computed in: of halves, float32. They
    are None for rows without a weight, which mostly have no bias either.
    """
    if x.size < FEW or g.dtype != x.dtype or not real_for(x.dtype):
        return None
    run, (slopes, read) = _readable(g, x)
    mean = np.zeros_like(rstd) if mean is None else mean
    if weight is None and len(plan.view) == 2 and 0 not in plan.axes:
        grad = _calls().plain_gradient(run, slopes, read, mean, rstd, plan)
        return narrowed(grad, x.dtype), None, None
    gain = _vector(weight, plan, _calls().computed(x.dtype), 1)
    grad, *rest = _calls().gradients(run, slopes, read, gain, mean, rstd, plan)
    return narrowed(grad, x.dtype), rest[0], rest[1]


def channel_sums(
    g: Array, x: Array, mean: Array, rstd: Array, plan: NormPlan
) -> tuple[Array, Array] | None:
    """The cotangents of weight and bias of channels (axis 1); None if there is no kernel.

    `mean` and `rstd` of halves are float32, and so are the results.
    """
    if x.size < FEW or g.dtype != x.dtype or not real_for(x.dtype):
        return None
    run, (slopes, read) = _readable(g, x)
    vectors = plain(mean), plain(rstd)
    sums: tuple[Array, Array] = _calls().channel_sums(run, slopes, read, *vectors, plan)
    return sums


def follow(running: Array, now: Array, momentum: Any) -> bool:
    """Move running statistics in place towards others; False if that is left to NumPy."""
    if type(momentum) is not float or running.shape != now.shape:
        return False
    if not pays_off(running.size, SOME):
        return False
    run = real_of(running, now)
    if run is None:
        return False
    getattr(_native().followed, run)(running, now, 1 - momentum, momentum, running.size, CHUNK)
    return True


def scaled(x: Array, mean: Array, scale: Array, shift: Array | None) -> Array:
    """(x - mean) * scale + shift, where each channel, of axis 1, has its own; the dtype is that of
    `x`, of which that of the others is what is computed in."""
    if x.size >= FEW and real_for(x.dtype):
        run, (read,) = _readable(x)
        zero = np.zeros_like(scale) if shift is None else plain(shift)
        return narrowed(_calls().scaled(run, read, plain(mean), plain(scale), zero), x.dtype)
    column = (-1, *(1,) * (x.ndim - 2))
    out = widened(x) - mean.reshape(column)
    out *= scale.reshape(column)
    if shift is not None:
        out += shift.reshape(column)
    return narrowed(out, x.dtype)


def inverse_deviation(variance: Array, eps: float) -> Array:
    """1 / sqrt(variance + eps)."""
    one = variance.dtype.type(1)
    return one / np.sqrt(variance + variance.dtype.type(eps))


def input_gradient(
    g: Array, x: Array, weight: Array | None, mean: Array | None, rstd: Array, plan: NormPlan
) -> Array:
    """The cotangent of the input: the part not absorbed by mean and scale."""
    wide, values = widened(g), widened(x)
    grads, seen, axes = wide.reshape(plan.channels), values.reshape(plan.view), plan.axes
    out = np.empty(plan.view, values.dtype)
    count = values.dtype.type(plan.size)
    gain = None if weight is None else widened(weight).reshape(plan.affine)
    for part, channel in _parts(plan):
        scaled = grads[part] if gain is None else grads[part] * gain[channel]
        here = _subtract(seen, mean, part, out)
        scaled = scaled.reshape(here.shape)
        slope = rstd[part]
        here *= _dot(scaled, here, axes) * (slope * slope / -count)
        here += scaled
        if mean is not None:
            here -= _total(scaled, axes) / count
        here *= slope
    return narrowed(out.reshape(x.shape), x.dtype)


def weight_gradient(g: Array, x: Array, mean: Array | None, rstd: Array, plan: NormPlan) -> Array:
    """The cotangent of the weight, in its shape within the plan; of halves, float32."""
    wide, values = widened(g), widened(x)
    grads, seen = wide.reshape(plan.channels), values.reshape(plan.view)
    total = np.zeros(plan.affine, values.dtype)
    lead = len(plan.channels) - len(plan.affine)
    axes = (*range(lead), *(lead + d for d, n in enumerate(plan.affine) if n == 1))
    for part, channel in _parts(plan):
        here = (seen[part] if mean is None else seen[part] - mean[part]) * rstd[part]
        here = here.reshape(grads[part].shape)
        here *= grads[part]
        total[channel] += np.add.reduce(here, axis=axes).reshape(total[channel].shape)
    return total
