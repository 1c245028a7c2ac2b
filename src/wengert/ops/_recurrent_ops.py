"""The operations behind recurrent layers: one layer, one direction, all steps.

Kernels compute them and their backward pass through time, which all rules share. When a
derivative is itself recorded, and in transforms, ordinary operations compute them step by
step. A node saves its inputs, and for each row the gates, cell and state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.products.blas import dot
from wengert.ops.declare import Value, primitive
from wengert.ops.joining import cat, stack
from wengert.ops.linear import _outer, linear
from wengert.ops.reduction import sum_over

if TYPE_CHECKING:
    from wengert.kernels.recurrent import RecurrentCotangents
    from wengert.kernels.recurrent.steps import Steps

State = tuple[Tensor, ...]


def _recorded(*values: Value) -> bool:
    """Whether a rule runs on Tensors: in a recorded derivative, or in a batch of them."""
    return any(isinstance(x, Tensor) for x in values)


def _lifted(*values: Value) -> list[Any]:
    return [x if x is None or isinstance(x, Tensor) else wrap(x) for x in values]


def _of_less_rows(new: Tensor, old: Tensor, n: int) -> Tensor:
    """A state whose first `n` rows are replaced."""
    return new if old.shape[0] == n else cat([new, old[n:]])


def _zeros(state: Tensor | None, rows: int, width: int, like: Tensor) -> Tensor:
    if state is not None:
        return state
    if like._memoryless:
        return like.new_zeros((rows, width))
    return wrap(np.zeros((rows, width), like._outline.dtype))


def _along(
    steps: Steps, state: State, advance: Callable[[slice, State], tuple[State, Any]]
) -> tuple[State, list[Any]]:
    """The state after all steps, and what else `advance` returned at each step."""
    saved_steps = []
    for rows, n in steps.order:
        new, saved = advance(rows, tuple(s[:n] for s in state))
        saved_steps.append(saved)
        state = tuple(_of_less_rows(a, b, n) for a, b in zip(new, state, strict=True))
    return state, saved_steps


def _back(
    steps: Steps, g: Tensor, state: State, saved_steps: list[Any],
    retreat: Callable[[State, Any], tuple[State, Any]],
) -> tuple[State, list[Any]]:  # fmt: skip
    """The cotangent of the first state, and what else `retreat` returned at each step.

    `g` is the cotangent of the state of each row.
    """
    gate_gradients = []
    for (rows, n), saved in zip(reversed(steps.order), reversed(saved_steps), strict=True):
        first, *other_states = (s[:n] for s in state)
        new, gate_gradient = retreat((first + g[rows], *other_states), saved)
        gate_gradients.append(gate_gradient)
        state = tuple(_of_less_rows(a, b, n) for a, b in zip(new, state, strict=True))
    return state, gate_gradients[::-1]


def _rows(steps: Steps, steps_rows: Any) -> Tensor:
    """The results of all steps, in the layout of rows."""
    steps_rows = [*steps_rows]
    return cat(steps_rows[::-1] if steps.reverse else steps_rows)


def _gates(input: Tensor, weight: Tensor, *biases: Tensor | None) -> Tensor:
    """The input's contribution to the gates."""
    present = [b for b in biases if b is not None]
    return linear(input, weight, sum(present[1:], present[0]) if present else None)


def _state_weight_vjp(shared: RecurrentCotangents, out: Value, h0: Value, steps: Steps) -> Value:
    if shared.before is not None:
        return _outer(shared.from_state, shared.before)
    return kernels.recurrent.state_weight_gradient(shared.from_state, out, h0, steps)


_RULES: dict[str, Any] = {
    "input": lambda g, shared, w_ih: linear(shared.gates, w_ih.T),
    "h0": lambda g, shared: shared.h0,
    "w_ih": lambda g, shared, input: _outer(shared.gates, input),
    "w_hh": lambda g, shared, out, h0, steps: _state_weight_vjp(shared, out, h0, steps),
    "b_ih": lambda g, shared: sum_over(shared.gates, (0,)),
    "b_hh": lambda g, shared: sum_over(shared.from_state, (0,)),
}


# The Elman network.


def _rnn_unrolled(
    input: Tensor, h0: Tensor | None, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, steps: Steps, relu: bool,
) -> list[Any]:  # fmt: skip
    """State before and after each step."""
    gates = _gates(input, w_ih, b_ih, b_hh)

    def advance(rows: slice, state: State) -> tuple[State, Any]:
        total = gates[rows] + linear(state[0], w_hh)
        new = total.relu() if relu else total.tanh()
        return (new,), (state[0], new)

    return _along(steps, (_zeros(h0, steps.batch, w_hh.shape[1], input),), advance)[1]


def _rnn_reference(
    input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, steps: Steps,
    relu: bool,
) -> Value:  # fmt: skip
    saved_steps = _rnn_unrolled(input, h0, w_ih, w_hh, b_ih, b_hh, steps, relu)
    return _rows(steps, (new for _, new in saved_steps))


def _rnn_flow(
    g: Value, input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value,
    out: Value, steps: Steps, relu: bool,
) -> RecurrentCotangents:  # fmt: skip
    if not _recorded(g, input):
        return kernels.recurrent.rnn_back(g, out, w_hh, steps, relu)
    g, input, h0, w_ih, w_hh, b_ih, b_hh = _lifted(g, input, h0, w_ih, w_hh, b_ih, b_hh)
    saved_steps = _rnn_unrolled(input, h0, w_ih, w_hh, b_ih, b_hh, steps, relu)

    def retreat(state: State, saved: Any) -> tuple[State, Any]:
        _, new = saved
        flow = state[0] * ((new > 0).to(new.dtype) if relu else 1.0 - new * new)
        return (linear(flow, w_hh.T),), flow

    start = _zeros(None, steps.batch, w_hh.shape[1], input)
    (dh,), flows = _back(steps, g, (start,), saved_steps, retreat)
    flow = _rows(steps, flows)
    return kernels.recurrent.RecurrentCotangents(
        flow, flow, dh, before=_rows(steps, (before for before, _ in saved_steps))
    )


@primitive(
    mixed=False, shared=_rnn_flow, reference=_rnn_reference, label="RnnBackward0", **_RULES,
    name="rnn_tanh",
)  # fmt: skip
def rnn_layer(
    input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, steps: Steps,
    relu: bool,
) -> Value:  # fmt: skip
    """The states of an RNN."""
    return kernels.recurrent.rnn(input, h0, w_ih, w_hh, b_ih, b_hh, steps, relu)


# Long short-term memory.


def _lstm_unrolled(
    input: Tensor, h0: Tensor | None, c0: Tensor | None, w_ih: Tensor, w_hh: Tensor,
    b_ih: Tensor | None, b_hh: Tensor | None, w_hr: Tensor | None, steps: Steps,
) -> tuple[State, list[Any]]:  # fmt: skip
    """The last state, and for each step the state before, gates, tanh of the cell, raw state."""
    x = _gates(input, w_ih, b_ih, b_hh)

    def advance(rows: slice, state: State) -> tuple[State, Any]:
        h, c = state
        i, f, g, o = (x[rows] + linear(h, w_hh)).chunk(4, 1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        new_c = f * c + i * g
        t = new_c.tanh()
        raw = o * t
        new_h = raw if w_hr is None else linear(raw, w_hr)
        return (new_h, new_c), (new_h, h, c, i, f, g, o, t, raw)

    n, width = steps.batch, w_hh.shape[0] // 4
    start = (_zeros(h0, n, w_hh.shape[1], input), _zeros(c0, n, width, input))
    return _along(steps, start, advance)


def _lstm_reference(
    input: Value, h0: Value, c0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value,
    w_hr: Value, steps: Steps,
) -> Value:  # fmt: skip
    (_, c), saved_steps = _lstm_unrolled(input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, steps)
    return cat([_rows(steps, (new for new, *_ in saved_steps)).flatten(), c.flatten()])


def _lstm_flow(
    g: Value, input: Value, h0: Value, c0: Value, w_ih: Value, w_hh: Value, b_ih: Value,
    b_hh: Value, w_hr: Value, gates: Value, cells: Value, steps: Steps,
) -> RecurrentCotangents:  # fmt: skip
    if not _recorded(g, input):
        return kernels.recurrent.lstm_back(g, gates, cells, c0, w_hh, w_hr, steps)
    g, input, h0, c0, w_ih = _lifted(g, input, h0, c0, w_ih)
    w_hh, b_ih, b_hh, w_hr = _lifted(w_hh, b_ih, b_hh, w_hr)
    _, saved_steps = _lstm_unrolled(input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, steps)

    def retreat(state: State, saved: Any) -> tuple[State, Any]:
        dh, dc = state
        _, _, c, i, f, g, o, t, _ = saved
        raw = dh if w_hr is None else linear(dh, w_hr.T)
        dc = dc + raw * o * (1.0 - t * t)
        gate_gradients = [dc * g * i * (1.0 - i), dc * c * f * (1.0 - f), dc * i * (1.0 - g * g),
                 raw * t * o * (1.0 - o)]  # fmt: skip
        flow = cat(gate_gradients, 1)
        return (linear(flow, w_hh.T), dc * f), (flow, dh)

    g_out, g_cell = split_lstm(g, steps, w_hh.shape)
    state = (_zeros(None, steps.batch, w_hh.shape[1], input), g_cell)
    (dh, dc), gate_gradients = _back(steps, g_out, state, saved_steps, retreat)
    flow = _rows(steps, (flow for flow, _ in gate_gradients))
    projected = _rows(steps, (d for _, d in gate_gradients))
    before, raw = (_rows(steps, (saved[k] for saved in saved_steps)) for k in (1, -1))
    return kernels.recurrent.RecurrentCotangents(flow, flow, dh, dc, projected, before, raw)


def split_lstm(out: Value, steps: Steps, shape: tuple[int, ...]) -> tuple[Value, Value]:
    """Split the flat result of `lstm_layer` into states and last cells.

    `shape` is that of the recurrent weight.
    """
    size = steps.rows * shape[1]
    states, cells = out[:size], out[size:]
    return states.reshape((steps.rows, shape[1])), cells.reshape((steps.batch, shape[0] // 4))


def _lstm_state_weight_vjp(
    g: Value,
    shared: RecurrentCotangents,
    out: Value,
    h0: Value,
    w_hh_shape: tuple[int, ...],
    steps: Steps,
) -> Value:
    return _state_weight_vjp(shared, split_lstm(out, steps, w_hh_shape)[0], h0, steps)


def _projection_vjp(g: Value, shared: RecurrentCotangents, gates: Value, cells: Value) -> Value:
    if shared.raw is not None:
        return _outer(shared.projected, shared.raw)
    return dot(shared.projected.T, kernels.recurrent.raw_states(gates, cells))


@primitive(
    mixed=False, aux=("gates", "cells"), shared=_lstm_flow, reference=_lstm_reference,
    label="LstmBackward0", **(_RULES | {"w_hh": _lstm_state_weight_vjp}),
    c0=lambda g, shared: shared.c0, w_hr=_projection_vjp, name="lstm",
)  # fmt: skip
def lstm_layer(
    input: Value, h0: Value, c0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value,
    w_hr: Value, steps: Steps,
) -> Value:  # fmt: skip
    """The states of an LSTM followed by its last cells, in one flat row."""
    return kernels.recurrent.lstm(input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, steps)


# The gated recurrent unit.


def _gru_unrolled(
    input: Tensor, h0: Tensor | None, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None,
    b_hh: Tensor | None, steps: Steps,
) -> list[Any]:  # fmt: skip
    """For each step the state before and after, gates, and the state's part in the last gate."""
    x = _gates(input, w_ih, b_ih)

    def advance(rows: slice, state: State) -> tuple[State, Any]:
        (h,) = state
        x_r, x_z, x_n = x[rows].chunk(3, 1)
        h_r, h_z, inner = linear(h, w_hh, b_hh).chunk(3, 1)
        r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
        n = (x_n + r * inner).tanh()
        new = n + z * (h - n)
        return (new,), (new, h, r, z, n, inner)

    return _along(steps, (_zeros(h0, steps.batch, w_hh.shape[1], input),), advance)[1]


def _gru_reference(
    input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, steps: Steps
) -> Value:
    saved_steps = _gru_unrolled(input, h0, w_ih, w_hh, b_ih, b_hh, steps)
    return _rows(steps, (new for new, *_ in saved_steps))


def _gru_flow(
    g: Value, input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value,
    out: Value, gates: Value, inner: Value, steps: Steps,
) -> RecurrentCotangents:  # fmt: skip
    if not _recorded(g, input):
        return kernels.recurrent.gru_back(g, out, gates, inner, h0, w_hh, steps)
    g, input, h0, w_ih, w_hh, b_ih, b_hh = _lifted(g, input, h0, w_ih, w_hh, b_ih, b_hh)
    saved_steps = _gru_unrolled(input, h0, w_ih, w_hh, b_ih, b_hh, steps)

    def retreat(state: State, saved: Any) -> tuple[State, Any]:
        (dh,) = state
        _, h, r, z, n, inner = saved
        d_n = dh * (1.0 - z) * (1.0 - n * n)
        d_r, d_z = d_n * inner * r * (1.0 - r), dh * (h - n) * z * (1.0 - z)
        from_state = cat([d_r, d_z, d_n * r], 1)
        return (dh * z + linear(from_state, w_hh.T),), (cat([d_r, d_z, d_n], 1), from_state)

    start = _zeros(None, steps.batch, w_hh.shape[1], input)
    (dh,), gate_gradients = _back(steps, g, (start,), saved_steps, retreat)
    flow, from_state = (_rows(steps, (pair[k] for pair in gate_gradients)) for k in (0, 1))
    return kernels.recurrent.RecurrentCotangents(
        flow, from_state, dh, before=_rows(steps, (saved[1] for saved in saved_steps))
    )


@primitive(
    mixed=False, aux=("gates", "inner"), shared=_gru_flow, reference=_gru_reference,
    label="GruBackward0", **_RULES, name="gru",
)  # fmt: skip
def gru_layer(
    input: Value, h0: Value, w_ih: Value, w_hh: Value, b_ih: Value, b_hh: Value, steps: Steps
) -> Value:
    """The states of a GRU."""
    return kernels.recurrent.gru(input, h0, w_ih, w_hh, b_ih, b_hh, steps)


# Single steps, from the contributions of input and state to the gates.


def lstm_step_reference(x: Value, product: Value, before: Value) -> tuple[Value, Value]:
    """State and cell after a step."""
    i, f, g, o = (x + product).chunk(4, -1)
    cell = f.sigmoid() * before + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _lstm_step_flow(
    g: Value, out: Value, gates: Value, x: Value, product: Value, before: Value
) -> RecurrentCotangents:
    if not _recorded(g, x):
        g_gates, g_cell = kernels.recurrent.lstm_step_back(g, out, gates, before)
        return kernels.recurrent.RecurrentCotangents(g_gates, g_gates, None, g_cell)
    g, x, product, before = _lifted(g, x, product, before)
    i, f, n, o = (x + product).chunk(4, -1)
    i, f, n, o = i.sigmoid(), f.sigmoid(), n.tanh(), o.sigmoid()
    t = (f * before + i * n).tanh()
    dc = g[1] + g[0] * o * (1.0 - t * t)
    gate_gradients = [dc * n * i * (1.0 - i), dc * before * f * (1.0 - f), dc * i * (1.0 - n * n),
             g[0] * t * o * (1.0 - o)]  # fmt: skip
    flow = cat(gate_gradients, -1)
    return kernels.recurrent.RecurrentCotangents(flow, flow, None, dc * f)


@primitive(
    mixed=False, aux=("gates",), shared=_lstm_step_flow,
    reference=lambda x, product, before: stack(lstm_step_reference(x, product, before)),
    label="LstmCellBackward0",
    x=lambda g, shared: shared.gates,
    product=lambda g, shared: shared.from_state,
    before=lambda g, shared: shared.c0,
    name="lstm_cell",
)  # fmt: skip
def lstm_step(x: Value, product: Value, before: Value) -> Value:
    """State and cell after a step, concatenated."""
    return kernels.recurrent.lstm_step(x, product, before)


def gru_step_reference(x: Value, product: Value, before: Value) -> Value:
    """The state after a step."""
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, inner = product.chunk(3, -1)
    r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    new = (x_n + r * inner).tanh()
    return new + z * (before - new)


def _gru_step_flow(
    g: Value, gates: Value, inner: Value, x: Value, product: Value, before: Value
) -> RecurrentCotangents:
    if not _recorded(g, x):
        return kernels.recurrent.RecurrentCotangents(
            *kernels.recurrent.gru_step_back(g, gates, inner, before)
        )
    g, x, product, before = _lifted(g, x, product, before)
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = product.chunk(3, -1)
    r, z = (x_r + h_r).sigmoid(), (x_z + h_z).sigmoid()
    n = (x_n + r * h_n).tanh()
    d_n = g * (1.0 - z) * (1.0 - n * n)
    d_r, d_z = d_n * h_n * r * (1.0 - r), g * (before - n) * z * (1.0 - z)
    return kernels.recurrent.RecurrentCotangents(
        cat([d_r, d_z, d_n], -1), cat([d_r, d_z, d_n * r], -1), g * z
    )


@primitive(
    mixed=False, aux=("gates", "inner"), shared=_gru_step_flow, reference=gru_step_reference,
    label="GruCellBackward0",
    x=lambda g, shared: shared.gates,
    product=lambda g, shared: shared.from_state,
    before=lambda g, shared: shared.h0,
    name="gru_cell",
    layout=("before",),
)  # fmt: skip
def gru_step(x: Value, product: Value, before: Value) -> Value:
    """The state after a step."""
    return kernels.recurrent.gru_step(x, product, before)
