"""Single steps of recurrent layers as kernels: `nn.LSTMCell` and `nn.GRUCell` in a loop."""

from __future__ import annotations

import numpy as np

from wengert.kernels.recurrent import native
from wengert.replay.emitting import F32, Emitter, View
from wengert.replay.ir import Instruction
from wengert.replay.layout_forms import clear, copy, dense_of
from wengert.replay.row_forms import takers_of


def lstm_step(emitter: Emitter, instruction: Instruction) -> bool:
    """State and cell, one behind the other, and the gates."""
    views = _dense(emitter, (*instruction.inputs, instruction.outputs[0]))
    if views is None:
        return False
    x, product, before, out = views
    gates = emitter.room(instruction.outputs[1], x.shape)
    rows, width = _rows_of(before)
    emitter.call(
        native.lstm_rows.f32, x, product, np.zeros(4 * width, F32), before, gates, _half(out, 0),
        _half(out, 1), width, total=rows, chunk=native.step_chunk(width),
    )  # fmt: skip
    return True


def lstm_step_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of both contributions to the gates, which are equal, and of the cell."""
    takers, views = takers_of(emitter, instruction), _dense(emitter, instruction.inputs)
    if takers is None or views is None:
        return False
    g, out, gates, _, _, before = views
    flows = [takers[name] for name in ("x", "product") if name in takers]
    flow = flows[0] if flows else emitter.temporary(gates.shape)
    dc = takers.get("before") or emitter.temporary(before.shape)
    copy(emitter, _half(g, 1), dc)
    rows, width = _rows_of(before)
    emitter.call(
        native.lstm_rows_back.f32, gates, _half(out, 1), before, _half(g, 0), np.zeros(width, F32),
        dc, flow, width, total=rows, chunk=native.step_chunk(width),
    )  # fmt: skip
    for other in flows[1:]:
        copy(emitter, flow, other)
    emitter.written.update(view.root for view in takers.values())
    return True


def gru_step(emitter: Emitter, instruction: Instruction) -> bool:
    """The state, the gates, and what the state contributes to the last gate."""
    views = _dense(emitter, (*instruction.inputs, instruction.outputs[0]))
    if views is None:
        return False
    x, product, before, out = views
    _, gates_value, inner_value = instruction.outputs
    gates = emitter.room(gates_value, x.shape)
    inner = emitter.room(inner_value, before.shape)
    rows, width = _rows_of(before)
    emitter.call(
        native.gru_rows.f32, x, product, np.zeros(3 * width, F32), before, gates, inner, out, width,
        total=rows, chunk=native.step_chunk(width),
    )  # fmt: skip
    return True


def gru_step_back(emitter: Emitter, instruction: Instruction) -> bool:
    """The gradients of both contributions to the gates, and of the state."""
    takers, views = takers_of(emitter, instruction), _dense(emitter, instruction.inputs)
    if takers is None or views is None:
        return False
    g, gates, inner, _, _, before = views
    flow, from_state, dh = (
        takers.get(name) or emitter.temporary(like.shape)
        for name, like in (("x", gates), ("product", gates), ("before", before))
    )
    clear(emitter, dh)
    rows, width = _rows_of(before)
    emitter.call(
        native.gru_rows_back.f32, gates, inner, before, g, dh, flow, from_state, width, total=rows,
        chunk=native.step_chunk(width),
    )  # fmt: skip
    emitter.written.update(view.root for view in takers.values())
    return True


def _dense(emitter: Emitter, values: tuple[int, ...]) -> list[View] | None:
    """The views of values whose elements lie in their order."""
    views = emitter.seen(values)
    if views is None or not all(v.size for v in views):
        return None
    return [dense_of(emitter, v) for v in views]


def _rows_of(state: View) -> tuple[int, int]:
    width = state.shape[-1]
    return state.size // width, width


def _half(view: View, k: int) -> View:
    """State or cell of both."""
    return view._replace(
        offset=view.offset + k * view.size // 2, shape=view.shape[1:], strides=view.strides[1:]
    )


CELLS = {
    "lstm_step": lstm_step,
    ("lstm_step", "shared"): lstm_step_back,
    "gru_step": gru_step,
    ("gru_step", "shared"): gru_step_back,
}
