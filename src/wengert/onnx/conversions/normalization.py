"""Normalisation over batches, layers, groups and instances."""

from __future__ import annotations

import inspect
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from wengert.onnx.builder import Builder, Value, converts


def _or_constant(b: Builder, value: Value | None, number: float, size: Any, dtype: Any) -> Any:
    """A parameter, or one number in its place."""
    return b.constant(np.full(size, number), dtype) if value is None else value


def _by_channel(b: Builder, parameter: Any, rank: int) -> str:
    return b.reshape(parameter, (-1, *(1,) * (rank - 2)))


def _scaled(b: Builder, out: str, weight: Any, bias: Any, rank: int) -> str:
    if weight is not None:
        out = b("Mul", out, _by_channel(b, weight, rank))
    return out if bias is None else b("Add", out, _by_channel(b, bias, rank))


def _trailing(b: Builder, input: Value, weight: Value | None, count: Any) -> int:
    """How many of the last dimensions are normalised together, `count` elements."""
    if weight is not None:
        return weight.rank
    for k in range(1, input.rank + 1):
        if all(prod(shape[-k:]) == count for shape in input.shapes):
            return k
    raise b.refuse("a normalisation over a dynamic size")


def _computed_wide(convert: Any) -> Any:
    """Halves beside weights of float32 are converted, and so is the result."""

    @wraps(convert)
    def converted(b: Builder, input: Value, *args: Any, **named: Any) -> str:
        options = inspect.signature(convert).bind(b, input, *args, **named).arguments
        plan = options.get("plan")
        if not (options.get("wide") if plan is None else plan.wide):
            return str(convert(b, input, *args, **named))
        single = np.dtype(np.float32)
        wide = Value(b("Cast", input, to=b.type_of(single)), single, input.shapes)
        return b("Cast", convert(b, wide, *args, **named), to=b.type_of(input.dtype))

    return converted


@converts("_layer_norm")
@_computed_wide
def _layer_norm(
    b: Builder, input: Value, weight: Value | None = None, bias: Value | None = None,
    plan: Any = None, eps: float = 1e-5,
) -> str:  # fmt: skip
    k = _trailing(b, input, weight, plan.affine[0])
    if any(input.size(d) is None for d in range(input.rank - k, input.rank)):
        raise b.refuse("a normalisation over a dynamic size")
    scale = _or_constant(b, weight, 1, input.shape[-k:], input.dtype)
    return b("LayerNormalization", input, scale, bias, axis=-k, epsilon=float(eps))


@converts("_rms_norm")
@_computed_wide
def _rms_norm(
    b: Builder, input: Value, weight: Value | None = None, bias: Value | None = None,
    plan: Any = None, eps: float = 1e-5,
) -> str:  # fmt: skip
    k = _trailing(b, input, weight, plan.affine[0])
    axes = b.ints(range(input.rank - k, input.rank))
    mean = b("ReduceMean", b("Mul", input, input), axes, keepdims=1)
    root = b("Sqrt", b("Add", mean, b.scalar(eps, input.dtype)))
    out = b("Div", input, root)
    return out if weight is None else b("Mul", out, weight)


@converts("_group_norm")
@_computed_wide
def _group_norm(
    b: Builder, input: Value, weight: Value | None = None, bias: Value | None = None,
    plan: Any = None, eps: float = 1e-5,
) -> str:  # fmt: skip
    groups = plan.view[1]
    rows = b("Reshape", input, b.constant([0, groups, -1], np.int64))  # 0: the batch as it is
    ones = b.constant(np.ones(groups), input.dtype)
    zeros = b.constant(np.zeros(groups), input.dtype)
    out = b("InstanceNormalization", rows, ones, zeros, epsilon=float(eps))
    return _scaled(b, b("Reshape", out, b("Shape", input)), weight, bias, input.rank)


@converts("_instance_norm")
@_computed_wide
def _instance_norm(
    b: Builder, input: Value, weight: Value | None = None, bias: Value | None = None,
    running_mean: Any = None, running_var: Any = None, plan: Any = None, eps: float = 1e-5,
    momentum: Any = None,
) -> str:  # fmt: skip
    channels = input.shape[1]
    scale = _or_constant(b, weight, 1, channels, input.dtype)
    shift = _or_constant(b, bias, 0, channels, input.dtype)
    return b("InstanceNormalization", input, scale, shift, epsilon=float(eps))


@converts("_batch_norm_by_running")
@_computed_wide
def _batch_norm_by_running(
    b: Builder, input: Value, weight: Value | None, bias: Value | None, running_mean: Value,
    running_var: Value, eps: float, wide: bool = False,
) -> str:  # fmt: skip
    channels = input.shape[1]
    scale = _or_constant(b, weight, 1, channels, input.dtype)
    shift = _or_constant(b, bias, 0, channels, input.dtype)
    return b(
        "BatchNormalization", input, scale, shift, running_mean, running_var, epsilon=float(eps)
    )


@converts("_batch_norm")
@_computed_wide
def _batch_norm(
    b: Builder, input: Value, weight: Value | None = None, bias: Value | None = None,
    running_mean: Any = None, running_var: Any = None, plan: Any = None, eps: float = 1e-5,
    momentum: Any = None,
) -> str:  # fmt: skip
    if running_mean is not None:
        raise b.refuse("batch norm in training mode, which writes to its running statistics")
    axes = b.ints([0, *range(2, input.rank)])
    centred = b("Sub", input, b("ReduceMean", input, axes, keepdims=1))
    variance = b("ReduceMean", b("Mul", centred, centred), axes, keepdims=1)
    root = b("Sqrt", b("Add", variance, b.scalar(eps, input.dtype)))
    return _scaled(b, b("Div", centred, root), weight, bias, input.rank)
