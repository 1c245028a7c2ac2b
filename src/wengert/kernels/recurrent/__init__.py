"""Recurrent layers over whole sequences, one direction at a time: forward, and back through time.

Sequences are packed: the rows of a step are consecutive, longest sequence first, so that the
sequences still running at a step are its first rows. The input's contribution to the gates of all
steps is one matrix product, and so is the gradient of each weight; only the product of state and
recurrent weight is computed step by step: by kernels (`recurrent.native`), or by NumPy. The gates
of a row are adjacent, in PyTorch's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.products.blas import dot, threads_for
from wengert.kernels.recurrent import native as recurrent_native
from wengert.kernels.recurrent.steps import Steps

Array = np.ndarray

# Gate elements differentiated at once.
_BLOCK = 1 << 16


class RecurrentCotangents(NamedTuple):
    """The cotangents computed by backpropagation through time.

    Attributes:
        gates: the cotangent of the contribution of input and its bias to the gates.
        from_state: that of the contribution of state and its bias.
        h0, c0: those of the initial state.
        projected: that of the projected state of each row.
        before: the state each row started from, if derivatives are recorded.
        raw: the state before its projection, if derivatives are recorded.
    """

    gates: Any
    from_state: Any
    h0: Any
    c0: Any = None
    projected: Any = None
    before: Any = None
    raw: Any = None


def _from_input(x: Array, weight: Array, *biases: Array | None) -> Array:
    """The input's contribution to the gates of all steps."""
    gates: Array = dot(x, weight.T)
    for bias in biases:
        if bias is not None:
            gates += bias
    return gates


def _start(state: Array | None, shape: tuple[int, int], dtype: np.dtype[Any]) -> Array:
    """A writable copy of an initial state."""
    return np.zeros(shape, dtype) if state is None else np.array(state)


def _sigmoid_of_less(x: Array) -> None:
    """The sigmoid of -x, in place. Where exp(x) overflows, 1 / inf is the right answer."""
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def state_weight_gradient(flow: Array, out: Array, h0: Array | None, steps: Steps) -> Array:
    """The gradient of a weight that multiplies the state each row started from."""
    rows, before = steps.links
    total: Array = dot(flow[rows].T, out[before])
    if h0 is not None:
        total += dot(flow[steps.begin].T, h0)
    return total


def rnn(
    x: Array, h0: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    steps: Steps, relu: bool,
) -> Array:  # fmt: skip
    """The states of an RNN."""
    if recurrent_native.native(x, w_hh):
        return recurrent_native.rnn(dot(x, w_ih.T), h0, w_hh, b_ih, b_hh, steps, relu)
    out = _from_input(x, w_ih, b_ih, b_hh)
    width, n = w_hh.shape[0], steps.batch
    h, scratch = _start(h0, (n, width), out.dtype), np.empty((n, width), out.dtype)
    with threads_for(n * w_hh.size):
        for rows, n in steps.order:
            here = out[rows]
            here += np.dot(h[:n], w_hh.T, out=scratch[:n])
            if relu:
                np.maximum(here, 0, out=here)
            else:
                np.tanh(here, out=here)
            h[:n] = here
    return out


def rnn_back(g: Array, out: Array, w_hh: Array, steps: Steps, relu: bool) -> RecurrentCotangents:
    """Pull back a cotangent of the states of an RNN."""
    if recurrent_native.native(out, w_hh):
        flow, dh = recurrent_native.rnn_back(g, out, w_hh, steps, relu)
        return RecurrentCotangents(flow, flow, dh)
    flow, width, n = np.empty_like(out), w_hh.shape[1], steps.batch
    dh = np.zeros((n, width), out.dtype)
    with threads_for(n * w_hh.size):
        for rows, n in reversed(steps.order):
            here, h, d = flow[rows], out[rows], dh[:n]
            d += g[rows]
            if relu:
                np.multiply(d, h > 0, out=here)
            else:
                np.multiply(h, h, out=here)
                np.subtract(1, here, out=here)
                here *= d
            np.dot(here, w_hh, out=d)
    return RecurrentCotangents(flow, flow, dh)


def lstm(
    x: Array, h0: Array | None, c0: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None,
    b_hh: Array | None, w_hr: Array | None, steps: Steps,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The states of an LSTM followed by its last cells in one flat row, its gates, its cells."""
    if w_hr is None and recurrent_native.native(x, w_hh):
        return recurrent_native.lstm(dot(x, w_ih.T), h0, c0, w_hh, b_ih, b_hh, steps)
    # Gates hold their negated inputs until the exponential.
    gates = _from_input(x, w_ih, b_ih, b_hh)
    np.negative(gates, out=gates)
    dtype, n, width, projected = gates.dtype, steps.batch, w_hh.shape[0] // 4, w_hh.shape[1]
    cells = np.empty((len(x), width), dtype)
    flat = np.empty(len(x) * projected + n * width, dtype)
    out = flat[: len(x) * projected].reshape(len(x), projected)
    last = flat[len(x) * projected :].reshape(n, width)
    first_h, first_c = _start(h0, (n, projected), dtype), _start(c0, (n, width), dtype)
    h, c = first_h[: steps.order[0][1]], first_c[: steps.order[0][1]]
    scratch, product = np.empty((n, 4 * width), dtype), np.empty((n, width), dtype)
    with threads_for(n * w_hh.size):
        for rows, n in steps.order:
            if n != len(h):
                last[n : len(c)] = c[n:]
                h, c = _resized(h, first_h, n), _resized(c, first_c, n)
            here, cell, part = gates[rows], cells[rows], product[:n]
            here -= np.dot(h, w_hh.T, out=scratch[:n])
            new = here[:, 2 * width : 3 * width]
            # The sigmoid of all four gates is cheaper than of three that are not contiguous.
            np.tanh(new, out=part)
            _sigmoid_of_less(here)
            np.negative(part, out=new)
            part *= here[:, :width]
            np.multiply(c, here[:, width : 2 * width], out=cell)
            cell -= part
            np.tanh(cell, out=part)
            h, c = out[rows], cell
            if w_hr is None:
                np.multiply(part, here[:, 3 * width :], out=h)
            else:
                part *= here[:, 3 * width :]
                np.dot(part, w_hr.T, out=h)
    last[: len(c)] = c
    return flat, gates, cells


def _resized(state: Array, first: Array, n: int) -> Array:
    """The state of `n` sequences: with some dropped, or some starting."""
    return state[:n] if n < len(state) else np.concatenate([state, first[len(state) : n]])


def _before(states: Array, first: Array | None, steps: Steps) -> Array:
    """The state each row started from."""
    before = np.empty_like(states)
    rows, earlier = steps.links
    before[rows] = states[earlier]
    before[steps.begin] = 0 if first is None else first
    return before


def lstm_back(
    g: Array, gates: Array, cells: Array, c0: Array | None, w_hh: Array, w_hr: Array | None,
    steps: Steps,
) -> RecurrentCotangents:  # fmt: skip
    """Pull back a cotangent of the first result of `lstm`."""
    if w_hr is None and recurrent_native.native(gates, w_hh):
        flow, dh, dc = recurrent_native.lstm_back(g, gates, cells, c0, w_hh, steps)
        return RecurrentCotangents(flow, flow, dh, dc)
    count, width = cells.shape
    n, dtype, projected = steps.batch, gates.dtype, w_hh.shape[1]
    g_out = g[: count * projected].reshape(count, projected)
    dc = np.array(g[count * projected :].reshape(n, width))
    dh = np.zeros((n, projected), dtype)
    flow, before = np.empty_like(gates), _before(cells, c0, steps)
    g_projected = None if w_hr is None else np.empty((count, projected), dtype)
    raw, scratch = (np.empty((n, width), dtype) for _ in range(2))
    with threads_for(n * w_hh.size):
        for part, inside in _blocks(steps, 4 * width):
            slope = _lstm_slopes(flow[part], gates[part], cells[part], before[part])
            factors, forget = flow[part].reshape(-1, 4, width), gates[part, width : 2 * width]
            for rows, n in inside:
                here, d, dcell, draw = factors[rows], dh[:n], dc[:n], dh[:n]
                d += g_out[part][rows]
                if w_hr is not None and g_projected is not None:
                    g_projected[part][rows] = d
                    draw = np.dot(d, w_hr, out=raw[:n])
                dcell += np.multiply(slope[rows], draw, out=scratch[:n])
                here[:, :3] *= dcell[:, None]
                here[:, 3] *= draw
                dcell *= forget[rows]
                np.dot(flow[part][rows], w_hh, out=d)
    return RecurrentCotangents(flow, flow, dh, dc, g_projected)


def _blocks(steps: Steps, width: int) -> Iterator[tuple[slice, list[tuple[slice, int]]]]:
    """Blocks of rows of as many steps as fit the cache, last steps first, with their steps.

    Rows of a step are numbered from the start of its block.
    """
    order, most = steps.order[::-1], max(1, _BLOCK // max(1, steps.batch * width))
    for k in range(0, len(order), most):
        inside = order[k : k + most]
        start, stop = min(r.start for r, _ in inside), max(r.stop for r, _ in inside)
        yield slice(start, stop), [(slice(r.start - start, r.stop - start), n) for r, n in inside]


def _lstm_slopes(flow: Array, gates: Array, cells: Array, before: Array) -> Array:
    """The derivatives of cells (of states, for the last gate) by gates; of states by cells."""
    width = cells.shape[1]
    i, _, g, o = (gates[:, k : k + width] for k in range(0, 4 * width, width))
    by_i, by_f, by_g, by_o = (flow[:, k : k + width] for k in range(0, 4 * width, width))
    np.subtract(1, gates, out=flow)
    flow *= gates
    by_i *= g
    by_f *= before
    np.multiply(g, g, out=by_g)
    np.subtract(1, by_g, out=by_g)
    by_g *= i
    slope = np.tanh(cells)
    by_o *= slope
    np.multiply(slope, slope, out=slope)
    np.subtract(1, slope, out=slope)
    slope *= o
    return slope


def raw_states(gates: Array, cells: Array) -> Array:
    """The states of an LSTM before their projection."""
    out = np.tanh(cells)
    out *= gates[:, 3 * cells.shape[1] :]
    return out


def gru(
    x: Array, h0: Array | None, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None,
    steps: Steps,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """The states of a GRU, its gates, and the state's contribution to the last gate."""
    if recurrent_native.native(x, w_hh):
        return recurrent_native.gru(dot(x, w_ih.T), h0, w_hh, b_ih, b_hh, steps)
    gates = _from_input(x, w_ih, b_ih)
    dtype, n, width = gates.dtype, steps.batch, w_hh.shape[1]
    out, inner = np.empty((len(x), width), dtype), np.empty((len(x), width), dtype)
    h, scratch = _start(h0, (n, width), dtype), np.empty((n, 3 * width), dtype)
    product = np.empty((n, width), dtype)
    with threads_for(n * w_hh.size):
        for rows, n in steps.order:
            here, state, part = gates[rows], h[:n], product[:n]
            added = np.dot(state, w_hh.T, out=scratch[:n])
            if b_hh is not None:
                added += b_hh
            both, new = here[:, : 2 * width], here[:, 2 * width :]
            both += added[:, : 2 * width]
            np.negative(both, out=both)
            _sigmoid_of_less(both)
            inner[rows] = added[:, 2 * width :]
            new += np.multiply(both[:, :width], inner[rows], out=part)
            np.tanh(new, out=new)
            state -= new
            state *= both[:, width:]
            state += new
            out[rows] = state
    return out, gates, inner


def gru_back(
    g: Array, out: Array, gates: Array, inner: Array, h0: Array | None, w_hh: Array, steps: Steps
) -> RecurrentCotangents:
    """Pull back a cotangent of the states of a GRU."""
    if recurrent_native.native(gates, w_hh):
        flow, from_state, dh = recurrent_native.gru_back(g, out, gates, inner, h0, w_hh, steps)
        return RecurrentCotangents(flow, from_state, dh)
    dtype, n, width = gates.dtype, steps.batch, w_hh.shape[1]
    flow, from_state = np.empty_like(gates), np.empty_like(gates)
    before = _before(out, h0, steps)
    dh, scratch = np.zeros((n, width), dtype), np.empty((n, width), dtype)
    with threads_for(n * w_hh.size):
        for rows, n in reversed(steps.order):
            d, here, part = dh[:n], flow[rows], scratch[:n]
            d += g[rows]
            _gru_step_back(here, from_state[rows], gates[rows], d, before[rows], inner[rows], part)
            d += np.dot(from_state[rows], w_hh, out=part)
    return RecurrentCotangents(flow, from_state, dh)


def _gru_step_back(
    flow: Array, from_state: Array, gates: Array, dh: Array, before: Array, inner: Array,
    scratch: Array,
) -> None:  # fmt: skip
    """Compute the cotangents of one step, and those of the previous state past the gates."""
    width = dh.shape[1]
    r, z, new = (gates[:, k : k + width] for k in range(0, 3 * width, width))
    d_r, d_z, d_new = (flow[:, k : k + width] for k in range(0, 3 * width, width))
    both = flow[:, : 2 * width]
    np.subtract(1, gates[:, : 2 * width], out=both)
    np.multiply(d_z, dh, out=scratch)  # of the new state
    both *= gates[:, : 2 * width]
    np.multiply(new, new, out=d_new)
    np.subtract(1, d_new, out=d_new)
    d_new *= scratch
    np.subtract(before, new, out=scratch)
    scratch *= dh
    d_z *= scratch
    d_r *= inner
    d_r *= d_new
    from_state[:, : 2 * width] = both
    np.multiply(d_new, r, out=from_state[:, 2 * width :])
    dh *= z


# Single steps, with any number of leading dimensions.


def _sigmoid(x: Array) -> None:
    """In place. NumPy's `negative` is not right where one column of float32 is read and written."""
    less = np.negative(x)
    _sigmoid_of_less(less)
    x[...] = less


def lstm_step(x: Array, product: Array, before: Array) -> tuple[Array, Array]:
    """State and cell, concatenated, and the gates, from the contributions of input and state."""
    if recurrent_native.native_step(x, product, before):
        return recurrent_native.lstm_step(x, product, before)
    width = before.shape[-1]
    gates, out = x + product, np.empty((2, *before.shape), x.dtype)
    i, f, g, o = (gates[..., k : k + width] for k in range(0, 4 * width, width))
    _sigmoid(gates[..., : 2 * width])
    np.tanh(g, out=g)
    _sigmoid(o)
    np.multiply(f, before, out=out[1])
    out[1] += i * g
    np.tanh(out[1], out=out[0])
    out[0] *= o
    return out, gates


def lstm_step_back(g: Array, out: Array, gates: Array, before: Array) -> tuple[Array, Array]:
    """Pull back a cotangent of the first result of `lstm_step` to gates and cell."""
    if recurrent_native.native_step(gates, before, g, out):
        return recurrent_native.lstm_step_back(g, out, gates, before)
    shape, width = gates.shape, before.shape[-1]
    rows = [a.reshape(-1, a.shape[-1]) for a in (gates, out[1], before)]
    flow = np.empty_like(rows[0])
    slope = _lstm_slopes(flow, *rows).reshape(before.shape)
    flow, dc = flow.reshape(shape), g[1] + g[0] * slope
    for k in range(0, 3 * width, width):
        flow[..., k : k + width] *= dc
    flow[..., 3 * width :] *= g[0]
    return flow, dc * gates[..., width : 2 * width]


def gru_step(x: Array, product: Array, before: Array) -> tuple[Array, Array, Array]:
    """The state, the gates, and the state's contribution to the last gate."""
    if recurrent_native.native_step(x, product, before):
        return recurrent_native.gru_step(x, product, before)
    width = before.shape[-1]
    gates, inner = np.array(x), product[..., 2 * width :].copy()
    both, new = gates[..., : 2 * width], gates[..., 2 * width :]
    both += product[..., : 2 * width]
    _sigmoid(both)
    new += both[..., :width] * inner
    np.tanh(new, out=new)
    return new + both[..., width:] * (before - new), gates, inner


def gru_step_back(
    g: Array, gates: Array, inner: Array, before: Array
) -> tuple[Array, Array, Array]:
    """Pull back a cotangent of the state to both contributions to the gates, and to the state."""
    if recurrent_native.native_step(gates, before, g, inner):
        return recurrent_native.gru_step_back(g, gates, inner, before)
    flow, from_state, dh = np.empty_like(gates), np.empty_like(gates), np.array(g)
    arrays = (flow, from_state, gates, dh, before, inner, np.empty_like(inner))
    _gru_step_back(*(a.reshape(-1, a.shape[-1]) for a in arrays))
    return flow, from_state, dh
