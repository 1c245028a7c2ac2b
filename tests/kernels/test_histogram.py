"""Counts in bins: kernels, NumPy, and the same source in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import histogram


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("bins", [1, 7, 100])
def test_counts(dtype: str, bins: int) -> None:
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(3, 40)), 1).astype(dtype)
    rows[0, :3] = np.nan, np.inf, -np.inf
    lows, highs = np.array([-1.0, 0.0, -9.0]), np.array([1.0, 0.5, 9.0])
    with by_numpy():
        expected = histogram.counts(rows, lows, highs, bins)
    with in_python():
        slow = histogram.counts(rows, lows, highs, bins)
    np.testing.assert_array_equal(histogram.counts(rows, lows, highs, bins), expected)
    np.testing.assert_array_equal(slow, expected)
    assert expected[2].sum() == 40


@pytest.mark.parametrize("least", [0, 70])
def test_occurrences(least: int) -> None:
    x = np.random.default_rng(0).integers(0, 60, 30_000)
    for array in (x, x[::2], x.astype(np.int32), x[:0]):
        expected = np.bincount(array, minlength=least)
        np.testing.assert_array_equal(histogram.occurrences(array, least), expected, strict=True)
    with in_python(), pytest.raises(ValueError, match="-1"):
        histogram.occurrences(np.where(x == 7, -1, x), least)
