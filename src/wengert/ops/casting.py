"""Conversion between dtypes."""

from __future__ import annotations

import numpy as np

from wengert import _dtypes
from wengert._core import Tensor, tensors, wrap
from wengert.ops._declare import multilinear


@multilinear(input=lambda g, input_dtype: _astype(g, input_dtype), label="ToCopyBackward0")
def _cast(input, to, input_dtype):
    with np.errstate(all="ignore"):  # out-of-range values convert as C does
        return input.astype(to)


def _astype(g, to):
    return _cast(g, to, g.dtype if isinstance(g, np.ndarray) else g._array.dtype)


def convert(input: Tensor, dtype: _dtypes.dtype) -> Tensor:
    """`input` in another dtype; itself where it already has it.

    Recorded between floating and complex dtypes. A conversion to integers or booleans has no
    derivative, and its result requires none.
    """
    source = input._array.dtype
    if source == dtype.np:
        return input
    if dtype.category < _dtypes.FLOAT:
        array = input._array
        with np.errstate(all="ignore"):
            return wrap((array.real if source.kind == "c" else array).astype(dtype.np))
    if source.kind == "c" and dtype.category == _dtypes.FLOAT:
        from wengert.ops.complexes import real

        return _cast(real(input), dtype.np, np.empty(0, source).real.dtype)
    return _cast(input, dtype.np, source)

__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
