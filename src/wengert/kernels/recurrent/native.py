"""Recurrent layers over whole sequences in one call each: forward, and back through time.

Sequences are independent, so a thread takes some of them through all steps. The recurrent weight
is packed in panels with the columns of a product tile.

Index layout, with `w` the hidden size: gates are (row, gate, w), cells and outputs (row, w), where
row ``firsts[step] + sequence`` of the packed layout exists for the first `counts[step]` sequences.
`h`, `c` and `product` are per sequence. `wide` is the gates' width, rounded up to whole panels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.chunks import real_of
from wengert.kernels.derived import derived
from wengert.kernels.jit import CHUNK, LARGE, Kernel, available, kernel
from wengert.kernels.jit.builtins import apart, at, f32s, fabs, i64, i64s, inline, real, reals
from wengert.kernels.jit.mathlib import exp_bounded, tanh
from wengert.kernels.products.tiles import COLUMNS, PANELS, multiply, row_times
from wengert.kernels.recurrent.steps import Steps

Array = np.ndarray

# Sequences per thread.
_SEQUENCES = 16


def native(x: Array, w_hh: Array) -> bool:
    """Whether kernels compute a layer; `x` has its rows."""
    return len(x) * len(w_hh) >= LARGE and x.dtype == np.float32 and available()


def native_step(*arrays: Array) -> bool:
    """Whether kernels compute a step: the first array is the input's contribution to the gates."""
    return arrays[0].size >= LARGE and real_of(*arrays) is not None


@apart
def _times(
    a: f32s, lda: i64, panels: f32s, out: f32s, ldo: i64, rows: i64, depth: i64, add: i64
) -> None:
    """out = a @ the matrix in panels, or out += with `add`."""
    done = 0
    if rows == 1:
        done = ldo // (PANELS * COLUMNS) * (PANELS * COLUMNS)
        for p in range(0, done, PANELS * COLUMNS):
            row_times(a, at(panels, p * depth), COLUMNS * depth, at(out, p), depth, add)
    for p in range(done, ldo, COLUMNS):
        multiply(a, lda, 1, at(panels, p * depth), COLUMNS, at(out, p), ldo, rows, depth, add)


@inline
def _gate(x: real) -> real:
    """1 / (1 + exp(-x)), by an exponential that neither overflows nor is subnormal."""
    e = exp_bounded(-fabs(x))
    y = 1.0 / (1.0 + e)
    return y if x >= 0.0 else e * y


@inline
def _copy(a: f32s, b: f32s, count: i64) -> None:
    for i in range(count):
        b[i] = a[i]


@apart
def _lstm_row(
    x: reals,
    product: reals,
    bias: reals,
    before: reals,
    gates: reals,
    cell: reals,
    h: reals,
    w: i64,
) -> None:
    """A step of one sequence; the gates may overwrite the input's contribution."""
    for k in range(w):
        i = _gate(x[k] + product[k] + bias[k])
        f = _gate(x[w + k] + product[w + k] + bias[w + k])
        g = tanh(x[2 * w + k] + product[2 * w + k] + bias[2 * w + k])
        o = _gate(x[3 * w + k] + product[3 * w + k] + bias[3 * w + k])
        new = f * before[k] + i * g
        gates[k] = i
        gates[w + k] = f
        gates[2 * w + k] = g
        gates[3 * w + k] = o
        cell[k] = new
        h[k] = o * tanh(new)


@kernel
def _lstm(
    gates: f32s, panels: f32s, bias: f32s, h: f32s, c: f32s, product: f32s, out: f32s,
    cells: f32s, firsts: i64s, counts: i64s, steps: i64, w: i64, wide: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Some sequences of an LSTM; `h` and `c` are the initial states, updated to the final ones."""
    for s in range(steps):
        active = min(stop, counts[s]) - start
        if active > 0:
            _times(at(h, start * w), w, panels, at(product, start * wide), wide, active, w, 0)
            for b in range(start, start + active):
                row = firsts[s] + b
                _lstm_row(
                    at(gates, row * 4 * w), at(product, b * wide), bias, at(c, b * w),
                    at(gates, row * 4 * w), at(cells, row * w), at(out, row * w), w,
                )  # fmt: skip
                _copy(at(out, row * w), at(h, b * w), w)
                _copy(at(cells, row * w), at(c, b * w), w)


@kernel
def lstm_rows(
    x: reals, product: reals, bias: reals, before: reals, gates: reals, out: reals, cell: reals,
    w: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """One step of an LSTM."""
    for b in range(start, stop):
        _lstm_row(
            at(x, b * 4 * w), at(product, b * 4 * w), bias, at(before, b * w),
            at(gates, b * 4 * w), at(cell, b * w), at(out, b * w), w,
        )  # fmt: skip


@apart
def _lstm_row_back(
    gates: reals, cell: reals, before: reals, g: reals, dh: reals, dc: reals, flow: reals, w: i64
) -> None:
    """Pull back one step of one sequence; `dc` moves one step back."""
    for k in range(w):
        i = gates[k]
        f = gates[w + k]
        n = gates[2 * w + k]
        o = gates[3 * w + k]
        t = tanh(cell[k])
        d = dh[k] + g[k]
        dcell = dc[k] + d * o * (1.0 - t * t)
        flow[k] = dcell * n * i * (1.0 - i)
        flow[w + k] = dcell * before[k] * f * (1.0 - f)
        flow[2 * w + k] = dcell * i * (1.0 - n * n)
        flow[3 * w + k] = d * t * o * (1.0 - o)
        dc[k] = dcell * f


@kernel
def _lstm_back(
    gates: f32s, cells: f32s, c0: f32s, panels: f32s, g: f32s, dh: f32s, dc: f32s, flow: f32s,
    firsts: i64s, counts: i64s, steps: i64, w: i64, wide: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The backward pass of some sequences of an LSTM."""
    for k in range(steps):
        s = steps - 1 - k
        active = min(stop, counts[s]) - start
        if active > 0:
            for b in range(start, start + active):
                row = firsts[s] + b
                if s > 0 and counts[max(s - 1, 0)] > b:
                    _lstm_row_back(
                        at(gates, row * 4 * w), at(cells, row * w),
                        at(cells, (firsts[s - 1] + b) * w), at(g, row * w), at(dh, b * wide),
                        at(dc, b * w), at(flow, row * 4 * w), w,
                    )  # fmt: skip
                else:
                    _lstm_row_back(
                        at(gates, row * 4 * w), at(cells, row * w), at(c0, b * w),
                        at(g, row * w), at(dh, b * wide), at(dc, b * w), at(flow, row * 4 * w), w,
                    )  # fmt: skip
            first = (firsts[s] + start) * 4 * w
            _times(at(flow, first), 4 * w, panels, at(dh, start * wide), wide, active, 4 * w, 0)


@kernel
def lstm_rows_back(
    gates: reals, cell: reals, before: reals, g: reals, none: reals, dc: reals, flow: reals, w: i64,
    start: i64, stop: i64,
) -> None:  # fmt: skip
    """The backward pass of one step of an LSTM; `none` is a row of zeros."""
    for b in range(start, stop):
        _lstm_row_back(
            at(gates, b * 4 * w), at(cell, b * w), at(before, b * w), at(g, b * w), none,
            at(dc, b * w), at(flow, b * 4 * w), w,
        )  # fmt: skip


@apart
def _gru_row(
    x: reals, product: reals, bias: reals, inner_bias: reals, before: reals, gates: reals,
    inner: reals, out: reals, w: i64,
) -> None:  # fmt: skip
    """A step of one sequence; the gates may overwrite the input's contribution."""
    for k in range(w):
        r = _gate(x[k] + product[k] + bias[k])
        z = _gate(x[w + k] + product[w + k] + bias[w + k])
        s = product[2 * w + k] + inner_bias[k]
        n = tanh(x[2 * w + k] + bias[2 * w + k] + r * s)
        gates[k] = r
        gates[w + k] = z
        gates[2 * w + k] = n
        inner[k] = s
        out[k] = n + z * (before[k] - n)


@kernel
def _gru(
    gates: f32s, panels: f32s, bias: f32s, inner_bias: f32s, h: f32s, product: f32s, inner: f32s,
    out: f32s, firsts: i64s, counts: i64s, steps: i64, w: i64, wide: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Some sequences of a GRU; `h` is their initial state, updated to the final one."""
    for s in range(steps):
        active = min(stop, counts[s]) - start
        if active > 0:
            _times(at(h, start * w), w, panels, at(product, start * wide), wide, active, w, 0)
            for b in range(start, start + active):
                row = firsts[s] + b
                _gru_row(
                    at(gates, row * 3 * w), at(product, b * wide), bias, inner_bias,
                    at(h, b * w), at(gates, row * 3 * w), at(inner, row * w),
                    at(out, row * w), w,
                )  # fmt: skip
                _copy(at(out, row * w), at(h, b * w), w)


@kernel
def gru_rows(
    x: reals, product: reals, bias: reals, before: reals, gates: reals, inner: reals, out: reals,
    w: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """One step of a GRU, both biases of which are `bias`."""
    for b in range(start, stop):
        _gru_row(
            at(x, b * 3 * w), at(product, b * 3 * w), bias, bias, at(before, b * w),
            at(gates, b * 3 * w), at(inner, b * w), at(out, b * w), w,
        )  # fmt: skip


@apart
def _gru_row_back(
    gates: reals,
    inner: reals,
    before: reals,
    g: reals,
    dh: reals,
    flow: reals,
    from_state: reals,
    w: i64,
) -> None:
    """Pull back one step of one sequence; `dh` moves past the state's gates."""
    for k in range(w):
        r = gates[k]
        z = gates[w + k]
        n = gates[2 * w + k]
        d = dh[k] + g[k]
        d_new = d * (1.0 - z) * (1.0 - n * n)
        d_z = d * (before[k] - n) * z * (1.0 - z)
        d_r = d_new * inner[k] * r * (1.0 - r)
        flow[k] = d_r
        flow[w + k] = d_z
        flow[2 * w + k] = d_new
        from_state[k] = d_r
        from_state[w + k] = d_z
        from_state[2 * w + k] = d_new * r
        dh[k] = d * z


@kernel
def _gru_back(
    gates: f32s, inner: f32s, out: f32s, h0: f32s, panels: f32s, g: f32s, dh: f32s, flow: f32s,
    from_state: f32s, firsts: i64s, counts: i64s, steps: i64, w: i64, wide: i64, start: i64,
    stop: i64,
) -> None:  # fmt: skip
    """The backward pass of some sequences of a GRU."""
    for k in range(steps):
        s = steps - 1 - k
        active = min(stop, counts[s]) - start
        if active > 0:
            for b in range(start, start + active):
                row = firsts[s] + b
                if s > 0 and counts[max(s - 1, 0)] > b:
                    _gru_row_back(
                        at(gates, row * 3 * w), at(inner, row * w),
                        at(out, (firsts[s - 1] + b) * w), at(g, row * w), at(dh, b * wide),
                        at(flow, row * 3 * w), at(from_state, row * 3 * w), w,
                    )  # fmt: skip
                else:
                    _gru_row_back(
                        at(gates, row * 3 * w), at(inner, row * w), at(h0, b * w),
                        at(g, row * w), at(dh, b * wide), at(flow, row * 3 * w),
                        at(from_state, row * 3 * w), w,
                    )  # fmt: skip
            first = (firsts[s] + start) * 3 * w
            _times(
                at(from_state, first), 3 * w, panels, at(dh, start * wide), wide, active, 3 * w, 1
            )


@kernel
def gru_rows_back(
    gates: reals, inner: reals, before: reals, g: reals, dh: reals, flow: reals, from_state: reals,
    w: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The backward pass of one step of a GRU; `dh` is initially zero."""
    for b in range(start, stop):
        _gru_row_back(
            at(gates, b * 3 * w), at(inner, b * w), at(before, b * w), at(g, b * w),
            at(dh, b * w), at(flow, b * 3 * w), at(from_state, b * 3 * w), w,
        )  # fmt: skip


@apart
def _rnn_row(x: f32s, product: f32s, bias: f32s, h: f32s, relu: i64, w: i64) -> None:
    if relu != 0:
        for k in range(w):
            total = x[k] + product[k] + bias[k]
            total = 0.0 if total < 0.0 else total
            x[k] = total
            h[k] = total
    else:
        for k in range(w):
            total = tanh(x[k] + product[k] + bias[k])
            x[k] = total
            h[k] = total


@kernel
def _rnn(
    out: f32s, panels: f32s, bias: f32s, h: f32s, product: f32s, firsts: i64s, counts: i64s,
    steps: i64, w: i64, wide: i64, relu: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Some sequences of an RNN: the states overwrite the input's contribution."""
    for s in range(steps):
        active = min(stop, counts[s]) - start
        if active > 0:
            _times(at(h, start * w), w, panels, at(product, start * wide), wide, active, w, 0)
            for b in range(start, start + active):
                row = firsts[s] + b
                _rnn_row(at(out, row * w), at(product, b * wide), bias, at(h, b * w), relu, w)


@kernel
def _rnn_back(
    out: f32s, panels: f32s, g: f32s, dh: f32s, flow: f32s, firsts: i64s, counts: i64s,
    steps: i64, w: i64, wide: i64, relu: i64, start: i64, stop: i64,
) -> None:  # fmt: skip
    """The backward pass of some sequences of an RNN."""
    for k in range(steps):
        s = steps - 1 - k
        active = min(stop, counts[s]) - start
        if active > 0:
            first = (firsts[s] + start) * w
            for b in range(active):
                for i in range(w):
                    h = out[first + b * w + i]
                    slope = (1.0 if h > 0.0 else 0.0) if relu != 0 else 1.0 - h * h
                    d = dh[(start + b) * wide + i] + g[first + b * w + i]
                    flow[first + b * w + i] = d * slope
            _times(at(flow, first), w, panels, at(dh, start * wide), wide, active, w, 0)


def _packed(weight: Array, turned: bool) -> Array:
    """The panels of a weight, or of its transpose."""
    return derived(weight, ("panels", turned), lambda: _panels(weight.T if turned else weight))


def _panels(matrix: Array) -> Array:
    """A matrix packed as (columns / COLUMNS, rows, COLUMNS), zero-padded after the last column."""
    rows, columns = matrix.shape
    count = -(-columns // COLUMNS)
    if columns % COLUMNS:
        matrix = np.pad(matrix, ((0, 0), (0, count * COLUMNS - columns)))
    return np.ascontiguousarray(matrix.reshape(rows, count, COLUMNS).swapaxes(0, 1))


def _summed(width: int, *biases: Array | None) -> Array:
    """The sum of the biases that are given."""
    total = np.zeros(width, np.float32)
    for bias in biases:
        if bias is not None:
            total += bias
    return total


def _state(state: Array | None, rows: int, width: int) -> Array:
    """An initial state to be read."""
    return np.zeros((rows, width), np.float32) if state is None else np.ascontiguousarray(state)


def _room(columns: int) -> int:
    return -(-columns // COLUMNS) * COLUMNS


def _product(steps: Steps, panels: Array) -> Array:
    """Memory for the product of the states of all sequences and a weight."""
    return np.empty((steps.batch, len(panels) * COLUMNS), np.float32)


def lstm(
    gates: Array, h0: Array | None, c0: Array | None, w_hh: Array, b_ih: Array | None,
    b_hh: Array | None, steps: Steps,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """As `recurrent.lstm` without a projection, from the input's contribution to the gates."""
    width, n = w_hh.shape[1], steps.batch
    flat = np.empty((steps.rows + n) * width, np.float32)
    last = flat[steps.rows * width :].reshape(n, width)
    last[...] = 0 if c0 is None else c0
    cells, panels = np.empty((steps.rows, width), np.float32), _packed(w_hh, turned=True)
    product = _product(steps, panels)
    _lstm.f32(
        gates, panels, _summed(4 * width, b_ih, b_hh), _state(h0, n, width).copy(), last,
        product, flat, cells, *steps.table, len(steps.sizes), width, product.shape[1], n,
        _SEQUENCES,
    )  # fmt: skip
    return flat, gates, cells


def lstm_back(
    g: Array, gates: Array, cells: Array, c0: Array | None, w_hh: Array, steps: Steps
) -> tuple[Array, Array, Array]:
    """Pull back a cotangent of the first result of `lstm` to gates, initial state and cell."""
    g, (rows, width) = np.ascontiguousarray(g), cells.shape
    dc = np.array(g[rows * width :].reshape(-1, width))
    flow, dh = np.empty_like(gates), np.zeros((steps.batch, _room(width)), np.float32)
    _lstm_back.f32(
        gates, cells, _state(c0, steps.batch, width), _packed(w_hh, turned=False), g, dh, dc, flow,
        *steps.table, len(steps.sizes), width, dh.shape[1], steps.batch, _SEQUENCES,
    )  # fmt: skip
    return flow, dh[:, :width], dc


def gru(
    gates: Array, h0: Array | None, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    steps: Steps,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """As `recurrent.gru`, from the input's contribution to the gates."""
    rows, width = len(gates), w_hh.shape[1]
    out, inner = (np.empty((rows, width), np.float32) for _ in range(2))
    bias, inner_bias = _summed(3 * width, b_ih), _summed(3 * width, b_hh)
    bias[: 2 * width] += inner_bias[: 2 * width]
    panels = _packed(w_hh, turned=True)
    product = _product(steps, panels)
    _gru.f32(
        gates, panels, bias, inner_bias[2 * width :], _state(h0, steps.batch, width).copy(),
        product, inner, out, *steps.table, len(steps.sizes), width, product.shape[1],
        steps.batch, _SEQUENCES,
    )  # fmt: skip
    return out, gates, inner


def gru_back(
    g: Array, out: Array, gates: Array, inner: Array, h0: Array | None, w_hh: Array, steps: Steps
) -> tuple[Array, Array, Array]:
    """Pull back a cotangent of the states to gates, by input and state, and the initial state."""
    g = np.ascontiguousarray(g)
    width, flow, from_state = w_hh.shape[1], np.empty_like(gates), np.empty_like(gates)
    dh = np.zeros((steps.batch, _room(width)), np.float32)
    _gru_back.f32(
        gates, inner, out, _state(h0, steps.batch, width), _packed(w_hh, turned=False), g, dh, flow,
        from_state, *steps.table, len(steps.sizes), width, dh.shape[1], steps.batch, _SEQUENCES,
    )  # fmt: skip
    return flow, from_state, dh[:, :width]


def rnn(
    out: Array, h0: Array | None, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    steps: Steps, relu: bool,
) -> Array:  # fmt: skip
    """As `recurrent.rnn`, from the input's contribution to the states."""
    width, panels = w_hh.shape[1], _packed(w_hh, turned=True)
    product = _product(steps, panels)
    _rnn.f32(
        out, panels, _summed(width, b_ih, b_hh), _state(h0, steps.batch, width).copy(),
        product, *steps.table, len(steps.sizes), width, product.shape[1], relu, steps.batch,
        _SEQUENCES,
    )  # fmt: skip
    return out


def rnn_back(g: Array, out: Array, w_hh: Array, steps: Steps, relu: bool) -> tuple[Array, Array]:
    """Pull back a cotangent of the states to all states and the initial one."""
    g = np.ascontiguousarray(g)
    width, flow = w_hh.shape[1], np.empty_like(out)
    dh = np.zeros((steps.batch, _room(width)), np.float32)
    _rnn_back.f32(
        out, _packed(w_hh, turned=False), g, dh, flow, *steps.table, len(steps.sizes), width,
        dh.shape[1], relu, steps.batch, _SEQUENCES,
    )  # fmt: skip
    return flow, dh[:, :width]


# Single steps. The gates already include their biases.


def _rows_of(state: Array) -> tuple[int, int]:
    """The number of rows of a state with any number of dimensions, and their width."""
    return state.size // state.shape[-1], state.shape[-1]


def _of(step: Kernel, like: Array) -> Any:
    """A kernel of steps for arrays like this one, which `native_step` has accepted."""
    return getattr(step, str(real_of(like)))


def step_chunk(width: int) -> int:
    """The rows of one step per thread."""
    return -(-CHUNK // (4 * width))


def lstm_step(x: Array, product: Array, before: Array) -> tuple[Array, Array]:
    """State and cell, concatenated, and the gates."""
    rows, width = _rows_of(before)
    out, gates = np.empty((2, *before.shape), before.dtype), np.empty_like(x)
    bias = np.zeros(4 * width, before.dtype)
    _of(lstm_rows, before)(
        x, product, bias, before, gates, out[0], out[1], width, rows, step_chunk(width)
    )
    return out, gates


def lstm_step_back(g: Array, out: Array, gates: Array, before: Array) -> tuple[Array, Array]:
    """Pull back a cotangent of the first result of `lstm_step` to gates and cell."""
    rows, width = _rows_of(before)
    dc, flow = g[1].copy(), np.empty_like(gates)
    none = np.zeros(width, before.dtype)
    _of(lstm_rows_back, before)(
        gates, out[1], before, g[0], none, dc, flow, width, rows, step_chunk(width)
    )
    return flow, dc


def gru_step(x: Array, product: Array, before: Array) -> tuple[Array, Array, Array]:
    """The state, the gates, and the state's contribution to the last gate."""
    rows, width = _rows_of(before)
    out, inner = np.empty_like(before), np.empty_like(before)
    gates, bias = np.empty_like(x), np.zeros(3 * width, before.dtype)
    _of(gru_rows, before)(
        x, product, bias, before, gates, inner, out, width, rows, step_chunk(width)
    )
    return out, gates, inner


def gru_step_back(
    g: Array, gates: Array, inner: Array, before: Array
) -> tuple[Array, Array, Array]:
    """Pull back a cotangent of the state to both contributions to the gates, and to the state."""
    rows, width = _rows_of(before)
    flow, from_state = np.empty_like(gates), np.empty_like(gates)
    dh = np.zeros_like(before)
    _of(gru_rows_back, before)(
        gates, inner, before, g, dh, flow, from_state, width, rows, step_chunk(width)
    )
    return flow, from_state, dh
