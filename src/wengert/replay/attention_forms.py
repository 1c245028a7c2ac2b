"""Attention as kernels."""

from __future__ import annotations

import numpy as np

from wengert.kernels import attention, copies
from wengert.kernels.jit import CHUNK
from wengert.kernels.products.tiles import COLUMNS
from wengert.replay.emitting import F32, Emitter, View, dense_strides
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import copy, dense_of
from wengert.replay.row_forms import params_of, takers_of
from wengert.replay.trace import OpEntry

_NONE = (0, 0, 0, 0)


def attend(emitter: Emitter, instruction: Instruction) -> bool:
    """Attention, and the logarithms of the sums of its exponentials."""
    operands = _operands(emitter, instruction.inputs)
    out = _result(emitter, instruction)
    if operands is None or out is None or out.dtype != F32:
        return False
    q = operands[0]
    assert q is not None
    kept = emitter.room(instruction.outputs[1], out.shape[:-1])
    params = params_of(instruction)
    attention.call_attend(
        emitter, [*operands, out, kept],
        [*[_NONE if v is None else v.strides for v in operands], _in_four(out).strides],
        params["factor"], params["is_causal"],
    )  # fmt: skip
    return True


def _result(emitter: Emitter, instruction: Instruction) -> View | None:
    """Where the result lies: with the heads of a position together, if so it does in eager mode.

    There it is mostly turned over next. One that lies so is no array for others: see `is_in_order`.
    """
    (value, *_), entry = instruction.outputs, instruction.entry
    out = emitter.view(value)
    if out is None or not isinstance(entry, OpEntry):
        return out
    strides = entry.outlines[0].strides
    order = sorted(range(len(strides)), key=lambda d: -strides[d])
    turned = out.permuted(order)
    turned = turned._replace(strides=dense_strides(turned.shape))
    emitter.views[value] = turned.permuted(np.argsort(order).tolist())
    return emitter.views[value]


def attend_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of queries, keys and values."""
    g_value, *values, out_value, kept_value = instruction.inputs
    takers, operands = takers_of(emitter, instruction), _operands(emitter, tuple(values))
    kept = emitter.views.get(kept_value)
    views = emitter.seen([g_value, out_value])
    if takers is None or operands is None or kept is None or views is None:
        return False
    g, out = (_rows(emitter, v) for v in views)
    q, k, v, _ = operands
    assert q is not None
    assert k is not None
    assert v is not None
    dq = _in_four(takers.get("query") or emitter.temporary(q.shape))
    dk, dv = (_room(emitter, x) for x in (k, v))
    steps = [_NONE if v is None else v.strides for v in operands]
    steps += [v.strides for v in (out, g, dq, dk, dv)]
    params = params_of(instruction)
    attention.call_attend_back(
        emitter, [*operands, out, kept, g, dq, dk, dv], steps, params["factor"],
        params["is_causal"],
    )  # fmt: skip
    for name, like, room in (("key", k, dk), ("value", v, dv)):
        if name in takers:
            copy(emitter, room._replace(shape=like.shape), _in_four(takers[name]))
    emitter.written.update(view.root for view in takers.values())
    return True


def _operands(emitter: Emitter, values: tuple[int, ...]) -> list[View | None] | None:
    """Queries, keys, values and the mask, in four dimensions; None if there are no kernels."""
    views = emitter.seen(values)
    if views is None or not 3 <= len(views) <= 4 or not all(v.size for v in views):
        return None
    q, k, v, *masks = views
    if len(q.shape) > 4 or not attention.fits(q, v):
        return None
    mask = None
    if masks:
        shape = (*q.shape[:-1], k.shape[-2])
        if np.broadcast_shapes(masks[0].shape, shape) != shape:
            return None
        mask = _in_four(masks[0].expanded(shape))
    return [*[_rows(emitter, x) for x in (q, k, v)], mask]


def _rows(emitter: Emitter, x: View) -> View:
    """The view in four dimensions, copied if its rows are not together."""
    return _in_four(x if x.strides[-1] == 1 or x.shape[-1] == 1 else dense_of(emitter, x))


def _in_four(x: View) -> View:
    """The view with leading dimensions of length 1 added, up to four."""
    more = 4 - len(x.shape)
    return x._replace(shape=(1,) * more + x.shape, strides=(0,) * more + x.strides)


def _room(emitter: Emitter, like: View) -> View:
    """Zeros for a gradient, in rows of whole COLUMNS."""
    *others, width = like.shape
    room = emitter.temporary((*others, -(-width // COLUMNS) * COLUMNS))
    emitter.call(
        copies.fill.f32, np.zeros(1, np.float32), 0.0, room, total=room.size, chunk=CHUNK
    )  # fmt: skip
    return room
