"""Activation functions, softmax and dropout."""

from __future__ import annotations

import math
from typing import Any

from wengert.onnx.builder import Builder, Value, converts


@converts("_relu")
def _relu(b: Builder, input: Value) -> str:
    return b("Relu", input)


@converts("gelu")
def _gelu(b: Builder, input: Value, approximate: str = "none") -> str:
    dtype = input.dtype
    half = b("Mul", input, b.scalar(0.5, dtype))
    if approximate == "none":
        inner = b("Erf", b("Mul", input, b.scalar(math.sqrt(0.5), dtype)))
    else:
        cube = b("Mul", b("Mul", b("Mul", input, input), input), b.scalar(0.044715, dtype))
        scale = b.scalar(math.sqrt(2 / math.pi), dtype)
        inner = b("Tanh", b("Mul", b("Add", input, cube), scale))
    return b("Mul", half, b("Add", inner, b.scalar(1, dtype)))


@converts("_silu")
def _silu(b: Builder, input: Value) -> str:
    return b("Mul", input, b("Sigmoid", input))


@converts("_glu")
def _glu(b: Builder, input: Value, axis: int) -> str:
    half = input.shape[axis] // 2
    values, gates = b.several("Split", 2, input, b.ints([half, half]), axis=axis)
    return b("Mul", values, b("Sigmoid", gates))


@converts("_mish")
def _mish(b: Builder, input: Value) -> str:
    return b("Mul", input, b("Tanh", softplus(b, input)))


@converts("softplus")
def softplus(b: Builder, input: Value, beta: float = 1.0, threshold: float = 20.0) -> str:
    """``log(1 + exp(beta * x)) / beta``; the input itself above the threshold."""
    dtype = input.dtype
    scaled = b("Mul", input, b.scalar(beta, dtype)) if beta != 1 else input.name
    soft = b("Softplus", scaled)
    soft = b("Div", soft, b.scalar(beta, dtype)) if beta != 1 else soft
    return b("Where", b("Greater", scaled, b.scalar(threshold, dtype)), input, soft)


@converts("_softsign")
def _softsign(b: Builder, input: Value) -> str:
    return b("Softsign", input)


@converts("_hardswish")
def _hardswish(b: Builder, input: Value) -> str:
    return b("HardSwish", input)


@converts("_hardsigmoid")
def _hardsigmoid(b: Builder, input: Value) -> str:
    return b("HardSigmoid", input, alpha=1 / 6, beta=0.5)


@converts("_logsigmoid")
def _logsigmoid(b: Builder, input: Value) -> str:
    low = b("Min", input, b.scalar(0, input.dtype))
    return b("Sub", low, b("Softplus", b("Neg", b("Abs", input))))


@converts("softshrink")
def _softshrink(b: Builder, input: Value, lambd: float = 0.5) -> str:
    return b("Shrink", input, lambd=float(lambd), bias=float(lambd))


@converts("hardshrink")
def _hardshrink(b: Builder, input: Value, lambd: float = 0.5) -> str:
    return b("Shrink", input, lambd=float(lambd), bias=0.0)


@converts("_leaky_relu")
def _leaky_relu(b: Builder, input: Value, negative_slope: float) -> str:
    return b("LeakyRelu", input, alpha=float(negative_slope))


@converts("_elu")
def _elu(b: Builder, input: Value, alpha: float, scale: float = 1.0, rate: float = 1.0) -> str:
    dtype = input.dtype
    if rate == 1:
        out = b("Elu", input, alpha=float(alpha))
    else:
        low = b("Mul", b("Min", input, b.scalar(0, dtype)), b.scalar(rate, dtype))
        below = b("Mul", b("Elu", low, alpha=1.0), b.scalar(alpha, dtype))
        out = b("Where", b("Greater", input, b.scalar(0, dtype)), input, below)
    return b("Mul", out, b.scalar(scale, dtype)) if scale != 1 else out


@converts("_threshold")
def _threshold(b: Builder, input: Value, threshold: float, value: float) -> str:
    above = b("Greater", input, b.scalar(threshold, input.dtype))
    return b("Where", above, input, b.scalar(value, input.dtype))


@converts("_prelu")
def _prelu(b: Builder, input: Value, weight: Value) -> str:
    above = b("Greater", input, b.scalar(0, input.dtype))
    return b("Where", above, input, b("Mul", input, weight))


@converts("_softmax")
def _softmax(b: Builder, input: Value, dim: int) -> str:
    return b("Softmax", input, axis=dim) if input.rank else b("Exp", b("Sub", input, input))


@converts("_log_softmax")
def _log_softmax(b: Builder, input: Value, dim: int) -> str:
    return b("LogSoftmax", input, axis=dim) if input.rank else b("Sub", input, input)


@converts("_masked")
def _masked(b: Builder, input: Value, mask: Value, scale: float) -> str:
    product = b("Mul", input, b.cast(mask, input.dtype))
    return b("Mul", product, b.scalar(scale, input.dtype))


@converts("_masked_softmax")
def masked_softmax(b: Builder, input: Any, mask: Value | None) -> str:
    """The softmax of scores and a mask; zeros for a row in which all are masked."""
    if mask is None:
        return b("Softmax", input, axis=-1)
    dtype = b.out.dtype
    if mask.dtype.kind == "b":
        hidden = b.scalar(-math.inf, dtype)
        scores = b("Where", mask, input, hidden)
    else:
        scores = b("Add", input, b.cast(mask, dtype))
    weights = b("Softmax", scores, axis=-1)
    best = b("ReduceMax", scores, b.ints([-1]), keepdims=1)
    nothing = b("IsInf", best, detect_positive=0)
    return b("Where", nothing, b.scalar(0, dtype), weights)
