"""The special functions against Python's own, and against identities between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import wengert
from wengert.kernels import special

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RNG = np.random.default_rng(0)


def relative(ours: np.ndarray, reference: np.ndarray) -> float:
    return float(np.max(np.abs(ours - reference) / np.abs(reference)))


@pytest.mark.parametrize(
    ("low", "high"), [(1e-300, 1e-3), (0.0, 0.5), (0.4, 0.6), (0.5, 4.1), (4, 26)]
)
def test_erf_and_erfc(low: float, high: float) -> None:
    x = RNG.uniform(low, high, 2000) + 1e-12
    assert relative(special.erf64(x), np.vectorize(math.erf)(x)) < 1e-15
    assert relative(special.erfc64(x), np.vectorize(math.erfc)(x)) < 1e-14
    np.testing.assert_array_equal(special.erf64(-x), -special.erf64(x))
    assert relative(special.erfc64(-x), np.vectorize(math.erfc)(-x)) < 1e-15


def test_erf_of_float32() -> None:
    x = np.linspace(-5, 5, 200_002, dtype=np.float32)
    ours = special.erf(x)
    assert ours.dtype == np.float32
    assert relative(ours, special.erf64(x.astype(np.float64))) < 3.6e-7
    half = special.erf(x.astype(np.float16))
    np.testing.assert_array_equal(half, special.erf(x.astype(np.float16).astype("f4")).astype("f2"))


def test_erfinv_inverts_erf() -> None:
    y = np.concatenate([RNG.uniform(-1, 1, 2000), 10.0 ** RNG.uniform(-300, 0, 500)])
    assert relative(special.erf64(special.erfinv64(y)), y) < 1e-15
    tail = 10.0 ** -RNG.uniform(1, 16, 500)
    x = special.erfinv64(1.0 - tail)
    assert relative(special.erfc64(x), 1.0 - (1.0 - tail)) < 1e-13


def test_lgamma() -> None:
    x = np.concatenate([RNG.uniform(0.01, 40, 2000), RNG.uniform(-20, 0, 2000),
                        10.0 ** RNG.uniform(-300, 300, 300)])  # fmt: skip
    np.testing.assert_allclose(special.lgamma64(x), np.vectorize(math.lgamma)(x), 1e-13, 1e-13)


def test_lgamma_beside_its_zeros() -> None:
    """There the error is relative, too: against the Taylor series, which needs zeta(2), ..."""
    zeta = (np.pi**2 / 6, 1.2020569031595943, np.pi**4 / 90, 1.0369277551433699, np.pi**6 / 945)
    z = (1.0 + RNG.uniform(-1e-3, 1e-3, 500)) - 1.0  # such that 1 + z is exact
    series = sum(c * (-z) ** k / k for k, c in enumerate((0.57721566490153286, *zeta), 1))
    assert relative(special.lgamma64(1.0 + z), series) < 1e-14
    z = (2.0 + z) - 2.0
    series = sum(c * (-z) ** k / k for k, c in enumerate((0.57721566490153286, *zeta), 1))
    assert relative(special.lgamma64(2.0 + z), series + np.log1p(z)) < 1e-14


def test_digamma_satisfies_recurrence_and_reflection() -> None:
    x = RNG.uniform(0.05, 30, 2000)
    psi = special.digamma64
    np.testing.assert_allclose(psi(x + 1.0), psi(x) + 1.0 / x, 1e-13, 1e-13)
    y = RNG.uniform(0.05, 0.95, 500) - RNG.integers(0, 9, 500)
    np.testing.assert_allclose(psi(1.0 - y) - psi(y), np.pi / np.tan(np.pi * y), 1e-11, 1e-11)
    assert psi(np.array([1.0]))[0] == pytest.approx(-0.57721566490153286, rel=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_polygamma_satisfies_recurrence(n: int) -> None:
    x = RNG.uniform(0.5, 30, 500)
    step = (-1.0) ** n * math.factorial(n) * x ** (-n - 1)
    ours = special.polygamma64(n, x)
    np.testing.assert_allclose(special.polygamma64(n, x + 1), ours + step, 1e-11)
    assert special.polygamma64(1, np.array([1.0]))[0] == pytest.approx(np.pi**2 / 6, rel=1e-15)


@pytest.mark.parametrize("n", [1, 2])
def test_polygamma_of_singles(n: int) -> None:
    x = np.concatenate([RNG.uniform(0.01, 30, 4000), 10 ** RNG.uniform(-6, 6, 4000)])
    x = np.concatenate([x, -RNG.uniform(0, 20, 4000)]).astype(np.float32)
    exact = special.polygamma64(n, x.astype(np.float64))
    found = wengert.polygamma(n, wengert.tensor(x)).numpy()
    error = np.abs(found - exact)[:8000]
    assert (error / np.spacing(np.abs(exact[:8000]).astype(np.float32))).max() < 0.6
    np.testing.assert_allclose(found, exact, rtol=1e-6)
    ends = np.resize(np.float32([0, -0.0, -3, np.inf, -np.inf, np.nan, 1e-30, -1e30]), 100)
    exact = special.polygamma64(n, ends.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(wengert.polygamma(n, wengert.tensor(ends)).numpy(), exact)


@pytest.mark.parametrize(
    ("function", "at", "value"),
    [
        (special.erf64, [np.inf, -np.inf, np.nan, 0.0], [1, -1, np.nan, 0]),
        (special.erfc64, [np.inf, -np.inf, np.nan, 0.0], [0, 2, np.nan, 1]),
        (special.erfinv64, [1.0, -1.0, 1.5, np.nan, 0.0], [np.inf, -np.inf, np.nan, np.nan, 0]),
        (special.lgamma64, [0.0, -3.0, 1.0, 2.0, np.inf, -np.inf, np.nan],
         [np.inf, np.inf, 0, 0, np.inf, np.inf, np.nan]),
        (special.digamma64, [0.0, -0.0, -1.0, np.inf, np.nan],
         [-np.inf, np.inf, np.nan, np.inf, np.nan]),
    ],
)  # fmt: skip
def test_special_values(function, at, value) -> None:
    np.testing.assert_array_equal(function(np.array(at)), np.array(value, dtype=float))


@pytest.mark.parametrize(
    "function", [special.erf64, special.erfc64, special.erfinv64, special.lgamma64,
                 special.digamma64, special.erf]
)  # fmt: skip
def test_shapes(function) -> None:
    for shape in ((), (0,), (2, 0, 3), (2, 3)):
        assert np.shape(function(np.full(shape, 0.25))) == shape
    strided = np.linspace(0.1, 0.9, 12).reshape(3, 4).T
    np.testing.assert_array_equal(function(strided), function(strided.copy()))
