"""Elements are counted in the bins in which NumPy's arithmetic puts them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import in_python
from wengert.kernels import bins
from wengert.kernels.jit import available


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.3, 0.7), (2.0, 3.0), (0.1, 0.10001)])
@pytest.mark.parametrize("count", [1, 7, 100])
def test_counts(
    dtype: str, low: float, high: float, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=20_000), 2).astype(dtype)
    x[::50], x[1::50], x[2::50] = np.nan, np.inf, high
    found = bins.counts(x, low, high, count)
    monkeypatch.setattr(bins, "SOME", x.size + 1)
    np.testing.assert_array_equal(found, bins.counts(x, low, high, count), strict=True)
    wide = x.astype(np.float64)
    assert found.sum() == ((wide >= low) & (wide <= high)).sum()


@pytest.mark.skipif(not available(), reason="needs llvmlite")
def test_the_kernel_stays_within_its_arrays() -> None:
    x = np.random.default_rng(0).normal(size=300)
    expected = bins.counts(x, float(x.min()), float(x.max()), 9)
    with in_python((bins, "SOME")):
        found = bins.counts(x, float(x.min()), float(x.max()), 9)
    np.testing.assert_array_equal(found, expected)
