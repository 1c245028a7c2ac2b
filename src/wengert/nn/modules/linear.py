"""Linear maps: Linear, Bilinear, and the identity."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn import init
from wengert.nn.module import Module
from wengert.nn.modules._common import parameter, parameter_of, used
from wengert.nn.parameter import Parameter


class Identity(Module):
    """Returns its input; accepts any arguments, so that it can replace another layer.

    >>> import wengert
    >>> wengert.nn.Identity(54, unused=True)(wengert.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module):
    """``input @ weight.T + bias``, of (*, in_features) to (*, out_features).

    `weight` is (out_features, in_features), `bias` (out_features,).

    Args:
        in_features: features of the input.
        out_features: features of the result.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.Linear(20, 30)(wengert.zeros(128, 20)).shape
    torch.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, device=device, dtype=dtype)
        if bias:
            self.bias = parameter(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(in_features), weight and bias."""
        if self.weight._outline.size:
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        weight, bias = parameter_of(self, "weight"), parameter_of(self, "bias")
        return F.linear(input, used(weight), bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The output `Linear` of `MultiheadAttention`, under PyTorch's name.

    Args:
        in_features: features of the input.
        out_features: features of the result.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.MultiheadAttention(2, 1).out_proj
    NonDynamicallyQuantizableLinear(in_features=2, out_features=2, bias=True)
    """


class Bilinear(Module):
    """``input1 @ weight[k] @ input2 + bias[k]`` for every output feature k.

    Args:
        in1_features: features of the first input.
        in2_features: features of the second input.
        out_features: features of the result.
        bias: whether to learn a bias.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> m = wengert.nn.Bilinear(20, 30, 40)
    >>> m(wengert.zeros(128, 20), wengert.zeros(128, 30)).shape
    torch.Size([128, 40])
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = parameter(
            out_features, in1_features, in2_features, device=device, dtype=dtype
        )
        if bias:
            self.bias = parameter(out_features, device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Uniform in ±1/sqrt(in1_features), weight and bias."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features},"
            f" out_features={self.out_features}, bias={self.bias is not None}"
        )


__all__ = ["Bilinear", "Identity", "Linear", "NonDynamicallyQuantizableLinear"]
