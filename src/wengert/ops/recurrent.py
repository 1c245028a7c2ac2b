"""Recurrent layers, stacked and in both directions, and single steps of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wengert import kernels
from wengert.core import dtypes
from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor, shape_of, wrap
from wengert.kernels.precision import HALF
from wengert.ops._recurrent_ops import (
    gru_layer,
    gru_step,
    gru_step_reference,
    lstm_layer,
    lstm_step,
    lstm_step_reference,
    rnn_layer,
    split_lstm,
)
from wengert.ops.casting import convert
from wengert.ops.checks import not_implemented
from wengert.ops.dropout import dropout as drop
from wengert.ops.gathering import index_select
from wengert.ops.joining import cat, stack
from wengert.ops.linear import linear
from wengert.ops.operands import as_one_call
from wengert.ops.splitting import select
from wengert.ops.variadic import require_tensor

if TYPE_CHECKING:
    from wengert.kernels.recurrent.steps import Steps

Tensors = Sequence[Tensor]
# The number of row blocks (gates) in the weights of each mode.
GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


def stacked(
    mode: str, input: Tensor, sizes: Sequence[int], hx: Tensors | None, params: Tensors,
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """The last layer's states, and the final state (and cell) of every layer and direction.

    `input` has the rows of a packed sequence, `sizes` the number of rows of each step. Without
    `hx` the initial states are zeros.
    """
    directions = 2 if bidirectional else 1
    each = _params_of_layer(mode, params, has_biases, num_layers * directions)
    if input._outline.dtype in HALF:
        return _in_float32(
            mode, input, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
        )
    steps = [
        kernels.recurrent.steps.Steps(sizes, reverse) for reverse in (False, True)[:directions]
    ]
    finals: list[list[Tensor]] = []
    for layer in range(num_layers):
        if layer and dropout and train:
            input = drop(input, dropout)
        outs = []
        for direction, way in enumerate(steps):
            k = layer * directions + direction
            state = [None, None] if hx is None else [s[k] for s in hx]
            out, final = _layer(mode, input, state, params[k * each : (k + 1) * each], way)
            outs.append(out)
            finals.append(final)
        input = outs[0] if directions == 1 else cat(outs, 1)
    return input, [stack(several) for several in zip(*finals, strict=True)]


def _params_of_layer(mode: str, params: Tensors, has_biases: bool, layers: int) -> int:
    """The number of parameters of a layer in one direction."""
    each = 4 if has_biases else 2
    if mode == "LSTM" and len(params) == (each + 1) * layers:
        each += 1  # a projection
    if len(params) != each * layers:
        raise RuntimeError(
            f"got an incorrect number of RNN parameters: {len(params)} for {layers} layers and"
            f" directions {'with' if has_biases else 'without'} biases"
        )
    return each


def _in_float32(mode: str, input: Tensor, sizes: Any, hx: Any, params: Any, *options: Any) -> Any:
    """Half precision is computed in float32 and rounded once."""
    dtype, float32 = of_numpy[input._outline.dtype], dtypes.float32
    hx = None if hx is None else [convert(s, float32) for s in hx]
    params = [convert(p, float32) for p in params]
    out, finals = stacked(mode, convert(input, float32), sizes, hx, params, *options)
    return convert(out, dtype), [convert(s, dtype) for s in finals]


def _layer(
    mode: str, input: Tensor, state: list[Any], params: Tensors, steps: Steps
) -> tuple[Tensor, list[Tensor]]:
    """The states of one layer in one direction, and the last state of each sequence."""
    w_ih, w_hh, *others = params
    b_ih, b_hh = others[:2] if len(others) > 1 else (None, None)
    _check_layer(GATES[mode], input, state, w_ih, w_hh)
    if mode == "LSTM":
        h0, c0 = state
        w_hr = others[-1] if len(others) % 2 else None
        packed = lstm_layer(input, h0, c0, w_ih, w_hh, b_ih, b_hh, w_hr, steps)
        out, cell = split_lstm(packed, steps, w_hh.shape)
        return out, [_final(out, steps), cell]
    if mode == "GRU":
        out = gru_layer(input, state[0], w_ih, w_hh, b_ih, b_hh, steps)
    else:
        out = rnn_layer(input, state[0], w_ih, w_hh, b_ih, b_hh, steps, mode == "RNN_RELU")
    return out, [_final(out, steps)]


def _final(out: Tensor, steps: Steps) -> Tensor:
    rows = steps.end
    return out[rows] if isinstance(rows, slice) else index_select(out, 0, wrap(rows))


def _check_layer(gates: int, input: Tensor, state: list[Any], w_ih: Tensor, w_hh: Tensor) -> None:
    x, rows = input._outline, w_ih._outline.shape[0]
    if of_numpy[x.dtype].category != dtypes.FLOAT:
        raise not_implemented("rnn", x)
    for other in (w_ih, w_hh, *state):
        if other is not None and other._outline.dtype != x.dtype:
            raise RuntimeError(
                "mat1 and mat2 must have the same dtype, but got"
                f" {of_numpy[x.dtype].short} and {of_numpy[other._outline.dtype].short} in a"
                " recurrent layer"
            )
    for what, tensor, weight in (("input", input, w_ih), ("hx", state[0], w_hh)):
        if tensor is not None and tensor._outline.shape[-1] != weight._outline.shape[-1]:
            raise RuntimeError(
                "mat1 and mat2 shapes cannot be multiplied"
                f" ({'x'.join(map(str, tensor.shape))} and {weight.shape[1]}x{weight.shape[0]}):"
                f" {what} and a recurrent layer's weight"
            )
    if w_hh._outline.shape[0] != rows or rows % gates:
        raise RuntimeError(
            f"weights of input and state must have {gates} blocks of rows each, got shapes"
            f" {list(w_ih.shape)} and {list(w_hh.shape)}"
        )


def sizes_of(input: Tensor) -> list[int]:
    """The number of sequences at each step of an input (time, batch, width)."""
    steps, batch, _ = input.shape
    if not steps:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    return [batch] * steps


def _padded(
    mode: str, input: Tensor, hx: Tensors, params: Any, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A stack of layers over sequences of one length."""
    name = mode.lower()
    require_tensor(name, "input", input)
    if not isinstance(params, (list, tuple)):
        kind = type(params).__name__
        raise TypeError(f"{name}(): argument 'params' must be tuple of Tensors, not {kind}")
    if input.ndim != 3:
        raise IndexError(
            f"{name}() expects an input of 3 dimensions, (time, batch, width), got"
            f" {list(input.shape)}"
        )
    layers = num_layers * (2 if bidirectional else 1)
    for state in hx:
        if len(state.shape) != 3 or state.shape[0] != layers:
            raise RuntimeError(
                f"{name}() expects states of shape ({layers}, batch, width), got"
                f" {list(state.shape)}"
            )
    out, finals = over_time(
        mode, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return out, *finals


def over_time(
    mode: str, input: Tensor, hx: Tensors | None, params: Tensors, has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """`stacked`, for a batch of sequences of equal length."""
    if (level := as_one_call(input)) is not None:
        args = (mode, input, hx, params, has_biases, num_layers, dropout, train, bidirectional)
        return level.call(over_time, (*args, batch_first), {})
    x = input.transpose(0, 1) if batch_first else input
    sizes = sizes_of(x)
    out, finals = stacked(
        mode, x.reshape(len(sizes) * sizes[0], x.shape[2]), sizes, hx, params, has_biases,
        num_layers, dropout, train, bidirectional,
    )  # fmt: skip
    out = out.reshape(len(sizes), sizes[0], out.shape[1])
    return out.transpose(0, 1) if batch_first else out, finals


def rnn_tanh(
    input: Tensor, hx: Tensor, params: Tensors, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The computation of `nn.RNN`: the states of the last layer, and every layer's final state.

    `params` are the weights of its layers in order.

    >>> import wengert
    >>> x, h, w = wengert.zeros(4, 1, 2), wengert.ones(1, 1, 3), wengert.eye(3)
    >>> out, last = wengert.rnn_tanh(x, h, [w[:, :2], w], False, 1, 0.0, False, False, False)
    >>> last
    tensor([[[0.5126, 0.5126, 0.5126]]])
    """
    return _padded("RNN_TANH", input, (hx,), params, has_biases, num_layers, dropout, train,
                   bidirectional, batch_first)  # fmt: skip


def rnn_relu(
    input: Tensor, hx: Tensor, params: Tensors, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """As `rnn_tanh`, with ReLU.

    >>> import wengert
    >>> x, h, w = wengert.ones(4, 1, 2), wengert.ones(1, 1, 3), wengert.eye(3)
    >>> out, last = wengert.rnn_relu(x, h, [w[:, :2], w], False, 1, 0.0, False, False, False)
    >>> last
    tensor([[[5., 5., 1.]]])
    """
    return _padded("RNN_RELU", input, (hx,), params, has_biases, num_layers, dropout, train,
                   bidirectional, batch_first)  # fmt: skip


def gru(
    input: Tensor, hx: Tensor, params: Tensors, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The computation of `nn.GRU`: the states of the last layer, and every layer's final state.

    `params` are the weights of its layers in order.

    >>> import wengert
    >>> x, h, w = wengert.zeros(4, 1, 2), wengert.ones(1, 1, 3), wengert.zeros(9, 5)
    >>> out, last = wengert.gru(x, h, [w[:, :2], w[:, 2:]], False, 1, 0.0, False, False, False)
    >>> last
    tensor([[[0.0625, 0.0625, 0.0625]]])
    """
    return _padded("GRU", input, (hx,), params, has_biases, num_layers, dropout, train,
                   bidirectional, batch_first)  # fmt: skip


def lstm(
    input: Tensor, hx: Tensors, params: Tensors, has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The computation of `nn.LSTM`: the last layer's states, every layer's final state and cell.

    `params` are the weights of its layers in order.

    >>> import wengert
    >>> x, w = wengert.zeros(4, 1, 2), wengert.zeros(12, 5)
    >>> h, c = wengert.zeros(1, 1, 3), wengert.ones(1, 1, 3)
    >>> weights = [w[:, :2], w[:, 2:]]
    >>> out, h, c = wengert.lstm(x, (h, c), weights, False, 1, 0.0, False, False, False)
    >>> c
    tensor([[[0.0625, 0.0625, 0.0625]]])
    """
    if len(hx) != 2:
        raise RuntimeError(f"lstm expects two hidden states, got {len(hx)}")
    return _padded("LSTM", input, tuple(hx), params, has_biases, num_layers, dropout, train,
                   bidirectional, batch_first)  # fmt: skip


# Single steps.


def _check_cell(gates: int, input: Tensor, state: Tensors, w_ih: Tensor, w_hh: Tensor) -> None:
    shape, width = shape_of(input), shape_of(w_hh)[1]
    if shape[-1] != shape_of(w_ih)[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {shape[-1]} expected {w_ih.shape[1]}"
        )
    for k, tensor in enumerate(state):
        own_shape = shape_of(tensor)
        if own_shape[:-1] != shape[:-1]:
            raise RuntimeError(
                f"Input batch size {shape[0]} doesn't match hidden{k} batch size {own_shape[0]}"
            )
        if own_shape[-1] != width:
            raise RuntimeError(
                f"hidden{k} has inconsistent hidden_size: got {own_shape[-1]}, expected {width}"
            )
    if shape_of(w_ih)[0] != gates * width:
        raise RuntimeError(
            f"weight_ih first dim must be {gates} * hidden_size = {gates * width}, but got"
            f" {w_ih.shape[0]}"
        )


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)``, for each sample.

    >>> import wengert
    >>> x, h, w = wengert.zeros(1, 2), wengert.ones(1, 2), wengert.eye(2)
    >>> wengert.rnn_tanh_cell(x, h, w, w)
    tensor([[0.7616, 0.7616]])
    """
    _check_cell(1, input, (hx,), w_ih, w_hh)
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """As `rnn_tanh_cell`, with ReLU.

    >>> import wengert
    >>> x, h, w = wengert.ones(1, 2), wengert.ones(1, 2), wengert.eye(2)
    >>> wengert.rnn_relu_cell(x, h, w, w)
    tensor([[2., 2.]])
    """
    _check_cell(1, input, (hx,), w_ih, w_hh)
    return (linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh)).relu()


def lstm_cell(
    input: Tensor, hx: Tensors, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of an LSTM from the state `hx`, (h, c), to the next.

    >>> import wengert
    >>> x, c, w = wengert.zeros(1, 2), wengert.ones(1, 2), wengert.zeros(8, 2)
    >>> wengert.lstm_cell(x, (x, c), w, w)
    (tensor([[0.2311, 0.2311]]), tensor([[0.5000, 0.5000]]))
    """
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, got {len(hx)}")
    h, c = hx
    _check_cell(4, input, (h, c), w_ih, w_hh)
    gates = linear(input, w_ih, b_ih), linear(h, w_hh, b_hh)
    if not _of_one_float(*gates, c):
        return lstm_step_reference(*gates, c)
    out = lstm_step(*gates, c)
    return select(out, 0, 0), select(out, 0, 1)


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """One step of a GRU.

    >>> import wengert
    >>> x, h, w = wengert.ones(1, 2), wengert.ones(1, 2), wengert.zeros(6, 2)
    >>> wengert.gru_cell(x, h, w, w)
    tensor([[0.5000, 0.5000]])
    """
    _check_cell(3, input, (hx,), w_ih, w_hh)
    gates = linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh)
    step = gru_step if _of_one_float(*gates, hx) else gru_step_reference
    return step(*gates, hx)


def _of_one_float(*tensors: Tensor) -> bool:
    """Whether all are float32, or all float64."""
    first = tensors[0]._outline.dtype
    return first.char in "fd" and all(t._outline.dtype == first for t in tensors)


__all__ = [
    "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh",
    "rnn_tanh_cell",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
