"""Sums, means and norms as kernels."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.reduction import native as reduction
from wengert.replay.emitting import F32, Emitter, View, dense_strides
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of
from wengert.replay.lines import folded, reduced_axes, unreduced
from wengert.replay.loop_forms import fill, loop_over
from wengert.replay.row_forms import params_of


def sum_into(emitter: Emitter, source: View, out: View, first: int, last: int) -> bool:
    """The sums over the dimensions from `first` up to `last`."""
    if not source.size:
        return False
    source, shape = dense_of(emitter, source), source.shape
    outer, n, inner = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
    if inner == 1:
        while outer == 1 and n >= 1 << 16 and n % 1024 == 0:  # in parts, for several threads
            parts = emitter.temporary([n // 1024])
            emitter.call(reduction.row_sums.f32, source, parts, 1024, total=n // 1024, chunk=64)
            source, n = parts, n // 1024
        emitter.call(reduction.row_sums.f32, source, out, n, total=outer, chunk=rows_of(n))
        return True
    blocks = -(-inner // reduction.LANES)
    emitter.call(
        reduction.middle_sums.f32, source, out, n, inner, blocks, total=outer * blocks,
        chunk=max(1, rows_of(n * min(inner, reduction.LANES))),
    )  # fmt: skip
    return True


def sum_over(emitter: Emitter, source: View, out: View, axes: tuple[int, ...]) -> bool:
    """The sums over some dimensions; at least one."""
    return sum_into(emitter, folded(emitter, source, axes), out, 1, 2)


def unbroadcast(emitter: Emitter, instruction: Instruction) -> bool:
    """What a value was broadcast from: the sum over the dimensions that were repeated."""
    (source,) = emitter.seen(instruction.inputs[:1]) or (None,)
    out = emitter.view(instruction.outputs[0])
    return source is not None and out is not None and sum_to(emitter, source, out)


def sum_to(emitter: Emitter, source: View, out: View) -> bool:
    """The sum over the dimensions that a view of float32 was repeated along."""
    if out.dtype != F32:
        return False
    shape, target = source.shape, (1,) * (len(source.shape) - len(out.shape)) + out.shape
    if len(target) != len(shape):
        return False
    repeated = [d for d in range(len(shape)) if target[d] == 1 and shape[d] != 1]
    if any(target[d] != shape[d] for d in range(len(shape)) if d not in repeated):
        return False
    if repeated:
        return sum_over(emitter, source, out, tuple(repeated))
    copy(emitter, source, out._replace(shape=shape, strides=dense_strides(shape)))
    return True


def _reduced(
    emitter: Emitter, instruction: Instruction
) -> tuple[View, View, tuple[int, ...]] | None:
    """What is reduced, the result, and over which dimensions; None if there are none."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[0].size:
        return None
    axes = reduced_axes(params_of(instruction).get("dim"), len(views[0].shape))
    return (views[0], views[1], axes) if axes else None


def total(emitter: Emitter, instruction: Instruction) -> bool:
    """The sum over some dimensions."""
    found = _reduced(emitter, instruction)
    return found is not None and sum_over(emitter, *found)


def mean(emitter: Emitter, instruction: Instruction) -> bool:
    """The mean over some dimensions."""
    found = _reduced(emitter, instruction)
    return found is not None and averaged(emitter, *found)


def averaged(emitter: Emitter, source: View, out: View, axes: tuple[int, ...]) -> bool:
    """The means over some dimensions; at least one."""
    sums = emitter.temporary(out.shape)
    if not sum_over(emitter, source, sums, axes):
        return False
    count = np.float32(prod([source.shape[d] for d in axes]))
    return loop_over(emitter, [lambda x: x / count], out.shape, [sums], [out])


def total_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a sum: that of the result, everywhere."""
    return _spread(emitter, instruction, 1)


def mean_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a mean: a share of that of the result, everywhere."""
    shape = emitter.type_of(instruction.outputs[0]).shape
    axes = reduced_axes(params_of(instruction).get("dim"), len(shape))
    return _spread(emitter, instruction, prod([shape[d] for d in axes]))


def _spread(emitter: Emitter, instruction: Instruction, divisor: int) -> bool:
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 2 or not views[1].size:
        return False
    g, out = views
    if g.size == 1:
        return fill(emitter, instruction, divisor)
    axes = reduced_axes(params_of(instruction).get("dim"), len(out.shape))
    shown, count = unreduced(g, out.shape, axes), np.float32(divisor)
    return loop_over(emitter, [lambda x: x / count], out.shape, [shown], [out])


def norm(emitter: Emitter, instruction: Instruction) -> bool:
    """The square root of the sum of squares over some dimensions, or the sum of magnitudes."""
    found, p = _reduced(emitter, instruction), params_of(instruction)["p"]
    if found is None or p not in (1, 2):
        return False
    source, out, axes = found
    terms = emitter.temporary(source.shape)
    if p == 1:
        done = loop_over(emitter, [np.abs], source.shape, [source], [terms])
        return done and sum_over(emitter, terms, out, axes)
    sums = emitter.temporary(out.shape)
    return (
        loop_over(emitter, [lambda x: x * x], source.shape, [source], [terms])
        and sum_over(emitter, terms, sums, axes)
        and loop_over(emitter, [root], out.shape, [sums], [out])
    )


def norm_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of a norm: the share of each element in it, or its sign."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    p = params_of(instruction)["p"]
    if views is None or len(views) != 4 or p not in (1, 2) or not views[1].size:
        return False
    g, x, out, to = views
    axes = reduced_axes(params_of(instruction).get("dim"), len(x.shape))
    g, out = (unreduced(v, x.shape, axes) for v in (g, out))
    if p == 1:
        return loop_over(emitter, [_signed], x.shape, [g, x], [to])
    share = emitter.temporary(g.shape)
    return loop_over(emitter, [_share], share.shape, [g, out], [share]) and loop_over(
        emitter, [lambda a, b: a * b], x.shape, [x, share], [to]
    )


def root(x: Any) -> Any:
    """The square root."""
    return np.sqrt(x)


def _share(g: Any, norm: Any) -> Any:
    """The gradient over the norm; 0 where that is 0."""
    return np.where(norm == 0, np.float32(0), g / norm)


def _signed(g: Any, x: Any) -> Any:
    """The gradient with the sign of x; NaN has none."""
    one = np.float32(1)
    return g * np.where(x > 0, one, np.where(x < 0, -one, np.float32(0)))
