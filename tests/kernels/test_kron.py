"""Kronecker products: the kernel, NumPy, and the same source in Python."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import kron


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("shapes", [((3, 4), (5, 2)), ((1, 7), (6, 1)), ((2, 0), (3, 3))], ids=str)
def test_products(shapes: tuple[tuple[int, int], tuple[int, int]], dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = ((9 * rng.normal(size=shape)).astype(dtype) for shape in shapes)
    found = [kron.kron(a, b), kron.kron(a.T.copy().T, b)]
    with by_numpy():
        found.append(kron.kron(a, b))
    with in_python():
        found.append(kron.kron(a, b))
    for result in found:
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.kron(a, b))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "c8"])
@pytest.mark.parametrize("sizes", [(1, 1), (40, 30), (300, 500), (0, 4)])
def test_outer(dtype: str, sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = (np.round(rng.normal(size=n) * 9).astype(dtype) for n in sizes)
    got = kron.outer(a, b)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, a[:, None] * b)
    np.testing.assert_array_equal(kron.outer(a[::-1], b), a[::-1, None] * b)
    np.testing.assert_array_equal(kron.outer(a, b.real), a[:, None] * b.real)
