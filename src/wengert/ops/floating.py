"""The representation of floating-point numbers: their parts, and their neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, memory_of
from wengert.kernels.precision import narrowed, widened
from wengert.ops.checks import require_kind
from wengert.ops.declare import Value, elementwise
from wengert.ops.exponential import exp2
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import keep, no_slope


@elementwise(
    input=lambda g, input, other: keep(g, input != other),
    other=lambda g: no_slope(g),
    tensors=("input", "other"),
)
def nextafter(input: Value, other: Value) -> Value:
    """The next representable number after each element in the direction of `other`.

    >>> import wengert
    >>> wengert.nextafter(wengert.tensor(1.0), wengert.tensor(2.0)) - 1
    tensor(1.1921e-07)
    """
    require_kind("nextafter_cpu", input, "f")
    return np.nextafter(input, other)


@elementwise(input=lambda g, input: g / exp2(_exponent(input)), name="frexp")
def _mantissa(input: Value) -> Value:
    return narrowed(np.frexp(widened(input))[0], input.dtype)


@elementwise(input=None, name="frexp")
def _exponent(input: Value) -> Value:
    return np.asarray(np.frexp(widened(input))[1], np.int32)


def frexp(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """Mantissas with magnitudes in [0.5, 1), and exponents of two (int32).

    >>> import wengert
    >>> wengert.frexp(wengert.tensor([6.0])).exponent
    tensor([3], dtype=torch.int32)
    """
    if out is not None:
        return write_out(frexp, out, input)
    require_tensor("frexp", "input", input)
    if memory_of(input).dtype.kind not in "fV":
        raise RuntimeError(
            f"torch.frexp() only supports floating-point dtypes, but 'input' is {input.dtype}"
        )
    return result_of("frexp", _mantissa(input), _exponent(input))


__all__ = ["frexp", "nextafter"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("frexp", "nextafter")
INPLACE = ("nextafter",)
