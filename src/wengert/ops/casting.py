"""Conversion between dtypes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.float8 import is_float8, rounded
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor
from wengert.kernels.precision import BRAIN, HALF, MANY, converted
from wengert.ops.batching import leading
from wengert.ops.complexes import real
from wengert.ops.declare import Value, elementwise, multilinear
from wengert.ops.half_rules import round_bfloat16
from wengert.ops.operands import recorded_ops

# Elements that deserve several threads.
_MANY = 1 << 15
# Conversions that are never out of range.
_CLOSE = {np.dtype(np.float32): BRAIN, BRAIN: np.dtype(np.float32)}


@cache
def _is_quiet(source: np.dtype, to: np.dtype) -> bool:
    """Whether NumPy has every number of one dtype in range of the other, and neither is a half."""
    if source in HALF or to in HALF or is_float8(to):
        return False
    return np.can_cast(source, to) or (source.kind in "biu" and to.kind in "fc")


@multilinear(
    # `to` lets a node report its dtype.
    input=lambda g, source, to: _back(g, source),
    batch=leading,
    label="ToCopyBackward0",
    name="to",
    layout=("input",),
)
def _cast(input: Value, to: np.dtype, source: np.dtype) -> Value:
    if _CLOSE.get(input.dtype) is to:
        return converted(input, to)
    if is_float8(to):
        return rounded(input.real, to)
    if _is_quiet(input.dtype, to):
        return input.astype(to)
    half = input.dtype in HALF or to in HALF
    if half and input.size >= MANY:
        return converted(input, to)
    with np.errstate(all="ignore"):  # out-of-range values convert as C does
        return converted(input, to) if half else input.astype(to)


@elementwise(input=None, name="to", layout=("input",))
def _discrete(input: Value, to: np.dtype) -> Value:
    """The input as integers or booleans."""
    if to.kind == "b":
        if input.dtype in HALF:  # all bits but the sign, which NumPy compares faster
            return input.view(np.uint16) & 0x7FFF != 0
        return input != 0 if input.size < _MANY else kernels.masks.nonzero(input)
    if is_float8(input.dtype):
        input = input.astype(np.float32)
    if input.dtype.kind in "biu":  # which wrap around, and never warn
        return input.astype(to)
    with np.errstate(all="ignore"):
        return (input.real if input.dtype.kind == "c" else input).astype(to)


def _back(g: Value, source: np.dtype) -> Value:
    """A cotangent in the dtype its primal was converted from."""
    if type(g) is np.ndarray and _CLOSE.get(g.dtype) is source and source is not BRAIN:
        return converted(g, source)
    g_dtype = g._outline.dtype if isinstance(g, Tensor) else g.dtype
    if g_dtype == source:
        return g
    if source in HALF:
        round_bfloat16()
    if g_dtype.kind == "c" and source.kind != "c":
        return _back(real(g), source)
    return _cast(g, source, g_dtype)


def convert(input: Tensor, dtype: Any, called: str = "to") -> Tensor:
    """Convert `input` to another dtype; returned as it is if it already has it.

    Recorded between floating and complex dtypes. A conversion to integers or booleans has no
    derivative, and its result requires none. A complex number becomes its real part, or,
    as a boolean, whether either part is nonzero. `dtype` may be one of Python's types. `called` is
    the public function, for errors.
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{called}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if type(dtype) is not dtypes.dtype:
        dtype = dtypes.of_argument(called, dtype)
    source = numpy_dtype(input)
    if source == dtype.np:
        return input
    if dtype.category < dtypes.FLOAT:
        return _discrete(input, dtype.np)
    if source.kind == "c" and dtype.category == dtypes.FLOAT:
        real_values = real(input)
        return _cast(real_values, dtype.np, numpy_dtype(real_values))
    return _cast(input, dtype.np, source)


recorded_ops.convert = convert

__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
