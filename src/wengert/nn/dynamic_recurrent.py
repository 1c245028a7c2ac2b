"""Recurrent layers whose weights are eight-bit integers, as inputs and states become on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor, cut_at, wrap
from wengert.nn._quantized_weights import keep_quantized, product
from wengert.nn.module import Module
from wengert.nn.modules.rnn import RNNBase, RNNCellBase
from wengert.ops.dropout import dropout


class _Gates:
    """The gates of a layer or cell: what its input and its state contribute."""

    def __init__(self, module: Module, suffix: str) -> None:
        self.input, self.state = (
            (
                module.get_buffer(f"weight_{side}{suffix}"),
                module.get_buffer(f"scale_{side}{suffix}"),
                getattr(module, f"bias_{side}{suffix}"),
            )
            for side in ("ih", "hh")
        )

    @staticmethod
    def keep(module: Module, source: Module, suffix: str, by_row: bool) -> None:
        """Have a module keep the weights of another."""
        for side in ("ih", "hh"):
            of = f"{side}{suffix}"
            weight = getattr(source, f"weight_{of}")
            keep_quantized(module, f"weight_{of}", f"scale_{of}", weight, by_row)
            bias = getattr(source, f"bias_{of}", None)
            module.register_buffer(f"bias_{of}", None if bias is None else bias.detach().clone())

    def of_input(self, rows: np.ndarray) -> np.ndarray:
        """What the inputs contribute."""
        return product(rows, *self.input)

    def next(self, mode: str, entering: np.ndarray, states: list[np.ndarray]) -> list[np.ndarray]:
        """The states after a step."""
        h = states[0]
        own = product(h, *self.state)
        if mode == "LSTM":
            i, f, g, o = np.split(entering + own, 4, 1)
            c = _sigmoid(f) * states[1] + _sigmoid(i) * np.tanh(g)
            return [_sigmoid(o) * np.tanh(c), c]
        if mode == "GRU":
            (r, z, n), (of_r, of_z, of_n) = np.split(entering, 3, 1), np.split(own, 3, 1)
            n = np.tanh(n + _sigmoid(r + of_r) * of_n)
            return [(h - n) * _sigmoid(z + of_z) + n]
        total = entering + own
        return [np.tanh(total) if mode == "RNN_TANH" else np.maximum(total, 0)]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 + np.tanh(x * np.float32(0.5))) * np.float32(0.5)


class _DynamicQuantizedRNN(RNNBase):
    """A recurrent layer with weights in int8, for inference. Results have no gradient."""

    def __init__(self, layer: Any, by_row: bool = False) -> None:
        Module.__init__(self)
        if layer.proj_size:
            raise NotImplementedError("quantize_dynamic: an LSTM with proj_size is not supported")
        for name in ("mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first",
                     "dropout", "bidirectional", "proj_size", "training"):  # fmt: skip
            setattr(self, name, getattr(layer, name))
        directions = ("", "_reverse")[: 2 if self.bidirectional else 1]
        self._suffixes = [f"_l{k}{d}" for k in range(self.num_layers) for d in directions]
        for suffix in self._suffixes:
            _Gates.keep(self, layer, suffix, by_row)

    def _dtype(self) -> Any:
        return dtypes.float32

    def _over_time(self, input: Tensor, hx: Any) -> tuple[Tensor, list[Tensor]]:
        x = input.transpose(0, 1) if self.batch_first else input
        length, batch = x.shape[:2]
        out, finals = self._stacked(x.reshape(length * batch, -1), [batch] * length, hx)
        out = out.reshape(length, batch, -1)
        return out.transpose(0, 1) if self.batch_first else out, finals

    def _stacked(self, rows: Tensor, sizes: list[int], hx: Any) -> tuple[Tensor, list[Tensor]]:
        count, widths = 2 if self.mode == "LSTM" else 1, (len(self._suffixes), sizes[0])
        zeros = np.zeros((*widths, self.hidden_size), np.float32)
        first = [zeros] * count if hx is None else [state._array for state in hx]
        x, finals = rows, list[list[np.ndarray]]()
        directions = 2 if self.bidirectional else 1
        for k in range(0, len(self._suffixes), directions):
            if k and self.dropout and self.training:
                x = dropout(x, self.dropout)
            outs = []
            for d in range(directions):
                out, final = self._layer(k + d, x._array, sizes, [s[k + d] for s in first], d == 1)
                outs.append(out)
                finals.append(final)
            x = wrap(np.concatenate(outs, 1))
        results = [x, *[wrap(np.stack(states)) for states in zip(*finals, strict=True)]]
        for result in results:
            result._cut = cut_at("a quantized recurrent layer", rows)
        return results[0], results[1:]

    def _layer(
        self, k: int, rows: np.ndarray, sizes: list[int], first: list[np.ndarray], backwards: bool
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """The states of one layer in one direction, and the final ones."""
        gates = _Gates(self, self._suffixes[k])
        entering = gates.of_input(rows)
        out = np.empty((len(rows), self.hidden_size), np.float32)
        ends = np.cumsum(sizes).tolist()
        steps = [*zip(sizes, ends, strict=True)]
        states = [s[: sizes[-1]] for s in first] if backwards else first
        finals = [s.copy() for s in first]
        for size, end in reversed(steps) if backwards else steps:
            running = len(states[0])
            if size > running:  # sequences that end here, and begin from the end
                pairs = zip(states, first, strict=True)
                states = [np.concatenate([s, f[running:size]]) for s, f in pairs]
            states = gates.next(self.mode, entering[end - size : end], [s[:size] for s in states])
            for final, state in zip(finals, states, strict=True):
                final[:size] = state
            out[end - size : end] = states[0]
        return out, finals


class DynamicQuantizedLSTM(_DynamicQuantizedRNN):
    """An LSTM with weights in int8, for inference.

    It takes a quarter of the memory. Results have no gradient.

    Args:
        layer: an LSTM in float32, whose weights are rounded.
        by_row: whether each row of a weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedLSTM
    >>> lstm = DynamicQuantizedLSTM(wengert.nn.LSTM(3, 2))
    >>> output, (h, c) = lstm(wengert.zeros(5, 1, 3))
    >>> output.shape, c.shape
    (torch.Size([5, 1, 2]), torch.Size([1, 1, 2]))
    """

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, (h, c) = self._run(input, None if hx is None else (hx[0], hx[1]))
        return output, (h, c)


class DynamicQuantizedGRU(_DynamicQuantizedRNN):
    """A GRU with weights in int8, for inference.

    It takes a quarter of the memory. Results have no gradient.

    Args:
        layer: a GRU in float32, whose weights are rounded.
        by_row: whether each row of a weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedGRU
    >>> DynamicQuantizedGRU(wengert.nn.GRU(3, 2))(wengert.zeros(5, 1, 3))[0].shape
    torch.Size([5, 1, 2])
    """

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class _DynamicQuantizedCell(RNNCellBase):
    """A recurrent cell with weights in int8, for inference. Results have no gradient."""

    mode: str

    def __init__(self, cell: Any, by_row: bool = False) -> None:
        Module.__init__(self)
        for name in ("input_size", "hidden_size", "bias", "nonlinearity", "training"):
            if hasattr(cell, name):
                setattr(self, name, getattr(cell, name))
        _Gates.keep(self, cell, "", by_row)

    def _step(self, input: Tensor, states: tuple[Any, ...]) -> list[Tensor]:
        """The states after a step."""
        self._check(input, states)
        kinds = [x.dtype for x in (input, *states) if x is not None]
        if any(kind is not dtypes.float32 for kind in kinds):
            raise RuntimeError(f"a quantized cell takes torch.float32, got {kinds}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]}, expected"
                f" {self.input_size}"
            )
        rows = input._array.reshape(-1, self.input_size)
        shape = len(rows), self.hidden_size
        first = []
        for x in states:
            array = np.zeros(shape, np.float32) if x is None else np.atleast_2d(x._array)
            if array.shape != shape:
                raise RuntimeError(f"expected a state of shape {[*shape]}, got {[*array.shape]}")
            first.append(array)
        gates = _Gates(self, "")
        results = [wrap(s) for s in gates.next(self.mode, gates.of_input(rows), first)]
        for result in results:
            result._cut = cut_at("a quantized cell", input)
        return [r[0] for r in results] if input.ndim == 1 else results


class DynamicQuantizedLSTMCell(_DynamicQuantizedCell):
    """An LSTMCell with weights in int8, for inference.

    Args:
        cell: a cell in float32, whose weights are rounded.
        by_row: whether each row of a weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedLSTMCell
    >>> h, c = DynamicQuantizedLSTMCell(wengert.nn.LSTMCell(3, 2))(wengert.zeros(1, 3))
    >>> h.shape
    torch.Size([1, 2])
    """

    mode = "LSTM"

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        h, c = self._step(input, (None, None) if hx is None else (hx[0], hx[1]))
        return h, c


class DynamicQuantizedGRUCell(_DynamicQuantizedCell):
    """A GRUCell with weights in int8, for inference.

    Args:
        cell: a cell in float32, whose weights are rounded.
        by_row: whether each row of a weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedGRUCell
    >>> DynamicQuantizedGRUCell(wengert.nn.GRUCell(3, 2))(wengert.zeros(1, 3)).shape
    torch.Size([1, 2])
    """

    mode = "GRU"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, (hx,))[0]


class DynamicQuantizedRNNCell(_DynamicQuantizedCell):
    """An RNNCell with weights in int8, for inference.

    Args:
        cell: a cell in float32, whose weights are rounded.
        by_row: whether each row of a weight has a scale of its own.

    >>> import wengert
    >>> from wengert.nn.dynamic_quantization import DynamicQuantizedRNNCell
    >>> DynamicQuantizedRNNCell(wengert.nn.RNNCell(3, 2))(wengert.zeros(1, 3)).shape
    torch.Size([1, 2])
    """

    @property
    def mode(self) -> str:  # type: ignore[override]
        """Which nonlinearity it has."""
        return f"RNN_{self.nonlinearity.upper()}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, (hx,))[0]
