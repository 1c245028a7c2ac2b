"""Smooth activation functions, and those that shrink or gate.

Those with `inplace` delegate to the tensor's in-place method, which is derived from
the out-of-place operation. Rectifiers have their own module.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.precision import in_float32
from wengert.ops.checks import not_implemented, require_in_range, require_kind
from wengert.ops.complexes import conj
from wengert.ops.declare import Value, elementwise, primitive
from wengert.ops.exponential import exp, sigmoid
from wengert.ops.joining import cat
from wengert.ops.masking import where
from wengert.ops.shape import contiguous
from wengert.ops.special import erf
from wengert.ops.splitting import narrow
from wengert.ops.trigonometry import tanh
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import drop, keep

_ROOT_HALF = math.sqrt(0.5)
_NORMAL = 1.0 / math.sqrt(2.0 * math.pi)
# Of the tanh approximation of GELU (Hendrycks and Gimpel, 2016).
_TANH_SCALE, _TANH_CUBE = math.sqrt(2.0 / math.pi), 0.044715


def _gelu_slope(g: Value, x: Value, approximate: str) -> Value:
    if approximate == "none":
        cdf = (erf(x * _ROOT_HALF) + 1.0) * 0.5
        return g * (cdf + x * exp(x * x * -0.5) * _NORMAL)
    square = x * x
    t = tanh(x * (square * _TANH_CUBE + 1.0) * _TANH_SCALE)
    inner = (square * (3.0 * _TANH_CUBE) + 1.0) * _TANH_SCALE
    return g * ((t + 1.0) * 0.5 + x * (1.0 - t * t) * inner * 0.5)


@in_float32
def _gelu(
    x: np.ndarray, approximate: str, erf: Callable[[Value], Value] | None = None
) -> np.ndarray:
    if approximate not in ("none", "tanh"):
        raise RuntimeError(
            f"approximate argument must be either none or tanh, and is {approximate!r}"
        )
    require_kind("GeluKernelImpl", x, "f")
    if approximate == "none":
        out = (erf or kernels.special.erf)(x * x.dtype.type(_ROOT_HALF))
    else:
        out = np.tanh((x + x * x * x * _TANH_CUBE) * _TANH_SCALE)
    out += 1
    out *= 0.5
    out *= x
    return out


@elementwise(
    input=lambda g, input, approximate: _gelu_slope(g, input, approximate),
    scalar=lambda input, approximate: _gelu(input, approximate, erf),
    layout=("input",),
)
def gelu(input: Value, *, approximate: str = "none") -> Value:
    """x times the standard normal CDF of x; ``approximate="tanh"`` is cheaper.

    >>> import wengert
    >>> wengert.nn.functional.gelu(wengert.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    return _gelu(np.asarray(input), approximate)


def _silu_slope(g: Value, x: Value) -> Value:
    s = sigmoid(x)
    return g * conj(s * ((1.0 - s) * x + 1.0))


@elementwise(input=lambda g, input: _silu_slope(g, input))
@in_float32
def _silu(input: Value) -> Value:
    require_kind("silu_cpu", input, "fc")
    return input / (np.exp(np.negative(input)) + 1)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * sigmoid(x)``.

    >>> import wengert
    >>> wengert.nn.functional.silu(wengert.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return input._silu_() if inplace else _silu(input)


def _softplus_of(x: np.ndarray) -> np.ndarray:
    """``log(1 + exp(x))`` without overflow."""
    result: np.ndarray = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return result


def _mish_slope(g: Value, x: Value) -> Value:
    t = tanh(softplus(x) if isinstance(x, Tensor) else _softplus_of(x))
    return g * (t + x * sigmoid(x) * (1.0 - t * t))


@elementwise(input=lambda g, input: _mish_slope(g, input))
@in_float32
def _mish(input: Value) -> Value:
    require_kind("mish_cpu", input, "f")
    return input * np.tanh(_softplus_of(input))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * tanh(softplus(x))``.

    >>> import wengert
    >>> wengert.nn.functional.mish(wengert.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return input._mish_() if inplace else _mish(input)


@elementwise(
    input=lambda g, input, beta, threshold: where(
        input * beta > threshold, g, g * sigmoid(input * beta)
    ),
)
@in_float32
def softplus(input: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """``log(1 + exp(beta * x)) / beta``; x itself where ``beta * x > threshold``.

    >>> import wengert
    >>> wengert.nn.functional.softplus(wengert.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    require_kind("softplus_cpu", input, "f")
    require_in_range("softplus", input.dtype, beta, threshold)
    scaled = input * input.dtype.type(beta)
    return np.where(scaled > threshold, input, _softplus_of(scaled) / input.dtype.type(beta))


@elementwise(floats=True, input=lambda g, input: g / _one_more(input), name="softsign")
@in_float32
def _softsign(input: Value) -> Value:
    return input / (np.abs(input) + 1)


def softsign(input: Tensor) -> Tensor:
    """``x / (1 + |x|)``.

    >>> import wengert
    >>> wengert.nn.functional.softsign(wengert.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    require_tensor("softsign", "input", input)
    if input._outline.dtype.kind == "c":  # it has no derivative as a complex function
        return input / (abs(input) + 1.0)
    if input._outline.dtype.kind == "b":
        raise not_implemented("abs_cpu", input._outline)
    return _softsign(input)


def _one_more(x: Value) -> Value:
    """``(1 + |x|) ** 2``."""
    y = abs(x) + 1.0
    return y * y


@elementwise(
    input=lambda g, input: where(input < 3.0, drop(g * (input / 3.0 + 0.5), input <= -3.0), g)
)
@in_float32
def _hardswish(input: Value) -> Value:
    require_kind("hardswish_cpu", input, "f")
    return input * np.clip(input + 3, 0, 6) / 6


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``x * relu6(x + 3) / 6``.

    >>> import wengert
    >>> wengert.nn.functional.hardswish(wengert.tensor([1.5, 4.0]))
    tensor([1.1250, 4.0000])
    """
    return input._hardswish_() if inplace else _hardswish(input)


@elementwise(input=lambda g, input: keep(g / 6.0, (input > -3.0) & (input < 3.0)))
@in_float32
def _hardsigmoid(input: Value) -> Value:
    require_kind("hardsigmoid_cpu", input, "f")
    return np.clip(input + 3, 0, 6) / 6


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(x + 3) / 6``.

    >>> import wengert
    >>> wengert.nn.functional.hardsigmoid(wengert.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return input._hardsigmoid_() if inplace else _hardsigmoid(input)


@elementwise(input=lambda g, input: g * sigmoid(-input), label="LogSigmoidBackward0")
@in_float32
def _logsigmoid(input: Value) -> Value:
    require_kind("log_sigmoid_cpu", input, "f")
    return -_softplus_of(-input)


def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(x))``.

    >>> import wengert
    >>> wengert.nn.functional.logsigmoid(wengert.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """
    return contiguous(_logsigmoid(input))


def tanhshrink(input: Tensor) -> Tensor:
    """``x - tanh(x)``.

    >>> import wengert
    >>> wengert.nn.functional.tanhshrink(wengert.tensor([0.0, 2.0]))
    tensor([0.0000, 1.0360])
    """
    return input - tanh(input)


@elementwise(input=lambda g, input, lambd: drop(g, abs(input) <= lambd))
@in_float32
def softshrink(input: Value, lambd: float = 0.5) -> Value:
    """Move each element towards 0 by `lambd`, stopping at 0.

    >>> import wengert
    >>> wengert.nn.functional.softshrink(wengert.tensor([-1.0, 0.2]))
    tensor([-0.5000,  0.0000])
    """
    require_kind("softshrink_cpu", input, "f")
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    bound = input.dtype.type(lambd)
    return np.where(np.abs(input) > bound, input - np.copysign(bound, input), input * 0)


@elementwise(input=lambda g, input, lambd: drop(g, abs(input) <= lambd))
@in_float32
def hardshrink(input: Value, lambd: float = 0.5) -> Value:
    """0 where ``|x| <= lambd``, else x.

    >>> import wengert
    >>> wengert.nn.functional.hardshrink(wengert.tensor([-1.0, 0.2]))
    tensor([-1.,  0.])
    """
    require_kind("hardshrink_cpu", input, "f")
    return np.where(np.abs(input) <= input.dtype.type(lambd), input.dtype.type(0), input)


def _glu_parts(input: Value, axis: int) -> tuple[Value, Value]:
    """The first half, and the sigmoid of the second."""
    half = input.shape[axis] // 2
    return narrow(input, axis, 0, half), sigmoid(narrow(input, axis, half, half))


def _glu_reference(input: Value, axis: int) -> Value:
    values, shares = _glu_parts(input, axis)
    return values * shares


def _glu_vjp(g: Value, input: Value, axis: int) -> Value:
    if not isinstance(g, Tensor) and not isinstance(input, Tensor):
        return kernels.gating.gradient(g, input, axis)
    input = input if isinstance(input, Tensor) else wrap(input)
    values, shares = _glu_parts(input, axis)
    first = g * shares
    return cat([first, first * values * (1.0 - shares)], axis)


@primitive(
    input=_glu_vjp, reference=_glu_reference, layout=("input",),
    label="GluBackward0", name="glu",
)  # fmt: skip
def _glu(input: Value, axis: int) -> Value:
    return kernels.gating.gated(input, axis)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second.

    >>> import wengert
    >>> wengert.nn.functional.glu(wengert.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    require_tensor("glu", "input", input)
    rank = input._outline.ndim
    if rank == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got"
            f" {dim}) in glu()"
        )
    size = input._outline.shape[dim]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim % rank} is size {size}"
        )
    require_kind("glu_cpu", input._outline, "f")
    return _glu(input, dim % rank)


__all__ = ["hardshrink"]
FUNCTIONAL: tuple[str, ...] = (
    "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "logsigmoid", "mish", "silu",
    "softplus", "softshrink", "softsign", "tanhshrink",
)  # fmt: skip
METHODS = ("hardshrink",)
# The private names define the in-place methods that the functions above delegate to.
INPLACE = ("_hardsigmoid", "_hardswish", "_mish", "_silu")
