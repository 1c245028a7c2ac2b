"""Softmax and its logarithm as kernels, along rows and other dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels import gating
from wengert.kernels.chunks import rows_of
from wengert.kernels.softmax import native as softmax
from wengert.replay.emitting import Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import dense_of, dense_views
from wengert.replay.lines import Lines
from wengert.replay.trace import OpEntry

_SOFTMAX, _SOFTMAX_BACK, _LOG_SOFTMAX, _LOG_SOFTMAX_BACK = (
    Lines(rows, columns, softmax.LANES)
    for rows, columns in (
        (softmax.softmax, softmax.softmax_columns),
        (softmax.softmax_pullback, softmax.softmax_pullback_columns),
        (softmax.log_softmax, softmax.log_softmax_columns),
        (softmax.log_softmax_pullback, softmax.log_softmax_pullback_columns),
    )
)


def _along(emitter: Emitter, instruction: Instruction, lines: Lines, count: int) -> bool:
    """Kernels of so many operands and a result, all of one shape, along a dimension."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs[:1]))
    dim = params_of(instruction).get("dim", -1)
    if views is None or len(views) != count + 1 or type(dim) is not int:
        return False
    *given, out = views
    if not out.shape or not out.size or any(v.shape != out.shape for v in given):
        return False
    arrays = (*[dense_of(emitter, v) for v in given], out)
    lines.run(emitter, arrays, out.shape, dim % len(out.shape))
    return True


def softmax_form(emitter: Emitter, instruction: Instruction) -> bool:
    """Along a dimension."""
    return _along(emitter, instruction, _SOFTMAX, 1)


def masked_softmax_form(emitter: Emitter, instruction: Instruction) -> bool:
    """Of the sum of each row and a mask's, which broadcasts to it; zeros where all is -inf."""
    views = emitter.seen((*instruction.inputs, *instruction.outputs))
    if views is None or len(views) != 3 or not views[0].size:
        return False
    x, mask, out = views
    if np.broadcast_shapes(x.shape, mask.shape) != x.shape:
        return False
    # A mask of the last dimensions repeats; another one is written out.
    while mask.shape and mask.shape[0] == 1:
        mask = mask._replace(shape=mask.shape[1:], strides=mask.strides[1:])
    if not mask.shape or mask.shape != x.shape[len(x.shape) - len(mask.shape) :]:
        mask = mask.expanded(x.shape)
    x, mask = dense_of(emitter, x), dense_of(emitter, mask)
    width = x.shape[-1]
    emitter.call(
        softmax.masked_softmax.f32, x, mask, out, width, mask.size // width,
        total=x.size // width, chunk=rows_of(width),
    )  # fmt: skip
    return True


def softmax_back(emitter: Emitter, instruction: Instruction) -> bool:
    """From the gradient of the result, and the result."""
    return _along(emitter, instruction, _SOFTMAX_BACK, 2)


def log_softmax_form(emitter: Emitter, instruction: Instruction) -> bool:
    """Along a dimension."""
    return _along(emitter, instruction, _LOG_SOFTMAX, 1)


def log_softmax_back(emitter: Emitter, instruction: Instruction) -> bool:
    """From the gradient of the result, and the result."""
    return _along(emitter, instruction, _LOG_SOFTMAX_BACK, 2)


def gated(emitter: Emitter, instruction: Instruction) -> bool:
    """The first half along a dimension times the sigmoid of the second."""
    views, axis = dense_views(emitter, instruction, 2), params_of(instruction)["axis"]
    if views is None:
        return False
    x, out = views
    gating.call_gated(emitter, x, out, axis)
    return True


def gated_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of both halves."""
    views, axis = dense_views(emitter, instruction, 3), params_of(instruction)["axis"]
    if views is None:
        return False
    g, x, out = views
    gating.call_gradient(emitter, g, x, out, axis)
    return True


def params_of(instruction: Instruction) -> dict[str, Any]:
    """The arguments of an operation that are no operands."""
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    return entry.params


def taken_form(emitter: Emitter, instruction: Instruction) -> bool:
    """A gradient that is there already."""
    return instruction.outputs[0] in emitter.written


def takers_of(emitter: Emitter, instruction: Instruction) -> dict[str, View] | None:
    """The gradients that are taken of what is computed for several, by operand.

    None if something else reads it.
    """
    (shared,) = instruction.outputs
    entry = instruction.entry
    assert isinstance(entry, OpEntry)
    op, _ = instruction.key[0]
    found: dict[str, View] = {}
    for user in emitter.program.instructions:
        if shared not in user.inputs:
            continue
        key = user.key
        name = key[0][1] if key and type(key[0]) is tuple and key[0][0] == op else ""
        view = emitter.view(user.outputs[0])
        if name in found or name not in entry.op.differentiable or view is None:
            return None
        found[name] = view
    return found
