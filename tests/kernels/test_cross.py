"""Vector products: kernels, NumPy, and the same source in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import cross


@pytest.mark.parametrize(("shape", "axis"), [((40, 3), 1), ((3, 50), 0), ((5, 3, 7), 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, *shape)).astype(dtype)
    found = cross.cross(a, b, axis)
    with by_numpy():
        expected = cross.cross(a, b, axis)
    with in_python():
        slow = cross.cross(a, b, axis)
    for result in (found, slow):
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_vectors_that_broadcast() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 40, 3))
    np.testing.assert_allclose(cross.cross(a, b[:1], 1), np.cross(a, b[:1]), rtol=1e-12)
