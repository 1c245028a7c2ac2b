"""Tensors to test with."""

from __future__ import annotations

import math
from typing import Any

from wengert.core import dtypes
from wengert.core.device import check_cpu
from wengert.core.generators import default_generator
from wengert.core.info import finfo, iinfo
from wengert.core.tensor import Tensor, wrap


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor with values drawn evenly from ``[low, high)``, by default from -9 to 9.

    With `exclude_zero`, the smallest positive number of the dtype stands for every zero.

    >>> import wengert
    >>> from wengert.testing import make_tensor
    >>> make_tensor(2, 3, dtype=wengert.int64, device="cpu", low=4, high=5)
    tensor([[4, 4, 4],
            [4, 4, 4]])
    """
    check_cpu(device)
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    inexact = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got"
            f" {dtype=}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got"
            f" {noncontiguous=} and {memory_format=}"
        )
    start, stop = _bounds(low, high, dtype)
    draw = default_generator.uniform if inexact else default_generator.integers
    apart = 2 if noncontiguous and math.prod(sizes) > 1 else 1
    drawn = (*sizes[:-1], apart * sizes[-1]) if sizes else sizes
    array: Any = draw(drawn, start, stop, dtype.np)  # type: ignore[arg-type]
    if apart > 1:
        array = array[..., 1::apart]
    if exclude_zero:
        array[array == 0] = finfo(dtype).tiny if inexact else 1
    return wrap(array).requires_grad_(requires_grad)


def _bounds(low: float | None, high: float | None, dtype: dtypes.dtype) -> tuple[float, float]:
    """Both bounds as they were given or by default, within the range of a dtype."""
    lowest: float
    highest: float
    inexact = dtype.is_floating_point or dtype.is_complex
    if inexact:
        lowest, highest = finfo(dtype).min, finfo(dtype).max
    elif dtype is dtypes.bool_:
        lowest, highest = 0, 2
    else:
        lowest, highest = iinfo(dtype).min, min(iinfo(dtype).max + 1, 2**63 - 1)
    if low is None:
        low = 0 if dtype is dtypes.bool_ else -9
    if high is None:
        high = 2 if dtype is dtypes.bool_ else 9 if inexact else 10
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low > high or (low == high and not inexact):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < lowest or low >= highest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only"
            f" supports [{lowest}, {highest})"
        )
    low, high = max(low, lowest), min(high, highest)
    return (low, high) if inexact else (math.ceil(low), math.ceil(high))
