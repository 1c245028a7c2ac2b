"""Products of a matrix and a vector."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.products.test_gemm import matrix
from tests.kernels.threads import same_for_all_threads
from wengert.kernels.jit import available
from wengert.kernels.products import blas
from wengert.kernels.products.vector import inner_product, times_vector

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")
EPS = {np.float32: 1e-6, np.float64: 2e-15}


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("layout", ["plain", "transposed", "inside another"])
@pytest.mark.parametrize("shape", [(1, 9), (300, 1), (5, 70001), (700, 403), (1030, 90)])
def test_rows_times_a_vector(shape: tuple[int, int], layout: str, dtype: type) -> None:
    a, x = matrix(shape, layout, dtype), matrix((1, shape[1]), "plain", dtype)[0]
    out = same_for_all_threads(lambda: times_vector(a, x))
    exact = a.astype(np.longdouble) @ x.astype(np.longdouble)
    np.testing.assert_allclose(out, exact, rtol=0, atol=8 * EPS[dtype] * shape[1] ** 0.5)


@pytest.mark.parametrize(
    ("a", "x"),
    [
        (matrix((40, 40), "every other", np.float32), np.ones(40, np.float32)),
        (np.ones((40, 40), np.float32), np.ones(80, np.float32)[::2]),
        (np.ones((40, 40), np.float32), np.ones(40)),
        (np.ones((40, 40), np.int64), np.ones(40, np.int64)),
    ],
)
def test_what_is_left_to_numpy(a: np.ndarray, x: np.ndarray) -> None:
    assert times_vector(a, x) is None


def test_rows_and_columns_of_products() -> None:
    a, b = matrix((1, 300), "plain", np.float32), matrix((300, 90), "plain", np.float32)
    bias = matrix((1, 90), "plain", np.float32)[0]
    exact = a.astype(np.float64) @ b
    assert np.abs(blas.dot(a, b, bias) - exact - bias).max() < 1e-4
    assert np.abs(blas.dot(b.T, a.T) - exact.T).max() < 1e-4
    with pytest.raises(ValueError, match="shapes"):
        blas.dot(a, b[1:])


@pytest.mark.parametrize("dtype", EPS)
@pytest.mark.parametrize("size", [1, 40000, 300001])
def test_inner_products(size: int, dtype: type) -> None:
    a, b = (matrix((1, size), "plain", dtype)[0] for _ in range(2))
    result = same_for_all_threads(lambda: inner_product(a, b))
    assert type(result) is dtype
    exact = np.sum(a.astype(np.longdouble) * b)
    assert abs(result - exact) < 8 * EPS[dtype] * size**0.5
    assert abs(blas.inner(a, b) - exact) < 8 * EPS[dtype] * size**0.5
    assert inner_product(a, b.astype(complex)) is None
    if size > 1:
        assert inner_product(np.repeat(a, 2)[::2], b) is None


def test_inner_products_of_nan_and_infinity() -> None:
    a, ones = np.zeros(50000, np.float32), np.ones(50000, np.float32)
    a[40000] = np.inf
    assert inner_product(a, ones) == np.inf
    a[3] = np.nan
    assert np.isnan(inner_product(a, ones))
