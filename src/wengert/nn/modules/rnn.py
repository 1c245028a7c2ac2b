"""Recurrent cells: one step of an RNN, an LSTM, a GRU."""

from __future__ import annotations

import math
from typing import Any

from wengert._core import Tensor
from wengert._dtypes import of_numpy
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn._module import Module
from wengert.nn.modules._common import filled, parameter
from wengert.nn.parameter import Parameter


class RNNCellBase(Module):
    """What the cells share: the weights of input and state, one block of rows for each gate.

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
        rows, made = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = parameter(rows, input_size, **made)
        self.weight_hh = parameter(rows, hidden_size, **made)
        self.register_parameter("bias_ih", parameter(rows, **made) if bias else None)
        self.register_parameter("bias_hh", parameter(rows, **made) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if not self.bias:
            parts.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            parts.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(parts)

    def _check(self, input: Tensor, state: tuple[Tensor | None, ...]) -> None:
        name = type(self).__name__
        if input._array.ndim not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input._array.ndim}D instead"
            )
        for s in state:
            if s is not None and s._array.ndim not in (1, 2):
                raise ValueError(
                    f"{name}: Expected hidden to be 1D or 2D, got {s._array.ndim}D instead"
                )

    def _project(self, input: Any, h: Any) -> tuple[Any, Any]:
        """What input and state contribute to the gates."""
        return (
            F.linear(input, self.weight_ih, self.bias_ih),
            F.linear(h, self.weight_hh, self.bias_hh),
        )

    def _zeros(self, input: Any) -> Any:
        shape = input._array.shape[:-1]
        return filled(0, *shape, self.hidden_size, dtype=of_numpy[input._array.dtype])


class RNNCell(RNNCellBase):
    """``tanh(W_ih @ x + b_ih + W_hh @ h + b_hh)``; (N, input_size) to (N, hidden_size).

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
        from_input, from_state = self._project(input, self._zeros(input) if hx is None else hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(
                f"Unknown nonlinearity: {self.nonlinearity}, expected 'tanh' or 'relu'"
            )
        total = from_input + from_state
        return total.tanh() if self.nonlinearity == "tanh" else total.relu()


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory: the new state and the new cell.

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
        self._check(input, hx or ())
        h: Any
        c: Any
        h, c = (self._zeros(input), self._zeros(input)) if hx is None else hx
        from_input, from_state = self._project(input, h)
        i, f, g, o = (from_input + from_state).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

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
        h: Any = self._zeros(input) if hx is None else hx
        from_input, from_state = self._project(input, h)
        r_i, z_i, n_i = from_input.chunk(3, -1)
        r_h, z_h, n_h = from_state.chunk(3, -1)
        reset, update = (r_i + r_h).sigmoid(), (z_i + z_h).sigmoid()
        new = (n_i + reset * n_h).tanh()
        return new + update * (h - new)


__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]
