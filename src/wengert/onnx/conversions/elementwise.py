"""Arithmetic, comparisons and functions of each element."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.dtypes import combine, defaults, of_number, of_numpy
from wengert.onnx.builder import CONVERSIONS, Builder, Value, converts

_UNARY = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "exp": "Exp", "floor": "Floor", "isinf": "IsInf", "isnan": "IsNaN", "log": "Log",
    "logical_not": "Not", "neg": "Neg", "reciprocal": "Reciprocal", "sigmoid": "Sigmoid",
    "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
_BINARY = {
    "_add": "Add", "_sub": "Sub", "mul": "Mul", "_div": "Div", "_pow_tensor": "Pow",
    "maximum": "Max", "minimum": "Min",
}  # fmt: skip
_COMPARISONS = {
    "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual",
}  # fmt: skip
_LOGICAL = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
_BITWISE = {"bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor"}


def _common(*values: Any) -> np.dtype[Any]:
    """The dtype in which tensors and numbers meet."""
    ranks = [
        (of_numpy[x.dtype], 2 if x.rank else 1) if isinstance(x, Value) else (of_number(x), 0)
        for x in values
    ]
    return combine(ranks).np


def _unary(op: str) -> Callable[..., str]:
    def convert(b: Builder, input: Value) -> str:
        return b(op, b.cast(input, bool if op == "Not" else input.dtype))

    return convert


def _binary(op: str) -> Callable[..., str]:
    def convert(b: Builder, input: Any, other: Any = None, exponent: Any = None) -> str:
        other = exponent if other is None else other
        dtype = b.out.dtype
        if op == "Mul" and dtype.kind == "b":
            return b("And", input, b.cast(other, bool))
        return b(op, b.cast(input, dtype), b.cast(other, dtype))

    return convert


def _comparison(op: str) -> Callable[..., str]:
    def convert(b: Builder, input: Any, other: Any) -> str:
        dtype = _common(input, other)
        if dtype.kind == "b" and op != "Equal":
            dtype = np.dtype(np.int32)
        return b(op, b.cast(input, dtype), b.cast(other, dtype))

    return convert


def _logical(op: str) -> Callable[..., str]:
    def convert(b: Builder, input: Any, other: Any) -> str:
        return b(op, b.cast(input, bool), b.cast(other, bool))

    return convert


def _bitwise(op: str) -> Callable[..., str]:
    def convert(b: Builder, input: Any, other: Any) -> str:
        dtype = b.out.dtype
        name = op if dtype.kind == "b" else f"Bitwise{op}"
        return b(name, b.cast(input, dtype), b.cast(other, dtype))

    return convert


CONVERSIONS.update({name: _unary(op) for name, op in _UNARY.items()})
CONVERSIONS.update({name: _binary(op) for name, op in _BINARY.items()})
CONVERSIONS.update({name: _comparison(op) for name, op in _COMPARISONS.items()})
CONVERSIONS.update({name: _logical(op) for name, op in _LOGICAL.items()})
CONVERSIONS.update({name: _bitwise(op) for name, op in _BITWISE.items()})
CONVERSIONS["add"] = CONVERSIONS["_add"]


@converts("ne")
def _ne(b: Builder, input: Any, other: Any) -> str:
    return b("Not", CONVERSIONS["eq"](b, input, other))


@converts("bitwise_not")
def _bitwise_not(b: Builder, input: Value) -> str:
    return b("Not" if input.dtype.kind == "b" else "BitwiseNot", input)


@converts("isfinite")
def _isfinite(b: Builder, input: Value) -> str:
    if input.dtype.kind != "f":
        return b("Equal", input, input)
    return b("Not", b("Or", b("IsNaN", input), b("IsInf", input)))


@converts("round")
def _round(b: Builder, input: Value, decimals: int = 0) -> str:
    if decimals:
        raise b.refuse(f"round() with decimals={decimals}")
    return b("Round", input)


@converts("trunc")
def _trunc(b: Builder, input: Any) -> str:
    return b("Mul", b("Sign", input), b("Floor", b("Abs", input)))


@converts("frac")
def _frac(b: Builder, input: Value) -> str:
    return b("Sub", input, _trunc(b, input))


@converts("exp2")
def _exp2(b: Builder, input: Value) -> str:
    return b("Pow", b.scalar(2, input.dtype), input)


@converts("expm1")
def _expm1(b: Builder, input: Value) -> str:
    # exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), exact near zero.
    half = b("Tanh", b("Mul", input, b.scalar(0.5, input.dtype)))
    near = b("Mul", half, b("Add", b("Exp", input), b.scalar(1, input.dtype)))
    far = b("Sub", b("Exp", input), b.scalar(1, input.dtype))
    small = b("Less", b("Abs", input), b.scalar(1, input.dtype))
    return b("Where", small, near, far)


@converts("log2", "log10")
def _log_of_base(b: Builder, input: Value) -> str:
    base = 2 if "log2" in b.where.split("(")[0] else 10
    return b("Div", b("Log", input), b.scalar(math.log(base), input.dtype))


@converts("log1p")
def _log1p(b: Builder, input: Value) -> str:
    # log(u) * x / (u - 1) for u = 1 + x corrects the rounding of u (Kahan).
    one = b.scalar(1, input.dtype)
    u = b("Add", input, one)
    exact = b("Div", b("Mul", b("Log", u), input), b("Sub", u, one))
    simple = b("Or", b("Equal", u, one), b("IsInf", u))
    return b("Where", simple, input, exact)


@converts("rsqrt")
def _rsqrt(b: Builder, input: Value) -> str:
    return b("Reciprocal", b("Sqrt", input))


@converts("erfc")
def _erfc(b: Builder, input: Value) -> str:
    return b("Sub", b.scalar(1, input.dtype), b("Erf", input))


@converts("deg2rad")
def _deg2rad(b: Builder, input: Value) -> str:
    return b("Mul", input, b.scalar(math.pi / 180, input.dtype))


@converts("rad2deg")
def _rad2deg(b: Builder, input: Value) -> str:
    return b("Mul", input, b.scalar(180 / math.pi, input.dtype))


@converts("_pow_number")
def _pow_number(b: Builder, input: Value, exponent: Any) -> str:
    if isinstance(exponent, Value):
        return b("Pow", b.cast(input, b.out.dtype), b.cast(exponent, b.out.dtype))
    value = b.cast(input, b.out.dtype)
    if exponent == 2:
        return b("Mul", value, value)
    if exponent == 0.5:
        return b("Sqrt", value)
    return b("Pow", value, b.scalar(exponent, b.out.dtype))


@converts("_div_floor")
def _div_floor(b: Builder, input: Any, other: Any) -> str:
    dtype = b.out.dtype
    x, y = b.cast(input, dtype), b.cast(other, dtype)
    if dtype.kind == "f":
        return b("Floor", b("Div", x, y))
    rest = b("Mod", x, y)
    return b("Div", b("Sub", x, rest), y)


@converts("_div_trunc")
def _div_trunc(b: Builder, input: Any, other: Any) -> str:
    dtype = b.out.dtype
    out = b("Div", b.cast(input, dtype), b.cast(other, dtype))
    return _trunc(b, out) if dtype.kind == "f" else out


@converts("remainder")
def _remainder(b: Builder, input: Any, other: Any) -> str:
    dtype = b.out.dtype
    x, y = b.cast(input, dtype), b.cast(other, dtype)
    if dtype.kind != "f":
        return b("Mod", x, y)
    return b("Sub", x, b("Mul", b("Floor", b("Div", x, y)), y))


@converts("fmod")
def _fmod(b: Builder, input: Any, other: Any) -> str:
    return b("Mod", b.cast(input, b.out.dtype), b.cast(other, b.out.dtype), fmod=1)


@converts("addcmul")
def _addcmul(b: Builder, input: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> str:
    product = b("Mul", tensor1, tensor2)
    return b("Add", input, b("Mul", product, b.cast(value, input.dtype)))


@converts("addcdiv")
def _addcdiv(b: Builder, input: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> str:
    return b("Add", input, b("Div", b("Mul", tensor1, b.cast(value, input.dtype)), tensor2))


@converts("_lerp")
def _lerp(b: Builder, input: Value, end: Value, weight: Any) -> str:
    return b("Add", input, b("Mul", b.cast(weight, input.dtype), b("Sub", end, input)))


@converts("_squared_error")
def _squared_error(b: Builder, input: Value, target: Value) -> str:
    error = b("Sub", input, target)
    return b("Mul", error, error)


@converts("_where")
def _where(b: Builder, input: Any, other: Any, condition: Value) -> str:
    dtype = b.out.dtype
    return b("Where", b.cast(condition, bool), b.cast(input, dtype), b.cast(other, dtype))


@converts("where")
def _where_function(b: Builder, condition: Value, input: Any, other: Any) -> str:
    return _where(b, input, other, condition)


@converts("_masked_fill")
def _masked_fill(b: Builder, input: Value, mask: Value, value: Any) -> str:
    dtype = b.out.dtype
    return b("Where", b.cast(mask, bool), b.cast(value, dtype), b.cast(input, dtype))


@converts("drop")
def _drop(b: Builder, input: Value, mask: Value) -> str:
    return b("Where", b.cast(mask, bool), b.scalar(0, input.dtype), input)


@converts("keep")
def _keep(b: Builder, input: Value, mask: Value) -> str:
    return b("Where", b.cast(mask, bool), input, b.scalar(0, input.dtype))


@converts("_clamp_numbers", "_hardtanh")
def _clamp_numbers(
    b: Builder, input: Value, min: Any = None, max: Any = None, min_val: Any = None,
    max_val: Any = None,
) -> str:  # fmt: skip
    low, high = (min, max) if min_val is None else (min_val, max_val)
    value, dtype = b.cast(input, b.out.dtype), b.out.dtype
    return b(
        "Clip",
        value,
        None if low is None else b.cast(low, dtype),
        None if high is None else b.cast(high, dtype),
    )


@converts("_clamp_tensors")
def _clamp_tensors(b: Builder, input: Value, min: Any, max: Any) -> str:
    out = b.cast(input, b.out.dtype)
    out = out if min is None else b("Max", out, b.cast(min, b.out.dtype))
    return out if max is None else b("Min", out, b.cast(max, b.out.dtype))


@converts("nan_to_num")
def _nan_to_num(
    b: Builder, input: Value, nan: Any = None, posinf: Any = None, neginf: Any = None
) -> str:
    info = np.finfo(input.dtype)
    out: Any = b("Where", b("IsNaN", input), b.scalar(nan or 0.0, input.dtype), input)
    high = b.scalar(info.max if posinf is None else posinf, input.dtype)
    low = b.scalar(info.min if neginf is None else neginf, input.dtype)
    out = b("Where", b("IsInf", input, detect_negative=0), high, out)
    return b("Where", b("IsInf", input, detect_positive=0), low, out)


@converts("logaddexp")
def _logaddexp(b: Builder, input: Value, other: Value) -> str:
    distance = b("Neg", b("Abs", b("Sub", input, other)))
    return b("Add", b("Max", input, other), b("Softplus", distance))


@converts("hypot")
def _hypot(b: Builder, input: Value, other: Value) -> str:
    return b("Sqrt", b("Add", b("Mul", input, input), b("Mul", other, other)))


@converts("to")
def _to(b: Builder, input: Value, dtype: Any) -> str:
    return b("Cast", input, to=b.type_of(b.out.dtype))


def _arithmetic_of_sizes(op: str) -> Callable[..., str]:
    """A number that follows from sizes: an integer, but for a quotient."""

    def convert(b: Builder, x: Any, y: Any) -> str:
        fractional = op == "Fraction" or any(
            x.dtype.kind == "f" if isinstance(x, Value) else isinstance(x, float) for x in (x, y)
        )
        dtype = defaults.dtype.np if fractional else np.int64
        return b("Div" if op == "Fraction" else op, b.cast(x, dtype), b.cast(y, dtype))

    return convert


SIZES: dict[Any, Callable[..., str]] = {
    operator.add: _arithmetic_of_sizes("Add"),
    operator.mul: _arithmetic_of_sizes("Mul"),
    operator.floordiv: _arithmetic_of_sizes("Div"),
    operator.truediv: _arithmetic_of_sizes("Fraction"),
}
