"""Complex numbers of their parts: compiled, by NumPy, and in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import in_python, needs_llvmlite
from wengert.kernels import complexes

DTYPES = [("f4", np.dtype("c8")), ("f8", np.dtype("c16"))]


@needs_llvmlite
@pytest.mark.parametrize(("real", "dtype"), DTYPES)
@pytest.mark.parametrize("shapes", [((300,), (300,)), ((20, 30), (30,)), ((), (9,)), ((0, 3),) * 2])
def test_parts_are_joined(
    real: str, dtype: np.dtype, shapes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(0)
    x, y = (np.asarray(rng.normal(size=shape)).astype(real) for shape in shapes)
    for a, b in ((x, y), (x.T, y.T)) if x.shape == y.shape else ((x, y),):
        got = complexes.joined(a, b, dtype)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.real, np.broadcast_to(a, got.shape))
        np.testing.assert_array_equal(got.imag, np.broadcast_to(b, got.shape))


def test_kernels_stay_within_their_arrays() -> None:
    x = np.arange(7.0)
    with in_python((complexes, "SOME")):
        np.testing.assert_array_equal(complexes.joined(x, -x, np.dtype("c16")), x - 1j * x)
