"""Losses against indices of classes as kernels; the indices have been checked."""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.axes import axis_of
from wengert.kernels.chunks import rows_of
from wengert.kernels.classification import native as classification
from wengert.kernels.softmax import native as softmax
from wengert.replay.bounds import BOUNDS
from wengert.replay.emitting import F32, I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, dense_of
from wengert.replay.lines import Lines
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_into
from wengert.replay.trace import OpEntry

_LOSSES = Lines(classification.cross_entropy, classification.cross_entropy_columns, softmax.LANES)
_GRADIENTS = Lines(
    classification.cross_entropy_gradient, classification.cross_entropy_gradient_columns,
    softmax.LANES,
)  # fmt: skip


def cross_entropy(emitter: Emitter, instruction: Instruction) -> bool:
    """Of scores, and the logarithms of the denominators of their softmax."""
    found = _losses(emitter, instruction, instruction.inputs)
    if found is None:
        return False
    x, index, share, step, smoothing = found
    axis, reduced = _axis(instruction, x), params_of(instruction)["reduced"]
    beside = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    logs = emitter.room(instruction.outputs[1], (2, *beside))
    out = emitter.view(instruction.outputs[0])
    assert out is not None
    loss = emitter.temporary(index.shape) if reduced else out
    parts = logs, logs._replace(offset=index.size)
    arrays = (x, index, share, step, smoothing, loss, *parts)
    _LOSSES.run(emitter, arrays, x.shape, axis)
    return not reduced or sum_into(emitter, loss, out, 0, len(index.shape))


def cross_entropy_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of the scores."""
    g_value, *others, logs_value = instruction.inputs
    found = _losses(emitter, instruction, tuple(others))
    logs, out = emitter.views.get(logs_value), emitter.view(instruction.outputs[0])
    if found is None or logs is None or out is None:
        return False
    x, index, share, _, smoothing = found
    scale = _scale(emitter, g_value, share, index)
    if scale is None:
        return False
    step, parts = min(len(scale.shape), 1), (logs, logs._replace(offset=logs.offset + index.size))
    arrays = (x, index, scale, step, smoothing, *parts, out)
    _GRADIENTS.run(emitter, arrays, x.shape, _axis(instruction, x))
    return True


def weighed_pick(emitter: Emitter, instruction: Instruction) -> bool:
    """Of each place the element of its class, times its share."""
    found = _losses(emitter, instruction, instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if found is None or out is None:
        return False
    x, index, share, step, _ = found
    reduced = params_of(instruction)["reduced"]
    loss = emitter.temporary(index.shape) if reduced else out
    axis = _axis(instruction, x)
    emitter.call(
        classification.picked.f32, x, index, share, step, loss, x.shape[axis],
        prod(x.shape[axis + 1 :]), total=index.size, chunk=rows_of(1),
    )  # fmt: skip
    return not reduced or sum_into(emitter, loss, out, 0, len(index.shape))


def weighed_put(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradient of picked elements in their places, and zeros."""
    g_value, index_value, share_value = instruction.inputs
    index, share = emitter.view(index_value), emitter.seen([share_value])
    outs = emitter.seen(instruction.outputs)
    if index is None or share is None or outs is None or not outs[0].size:
        return False
    (out,) = outs
    if not _fit(instruction, out, index, share[0]):
        return False
    scale = _scale(emitter, g_value, share[0], index)
    if scale is None:
        return False
    axis, step = _axis(instruction, out), min(len(scale.shape), 1)
    width, inner = out.shape[axis], prod(out.shape[axis + 1 :])
    index = _checked(emitter, instruction, index, width)
    if inner == 1:
        emitter.call(
            classification.weighed_put.f32, scale, index, step, out, width, total=index.size,
            chunk=rows_of(width),
        )  # fmt: skip
        return True
    clear(emitter, out)
    emitter.call(
        classification.put.f32, scale, index, step, out, width, inner, total=index.size,
        chunk=rows_of(1),
    )  # fmt: skip
    return True


def _weighed(g: Any, share: Any) -> Any:
    """What counts for nothing is 0, even of an infinity."""
    return np.where(share == 0, 0.0, g * share)


def _scale(emitter: Emitter, g_value: int, share: View, index: View) -> View | None:
    """Cotangents times shares: for each index, or one for all."""
    (g,) = emitter.seen([g_value]) or (None,)
    shape = None if g is None else np.broadcast_shapes(g.shape, share.shape)
    if g is None or shape not in ((), index.shape):
        return None
    scale = emitter.temporary(shape)
    done = loop_over(emitter, [_weighed], shape, [g, share], [scale])
    return scale if done else None


def _losses(
    emitter: Emitter, instruction: Instruction, values: tuple[int, ...]
) -> tuple[View, View, View, int, float] | None:
    """Scores, indices, shares with their step, and smoothing."""
    if len(values) != 3:
        return None
    x, index, share = (emitter.view(v) for v in values)
    if x is None or index is None or share is None or not x.size or x.dtype != F32:
        return None
    smoothing = params_of(instruction).get("smoothing", 0.0)
    if not _fit(instruction, x, index, share) or not math.isfinite(smoothing):
        return None
    index = _checked(emitter, instruction, index, x.shape[_axis(instruction, x)])
    return dense_of(emitter, x), index, share, min(len(share.shape), 1), float(smoothing)


def _checked(emitter: Emitter, instruction: Instruction, index: View, classes: int) -> View:
    """Indices that are classes; others are an error."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    return emitter.checked(index, classes, BOUNDS[entry.op.name].error)


def _axis(instruction: Instruction, x: View) -> int:
    """The dimension of classes."""
    return axis_of(params_of(instruction)["axis"], len(x.shape))


def _fit(instruction: Instruction, x: View, index: View, share: View) -> bool:
    """Whether there is an index for each place, and a share for each of them, or one for all."""
    axis = _axis(instruction, x)
    if not index.is_dense or not share.is_dense:
        return False
    if (index.dtype, share.dtype) != (I64, F32) or share.shape not in ((), index.shape):
        return False
    return x.shape[:axis] + x.shape[axis + 1 :] == index.shape
