"""Special functions at infinities, at poles, and where series, recurrences or SciPy give up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert

INF = math.inf


def values(library: Any, name: str, x: list[float]) -> np.ndarray:
    return getattr(library.special, name)(library.tensor(x, dtype=library.float64)).numpy()


@pytest.mark.torch
@pytest.mark.parametrize("name", ["gammaln", "digamma", "sinc", "spherical_bessel_j0", "erfcx",
                                  "log_ndtr", "entr", "i0e", "i1e", "bessel_j0", "bessel_y1",
                                  "modified_bessel_k0", "scaled_modified_bessel_k1"])  # fmt: skip
def test_special_points_equal_torch(name: str, torch: Any) -> None:
    x = [INF, -INF, math.nan, 0.0, -0.0, -1.0, -2.0, -40.0, 1e-300, 1e15, 1e300]
    ours, theirs = (values(library, name, x) for library in (wengert, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-7)


def test_gammaln_at_its_poles_is_infinite() -> None:
    x = wengert.tensor([0.0, -1.0, -2.0, -1e10, -1e300], dtype=wengert.float64)
    assert x.lgamma().tolist() == [INF] * 5


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_polygamma_far_left(n: int) -> None:
    """Beside the poles the function repeats itself, but for what the nearest zeta adds."""
    near = wengert.tensor([-25.75, -25.5, -25.1], dtype=wengert.float64)
    for far in (100.0, 1e5, 1e9):
        x = near - far
        shifted = wengert.polygamma(n, x)
        difference = wengert.polygamma(n, 1 - x) - wengert.polygamma(n, 1 - near)
        expected = wengert.polygamma(n, near) + (-1) ** n * difference
        rounding = 2e-14 * far  # of x itself
        np.testing.assert_allclose(shifted, expected, rtol=1e-9 + rounding, atol=1e-8)
    poles = wengert.polygamma(n, wengert.tensor([-31.0, -1e4, -1e17], dtype=wengert.float64))
    assert poles.tolist() == [INF if n % 2 else -INF] * 3


def test_airy_far_out() -> None:
    """The amplitude falls with the fourth root, and the function vanishes on the right."""
    x = -np.linspace(2e6, 2e6 + 1, 4000)
    y = values(wengert, "airy_ai", x.tolist())
    assert np.abs(y).max() == pytest.approx(2e6**-0.25 / math.sqrt(math.pi), rel=1e-4)
    assert values(wengert, "airy_ai", [1e7, INF]).tolist() == [0, 0]


def test_airy_is_continuous_where_the_series_begins() -> None:
    from scipy import special

    x = np.array([-1e6 - 1e-3])
    inner = special.airy(x + 1e-2)[0]
    outer = values(wengert, "airy_ai", x.tolist())
    slope = 1e-2 * 1e6**0.25 / math.sqrt(math.pi)
    assert abs(inner - outer) <= 1.01 * slope


def test_the_slope_of_sinc_near_zero() -> None:
    x = wengert.tensor([0.0, 1e-12, 1e-5, 0.01, 0.0399, 0.0401], dtype=wengert.float64)
    x.requires_grad_()
    (slope,) = wengert.autograd.grad(wengert.sinc(x).sum(), x, create_graph=True)
    a = np.pi * x.detach().numpy()
    exact = np.pi * a * (-1 / 3 + a**2 / 30 - a**4 / 840 + a**6 / 45360 - a**8 / 3991680)
    np.testing.assert_allclose(slope.detach().numpy(), exact, rtol=1e-11)
    (curve,) = wengert.autograd.grad(slope.sum(), x)
    exact = np.pi**2 * (-1 / 3 + a**2 / 10 - a**4 / 168 + a**6 / 6480 - a**8 / 443520)
    np.testing.assert_allclose(curve.numpy(), exact, rtol=1e-7)


@pytest.mark.parametrize("order", [2, 3])
def test_modified_bessel_functions_of_higher_order_have_limits(order: int) -> None:
    """The second derivatives of the first orders are made of them."""
    from wengert.kernels.scipy_special import bessel

    x = np.array([INF, -INF, 1e300, 0.0])
    sign = (-1) ** order
    np.testing.assert_array_equal(bessel("i", order, x), [INF, sign * INF, INF, 0])
    scaled = 1 / math.sqrt(2 * math.pi) / 1e150
    np.testing.assert_allclose(bessel("ie", order, x), [0, 0, scaled, 0], rtol=1e-9)
