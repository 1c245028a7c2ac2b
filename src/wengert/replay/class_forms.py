"""Losses against indices of classes as kernels; the indices have been checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert.kernels.chunks import rows_of
from wengert.kernels.classification import native as classification
from wengert.replay.bounds import BOUNDS
from wengert.replay.emitting import F32, I64, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of
from wengert.replay.loop_forms import loop_over
from wengert.replay.row_forms import params_of
from wengert.replay.sum_forms import sum_into
from wengert.replay.trace import OpEntry


def cross_entropy(emitter: Emitter, instruction: Instruction) -> bool:
    """Of scores, and the logarithms of the denominators of their softmax."""
    found = _losses(emitter, instruction, instruction.inputs)
    if found is None:
        return False
    x, index, share, step, smoothing = found
    logs = emitter.room(instruction.outputs[1], (2, *index.shape, 1))
    out = emitter.view(instruction.outputs[0])
    assert out is not None
    reduced = params_of(instruction)["reduced"]
    loss = emitter.temporary(index.shape) if reduced else out
    width, count = x.shape[-1], index.size
    emitter.call(
        classification.cross_entropy.f32, x, index, share, step, smoothing, loss, logs,
        logs._replace(offset=count), width, total=count, chunk=rows_of(width),
    )  # fmt: skip
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
    width, count = x.shape[-1], index.size
    emitter.call(
        classification.cross_entropy_gradient.f32, x, index, scale, min(len(scale.shape), 1),
        smoothing, logs, logs._replace(offset=logs.offset + count), out, width, total=count,
        chunk=rows_of(width),
    )  # fmt: skip
    return True


def weighed_pick(emitter: Emitter, instruction: Instruction) -> bool:
    """Of each row the element of its class, times its share."""
    found = _losses(emitter, instruction, instruction.inputs)
    out = emitter.view(instruction.outputs[0])
    if found is None or out is None:
        return False
    x, index, share, step, _ = found
    reduced = params_of(instruction)["reduced"]
    loss = emitter.temporary(index.shape) if reduced else out
    width = x.shape[-1]
    emitter.call(
        classification.picked.f32, x, index, share, step, loss, width, 1, total=index.size,
        chunk=rows_of(1),
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
    if not _is_of_rows(instruction, out, index, share[0]):
        return False
    scale = _scale(emitter, g_value, share[0], index)
    if scale is None:
        return False
    width = out.shape[-1]
    index = _checked(emitter, instruction, index, width)
    emitter.call(
        classification.weighed_put.f32, scale, index, min(len(scale.shape), 1), out, width,
        total=index.size, chunk=rows_of(width),
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
    if not _is_of_rows(instruction, x, index, share) or not math.isfinite(smoothing):
        return None
    index = _checked(emitter, instruction, index, x.shape[-1])
    return dense_of(emitter, x), index, share, min(len(share.shape), 1), float(smoothing)


def _checked(emitter: Emitter, instruction: Instruction, index: View, classes: int) -> View:
    """Indices that are classes; others are an error."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    return emitter.checked(index, classes, BOUNDS[entry.op.name].error)


def _is_of_rows(instruction: Instruction, x: View, index: View, share: View) -> bool:
    """Whether classes are along the last dimension, and each row has an index."""
    axis = params_of(instruction)["axis"]
    if not index.is_dense or not share.is_dense or x.shape[:-1] != index.shape:
        return False
    if (index.dtype, share.dtype) != (I64, F32) or share.shape not in ((), index.shape):
        return False
    return bool(axis % len(x.shape) == len(x.shape) - 1)
