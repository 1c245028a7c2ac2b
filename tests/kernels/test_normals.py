"""Normal numbers by kernels are those of NumPy's functions, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import wengert
from wengert.kernels import jit, normals

pytestmark = pytest.mark.skipif(not jit.available(), reason="needs llvmlite")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [16, 17, 31, 1000, 1008, 40_001])
def test_draws_do_not_depend_on_kernels(
    size: int, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = wengert.Generator().manual_seed(5), wengert.Generator().manual_seed(5)
    found = a.normal((size,), 0.5, 2.0, dtype)
    monkeypatch.setattr(wengert.Generator, "normalizer", None)
    expected = b.normal((size,), 0.5, 2.0, dtype)
    assert found.dtype == expected.dtype == dtype
    assert found.tobytes() == expected.tobytes()


def test_the_ends_of_the_interval() -> None:
    below_one = np.float32(1 - 2.0**-24)
    values = np.array([0, below_one] * 8, np.float32)
    assert normals.box_muller(values)
    assert np.isfinite(values).all()
    assert (values[:8] == 0)[::2].all()  # a radius of zero
