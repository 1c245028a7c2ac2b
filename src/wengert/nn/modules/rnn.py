"""Recurrent layers and cells: RNN, LSTM, GRU, over whole sequences and for one step."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import Any

from wengert.core.dtypes import of_numpy
from wengert.core.tensor import Tensor
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import full_tensor, parameter, used
from wengert.nn.parameter import Parameter
from wengert.nn.utils.rnn import PackedSequence
from wengert.ops import gru_cell, index_select, lstm_cell, rnn_relu_cell, rnn_tanh_cell
from wengert.ops.gathering import elements
from wengert.ops.recurrent import GATES, over_time, stacked


class RNNBase(Module):
    """Base class of recurrent layers: parameters, checks, padded and packed sequences.

    Args:
        mode: `"LSTM"`, `"GRU"`, `"RNN_TANH"` or `"RNN_RELU"`.
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        num_layers: layers on top of each other; each takes the results of the one below.
        bias: whether to learn a bias.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        dropout: probability of zeros between layers while training.
        bidirectional: whether each layer reads its input in both directions; their results are
            joined.
        proj_size: features that each state is projected to; 0: none. For LSTM alone.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.RNNBase("GRU", 3, 5).weight_ih_l0.shape
    torch.Size([15, 3])
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_kinds(bias=(bias, bool), batch_first=(batch_first, bool),
                     input_size=(input_size, int), hidden_size=(hidden_size, int))  # fmt: skip
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size),
                            ("num_layers", num_layers)):  # fmt: skip
            if value <= 0:
                raise ValueError(f"{name} must be greater than zero, got {value}")
        if proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections, got"
                f" {proj_size}"
            )
        if proj_size >= hidden_size:
            raise ValueError(
                f"proj_size has to be smaller than hidden_size, got {proj_size} and {hidden_size}"
            )
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}, expected one of {', '.join(GATES)}")
        self.mode, self.input_size, self.hidden_size = mode, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional, self.proj_size = float(dropout), bidirectional, proj_size
        self._make_weights({"device": device, "dtype": dtype})
        self.reset_parameters()

    def _make_weights(self, factory: dict[str, Any]) -> None:
        directions, rows = 2 if self.bidirectional else 1, GATES[self.mode] * self.hidden_size
        width = self.proj_size or self.hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(self.num_layers):
            entering = width * directions if layer else self.input_size
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (rows, entering),
                "weight_hh": (rows, width),
            }
            if self.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if self.proj_size:
                shapes["weight_hr"] = (self.proj_size, self.hidden_size)
            for suffix in (f"_l{layer}", f"_l{layer}_reverse")[:directions]:
                self._all_weights.append([name + suffix for name in shapes])
                for name, shape in shapes.items():
                    self.register_parameter(name + suffix, parameter(*shape, **factory))

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Do nothing: the weights need no particular memory layout."""

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [weight for weights in self.all_weights for weight in weights]

    def _used_weights(self) -> list[Tensor]:
        """All weights, to be used now: kernels keep the recurrent ones as they read them."""
        layers = self.all_weights
        for _, recurrent, *_ in layers:
            used(recurrent)
        return [weight for weights in layers for weight in weights]

    def extra_repr(self) -> str:
        options = [f"{self.input_size}, {self.hidden_size}"]
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False,
                 "dropout": 0, "bidirectional": False}  # fmt: skip
        for name, value in usual.items():
            if getattr(self, name) != value:
                options.append(f"{name}={getattr(self, name)}")
        return ", ".join(options)

    def _run(self, input: Any, hx: Sequence[Tensor] | None) -> tuple[Any, list[Tensor]]:
        """The states of the last layer, packed or padded like `input`, and the final states."""
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        rank = input.ndim
        if rank not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {rank}D tensor instead"
            )
        for state in hx or ():
            if state.ndim != rank:
                kind = "batched 3-D" if rank == 3 else "unbatched 2-D"
                raise RuntimeError(
                    f"For {kind} input, hx should also be {rank}-D but got {state.ndim}-D tensor"
                )
        alone = 0 if self.batch_first else 1
        if rank == 2:
            input = input.unsqueeze(alone)
            hx = None if hx is None else [state.unsqueeze(1) for state in hx]
        self._check_input(input)
        self._check_states(hx, input.shape[alone])
        out, finals = self._over_time(input, hx)
        if rank == 2:
            return out.squeeze(alone), [state.squeeze(1) for state in finals]
        return out, finals

    def _run_packed(
        self, input: PackedSequence, hx: Sequence[Tensor] | None
    ) -> tuple[PackedSequence, list[Tensor]]:
        sizes = elements("pack_padded_sequence", input.batch_sizes).tolist()
        self._check_input(input.data, packed=True)
        self._check_states(hx, sizes[0])
        if hx is not None and input.sorted_indices is not None:
            hx = [index_select(state, 1, input.sorted_indices) for state in hx]
        out, finals = self._stacked(input.data, sizes, hx)
        if input.unsorted_indices is not None:
            finals = [index_select(state, 1, input.unsorted_indices) for state in finals]
        return PackedSequence(out, *input[1:]), finals

    def _over_time(self, input: Tensor, hx: Any) -> tuple[Tensor, list[Tensor]]:
        weights = self._used_weights()
        return over_time(self.mode, input, hx, weights, *self._options(), self.batch_first)

    def _stacked(self, rows: Tensor, sizes: list[int], hx: Any) -> tuple[Tensor, list[Tensor]]:
        return stacked(self.mode, rows, sizes, hx, self._used_weights(), *self._options())

    def _options(self) -> tuple[bool, int, float, bool, bool]:
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def _dtype(self) -> Any:
        """That of the inputs."""
        return getattr(self, self._all_weights[0][0]).dtype

    def _check_input(self, input: Tensor, packed: bool = False) -> None:
        dtype = self._dtype()
        if input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert"
                f" input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        if packed and input.ndim != 2:
            raise RuntimeError(f"input must have 2 dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got"
                f" {input.shape[-1]}"
            )

    def _check_states(self, hx: Sequence[Tensor] | None, batch: int) -> None:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)
        for k, (state, width) in enumerate(zip(hx or (), widths, strict=False)):
            expected = (layers, batch, width)
            if tuple(state.shape) != expected:
                which = f"[{k}]" if self.mode == "LSTM" else ""
                raise RuntimeError(
                    f"Expected hidden{which} size {expected}, got {list(state.shape)}"
                )


def _check_dropout(dropout: Any, num_layers: int) -> None:
    number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an"
            f" element being zeroed, got {dropout!r}"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout"
            f" expects num_layers greater than 1, but got dropout={dropout} and"
            f" num_layers={num_layers}",
            stacklevel=4,
        )


def _check_kinds(**arguments: tuple[Any, type]) -> None:
    for name, (value, kind) in arguments.items():
        if not isinstance(value, kind):
            raise TypeError(
                f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
            )


def _refuse_projection(proj_size: int) -> None:
    if proj_size:
        raise ValueError(
            f"proj_size argument is only supported for LSTM, not RNN or GRU, got {proj_size}"
        )


class RNN(RNNBase):
    """``h[t] = tanh(W_ih @ x[t] + b_ih + W_hh @ h[t-1] + b_hh)``, in `num_layers` layers.

    Takes (time, batch, input_size), with `batch_first` (batch, time, input_size), without a batch
    (time, input_size), or a `PackedSequence`; and the first state (layers, batch, hidden_size),
    zeros by default. Returns the last layer's states, and the final state of every layer and
    direction.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        num_layers: layers on top of each other; each takes the results of the one below.
        nonlinearity: `"tanh"` or `"relu"`.
        bias: whether to learn a bias.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        dropout: probability of zeros between layers while training.
        bidirectional: whether each layer reads its input in both directions; their results are
            joined.
        proj_size: 0: only LSTM projects its states.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> rnn = wengert.nn.RNN(10, 20, num_layers=2)
    >>> output, h = rnn(wengert.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, 0, device, dtype)  # fmt: skip
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class LSTM(RNNBase):
    """Long short-term memory, in `num_layers` layers; takes inputs as `RNN` does.

    With `proj_size` each state is projected to that width. The first state and cell are (h, c);
    returns the last layer's states, and the final (h, c) of every layer and direction.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        num_layers: layers on top of each other; each takes the results of the one below.
        bias: whether to learn a bias.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        dropout: probability of zeros between layers while training.
        bidirectional: whether each layer reads its input in both directions; their results are
            joined.
        proj_size: features that each state is projected to; 0: none. For LSTM alone.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> lstm = wengert.nn.LSTM(10, 20, bidirectional=True, batch_first=True)
    >>> output, (h, c) = lstm(wengert.zeros(3, 5, 10))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, proj_size, device, dtype)  # fmt: skip

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        output, (h, c) = self._run(input, None if hx is None else (hx[0], hx[1]))
        return output, (h, c)


class GRU(RNNBase):
    """Gated recurrent units, in `num_layers` layers; takes and returns what `RNN` does.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        num_layers: layers on top of each other; each takes the results of the one below.
        bias: whether to learn a bias.
        batch_first: whether batches are (batch, length, features) and not (length, batch,
            features).
        dropout: probability of zeros between layers while training.
        bidirectional: whether each layer reads its input in both directions; their results are
            joined.
        proj_size: 0: only LSTM projects its states.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> gru = wengert.nn.GRU(10, 20)
    >>> output, h = gru(wengert.zeros(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        _refuse_projection(proj_size)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)  # fmt: skip

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (h,) = self._run(input, None if hx is None else (hx,))
        return output, h


class RNNCellBase(Module):
    """Base class of the cells: the weights of input and state, one block of rows per gate.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        bias: whether to learn a bias.
        num_chunks: matrices per state: 4 in an LSTM, 3 in a GRU, 1 otherwise.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.RNNCellBase(3, 5, bias=True, num_chunks=4).weight_ih.shape
    torch.Size([20, 3])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows, factory = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = parameter(rows, input_size, **factory)
        self.weight_hh = parameter(rows, hidden_size, **factory)
        self.register_parameter("bias_ih", parameter(rows, **factory) if bias else None)
        self.register_parameter("bias_hh", parameter(rows, **factory) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        options = [f"{self.input_size}, {self.hidden_size}"]
        if not self.bias:
            options.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            options.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(options)

    def _check(self, input: Tensor, state: tuple[Tensor | None, ...]) -> None:
        name = type(self).__name__
        if input._outline.ndim not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input._outline.ndim}D instead"
            )
        for k, s in enumerate(state):
            if s is not None and s._outline.ndim not in (1, 2):
                which = f"hx[{k}]" if len(state) > 1 else "hidden"
                raise ValueError(
                    f"{name}: Expected {which} to be 1D or 2D, got {s._outline.ndim}D instead"
                )

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: Any) -> Any:
        shape = input._outline.shape[:-1]
        kind = of_numpy[input._outline.dtype]
        return full_tensor(0, *shape, self.hidden_size, device=input.device, dtype=kind)


class RNNCell(RNNCellBase):
    """``tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)``; (N, input_size) to (N, hidden_size).

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        bias: whether to learn a bias.
        nonlinearity: `"tanh"` or `"relu"`.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.RNNCell(10, 20)(wengert.zeros(3, 10), wengert.zeros(3, 20)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check(input, (hx,))
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"Unknown nonlinearity: {self.nonlinearity}, expected 'tanh' or 'relu'"
            )
        step = rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell
        return step(input, self._zeros(input) if hx is None else hx, *self._weights())


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory: the new state and the new cell.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> h, c = wengert.nn.LSTMCell(10, 20)(wengert.zeros(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        if isinstance(hx, Tensor):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not Tensor"
            )
        self._check(input, hx or ())
        state = (self._zeros(input), self._zeros(input)) if hx is None else hx
        return lstm_cell(input, state, *self._weights())


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    Args:
        input_size: features of each element of a sequence.
        hidden_size: features of the state.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.GRUCell(10, 20)(wengert.zeros(3, 10)).shape
    torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check(input, (hx,))
        return gru_cell(input, self._zeros(input) if hx is None else hx, *self._weights())


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]
