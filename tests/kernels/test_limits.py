"""Integers between limits against `np.clip`: by machine code, and in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import limits

LIMITS = [(-5, 50), (None, 3), (3, None), (9, -9)]


def sample(dtype: str, size: int) -> np.ndarray:
    info = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(-100, 100, size).astype(dtype)
    x[[0, -1]] = info.min, info.max
    return x


@needs_llvmlite
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(("low", "high"), LIMITS)
def test_between(dtype: str, low: int | None, high: int | None) -> None:
    for x in (sample(dtype, 5000), sample(dtype, 600).reshape(20, 30)):
        expected = x if low is None else np.maximum(x, low)
        expected = expected if high is None else np.minimum(expected, high)
        found = limits.between(x, low, high)
        assert found is not None
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, expected)


def test_kernels_stay_within_their_arrays() -> None:
    x = sample("int32", 7)
    with in_python((limits, "SOME")):
        np.testing.assert_array_equal(limits.between(x, -5, 50), np.clip(x, -5, 50))


def test_what_is_left_to_numpy() -> None:
    x = sample("int64", 600)
    assert limits.between(x[::2], 0, 9) is None
    assert limits.between(x.astype(np.int16), 0, 9) is None
    assert limits.between(x[:9], 0, 9) is None
    with by_numpy(limits):
        assert limits.between(x, 0, 9) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("size", [0, 1, 7, 300])
def test_all_between(dtype: str, size: int) -> None:
    inside = np.linspace(0, 1, size).astype(dtype)
    assert limits.all_between(inside, 0.0, 1.0)
    assert limits.all_between(inside * 1000, 0.0, np.inf)
    for outside in (-1e-4, 1.01, np.nan, np.inf)[: 4 * size]:
        x = inside.copy()
        x[-1] = outside
        assert not limits.all_between(x, 0.0, 1.0)
