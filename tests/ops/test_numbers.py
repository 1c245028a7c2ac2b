"""Numbers among the arguments, as elements of the tensor's type: what wraps, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "clamp": lambda m, x, v: x.clamp(v, 2),
    "clamp_min": lambda m, x, v: x.clamp(min=v),
    "clamp_max": lambda m, x, v: x.clamp(max=v),
    "threshold": lambda m, x, v: m.nn.functional.threshold(x, v, v),
    "hardtanh": lambda m, x, v: m.nn.functional.hardtanh(x, 0, v),
    "pad": lambda m, x, v: m.nn.functional.pad(x, (1, 1), value=v),
    "masked_fill": lambda m, x, v: x.masked_fill(x > 1, v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([1]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([1]), v),
    "fill_": lambda m, x, v: x.clone().fill_(v),
    "full_like": lambda m, x, v: m.full_like(x, v),
}
REAL = (np.nan, np.inf, -0.5, -1.0, 1.5, 256.5, 1e30)


@pytest.mark.torch
@pytest.mark.parametrize("value", [-300, -255, -1, 0, 127, 128, 255, 256, 2**40, *REAL])
@pytest.mark.parametrize("name", CALLS)
def test_integers_take_what_torchs_take(name: str, value: float, torch: Any) -> None:
    if name in ("clamp_min", "clamp_max", "clamp") and isinstance(value, float):
        return  # the result is no integer
    for dtype in ("uint8", "int8", "int64"):
        results = []
        for library in (wengert, torch):
            x = library.tensor([0, 1, 5, 100], dtype=getattr(library, dtype))
            try:
                results.append(CALLS[name](library, x, value).tolist())
            except (RuntimeError, ValueError) as error:
                results.append([type(error)])
        assert results[0] == results[1], dtype


@pytest.mark.torch
@pytest.mark.parametrize("value", [7e4, -1e39, 1e300, np.inf, -np.inf, np.nan, 0.1])
@pytest.mark.parametrize("name", CALLS)
def test_floats_take_what_torchs_take(name: str, value: float, torch: Any) -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        results = []
        for library in (wengert, torch):
            x = library.tensor([0.0, 1.0, 5.0, 100.0], dtype=getattr(library, dtype))
            try:
                results.append(CALLS[name](library, x, value).tolist())
            except (RuntimeError, ValueError) as error:
                results.append([type(error)])
        np.testing.assert_equal(*results)


@pytest.mark.parametrize("function", ["clamp_min", "masked_fill", "scatter", "pad"])
def test_what_does_not_fit_is_named(function: str) -> None:
    with pytest.raises(RuntimeError, match=r"to type int8 without overflow: \w+\(\) got 300"):
        CALLS[function](wengert, wengert.tensor([0, 5], dtype=wengert.int8), 300)
