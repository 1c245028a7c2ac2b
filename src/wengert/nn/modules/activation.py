"""Activation functions as modules."""

from __future__ import annotations

import warnings
from typing import Any

from wengert.core.tensor import Tensor
from wengert.nn import functional as F
from wengert.nn.init import constant_
from wengert.nn.module import Module
from wengert.nn.modules._common import full_tensor
from wengert.nn.parameter import Parameter


class _Inplace(Module):
    """An activation without parameters that may overwrite its input."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """``max(x, 0)``.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.ReLU()(wengert.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class SELU(_Inplace):
    """The ELU whose scale keeps mean 0 and variance 1.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.SELU()(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class SiLU(_Inplace):
    """``x * sigmoid(x)``, also known as swish.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.SiLU()(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """``x * tanh(softplus(x))``.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Mish()(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """``x * relu6(x + 3) / 6``.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Hardswish()(wengert.tensor([-4.0, 4.0]))
    tensor([-0., 4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardsigmoid(_Inplace):
    """``relu6(x + 3) / 6``.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Hardsigmoid()(wengert.tensor([-4.0, 0.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Sigmoid(Module):
    """``1 / (1 + exp(-x))``.

    >>> import wengert
    >>> wengert.nn.Sigmoid()(wengert.tensor([0.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import wengert
    >>> wengert.nn.Tanh()(wengert.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class LogSigmoid(Module):
    """``log(sigmoid(x))``.

    >>> import wengert
    >>> wengert.nn.LogSigmoid()(wengert.tensor([0.0]))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(Module):
    """``x / (1 + |x|)``.

    >>> import wengert
    >>> wengert.nn.Softsign()(wengert.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """``x - tanh(x)``.

    >>> import wengert
    >>> wengert.nn.Tanhshrink()(wengert.tensor([0.0]))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Hardtanh(Module):
    """``x`` clamped to [`min_val`, `max_val`].

    Args:
        min_val: smallest result.
        max_val: largest result.
        inplace: whether to write the result into the input.
        min_value: deprecated name of `min_val`.
        max_value: deprecated name of `max_val`.

    >>> import wengert
    >>> wengert.nn.Hardtanh()(wengert.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None or max_value is not None:
            warnings.warn(
                "keyword arguments `min_value` and `max_value` are deprecated and renamed to"
                " `min_val` and `max_val`",
                FutureWarning,
                stacklevel=2,
            )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + _inplace(self)


def _inplace(module: Any) -> str:
    return ", inplace=True" if module.inplace else ""


class ReLU6(Hardtanh):
    """``min(max(x, 0), 6)``.

    Args:
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.ReLU6()(wengert.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Threshold(Module):
    """``x`` where it exceeds `threshold`, else `value`.

    Args:
        threshold: elements that are not larger are replaced.
        value: what smaller elements become.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.Threshold(0.1, 20)(wengert.tensor([0.0, 1.0]))
    tensor([20.,  1.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + _inplace(self)


class RReLU(Module):
    """A leaky ReLU whose slope is drawn from [lower, upper) in training, else their mean.

    Args:
        lower: smallest slope below zero.
        upper: largest slope below zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.RReLU(0.1, 0.3).eval()(wengert.tensor([-1.0, 1.0]))
    tensor([-0.2000,  1.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + _inplace(self)


class LeakyReLU(Module):
    """``x`` where positive, else `negative_slope` times it.

    Args:
        negative_slope: slope below zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.LeakyReLU(0.1)(wengert.tensor([-1.0, 1.0]))
    tensor([-0.1000,  1.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + _inplace(self)


class _Alpha(Module):
    """An activation with a scale for negative inputs."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + _inplace(self)


class ELU(_Alpha):
    """``x`` where positive, else ``alpha * (exp(x) - 1)``.

    Args:
        alpha: scale of the part below zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.ELU()(wengert.tensor([-1.0, 1.0]))
    tensor([-0.6321,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)


class CELU(_Alpha):
    """``x`` where positive, else ``alpha * (exp(x / alpha) - 1)``.

    Args:
        alpha: scale of the part below zero.
        inplace: whether to write the result into the input.

    >>> import wengert
    >>> wengert.nn.CELU(2.0)(wengert.tensor([-1.0, 1.0]))
    tensor([-0.7869,  1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class Softplus(Module):
    """``log(1 + exp(beta * x)) / beta``, and x itself above `threshold`.

    Args:
        beta: how sharp the bend is.
        threshold: above it, times `beta`, the function is linear.

    >>> import wengert
    >>> wengert.nn.Softplus()(wengert.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    """An activation that is 0 up to a threshold."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """``x`` where its absolute value exceeds `lambd`, else 0.

    Args:
        lambd: half the width of the interval that becomes zero.

    >>> import wengert
    >>> wengert.nn.Hardshrink()(wengert.tensor([0.25, 1.0]))
    tensor([0., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved towards 0 by `lambd`, stopping at 0.

    Args:
        lambd: half the width of the interval that becomes zero.

    >>> import wengert
    >>> wengert.nn.Softshrink()(wengert.tensor([0.25, 1.0]))
    tensor([0.0000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class GELU(Module):
    """``x`` times the standard normal CDF of ``x``.

    Args:
        approximate: `"none"`, or `"tanh"` for the approximation by a tanh.

    >>> import wengert
    >>> wengert.nn.GELU()(wengert.tensor([0.0, 1.0]))
    tensor([0.0000, 0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """The first half along a dimension times the sigmoid of the second.

    Args:
        dim: the dimension that is split in halves.

    >>> import wengert
    >>> wengert.nn.GLU()(wengert.zeros(4, 6)).shape
    torch.Size([4, 3])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class PReLU(Module):
    """A leaky ReLU with a learnable slope, one for all channels or one per channel.

    Args:
        num_parameters: 1, or the number of channels (of dimension 1) with a slope each.
        init: slope at first.
        device: where the parameters live: the CPU, or `"meta"` for shapes without memory.
        dtype: type of the parameters; the default dtype unless given.

    >>> import wengert
    >>> wengert.nn.PReLU()(wengert.tensor([-1.0, 1.0])).detach()
    tensor([-0.2500,  1.0000])
    """

    weight: Parameter

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full_tensor(init, num_parameters, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Reset all slopes to their initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    """An activation that normalises along a dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """Exponentials along a dimension, scaled to sum to 1.

    Args:
        dim: the dimension along which the results sum to 1.

    >>> import wengert
    >>> wengert.nn.Softmax(dim=0)(wengert.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along a dimension.

    Args:
        dim: the dimension along which the results sum to 1.

    >>> import wengert
    >>> wengert.nn.LogSoftmax(dim=0)(wengert.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmin(_AlongDim):
    """The softmax of the negated input along a dimension.

    Args:
        dim: the dimension along which the results sum to 1.

    >>> import wengert
    >>> wengert.nn.Softmin(dim=0)(wengert.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of (N, C, H, W) or (C, H, W).

    >>> import wengert
    >>> wengert.nn.Softmax2d()(wengert.zeros(1, 2, 3, 3)).shape
    torch.Size([1, 2, 3, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input._outline.ndim not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input._outline.ndim}D instead"
            )
        return F.softmax(input, -3)


__all__ = [
    "CELU", "ELU", "GELU", "GLU", "SELU",
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU", "Sigmoid", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
    "Threshold",
]  # fmt: skip
