"""How quantiles move: kernels and NumPy integrate the same, in all tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import quantiles
from wengert.kernels.quantiles import dirichlet_quantile_slope, gamma_quantile_slope


def gamma_arguments(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Shapes over nine decades, and samples from all of their tails."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-3, 6, size)
    return a, np.maximum(rng.gamma(a), 1e-300) * np.exp(rng.normal(size=size) / np.sqrt(1 + a))


def large_shapes(size: int) -> tuple[np.ndarray, np.ndarray]:
    a, x = gamma_arguments(10 * size)
    large = a >= 8
    return a[large], x[large]


def beta_arguments(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-2, 3.5, (2, size))
    x = rng.beta(a, b)
    return np.clip(x, 1e-300, 1 - 1e-12), a, a + b


@needs_llvmlite
@pytest.mark.parametrize(
    ("function", "make", "rounded", "error"),
    [
        (gamma_quantile_slope, gamma_arguments, False, 1e-9),
        (gamma_quantile_slope, gamma_arguments, True, 1.5e-6),  # sums of float32
        (gamma_quantile_slope, large_shapes, True, 5e-7),
        (dirichlet_quantile_slope, beta_arguments, False, 1e-9),
        (dirichlet_quantile_slope, beta_arguments, True, 2e-8),
    ],
)
def test_kernels_integrate_as_numpy_does(
    function: Any, make: Any, rounded: bool, error: float
) -> None:
    arguments = make(3001)
    found = function(*arguments, rounded)
    with by_numpy(quantiles):
        np.testing.assert_allclose(found, function(*arguments), rtol=error)


def slopes(gamma: Any, usual: Any, beta: Any) -> list[np.ndarray]:
    return [
        gamma_quantile_slope(*gamma),
        gamma_quantile_slope(*usual, True),
        dirichlet_quantile_slope(*beta),
    ]


def test_kernels_stay_within_their_arrays() -> None:
    """In Python, which checks each index, for numbers of elements that are no multiple."""
    for size in (1, 17):
        gamma, beta = gamma_arguments(size), beta_arguments(size)
        usual = np.abs(gamma[0]) + 0.25, gamma[1]
        found = slopes(gamma, usual, beta)
        with in_python((quantiles, "_FEW")), np.errstate(all="ignore"):
            slow = slopes(gamma, usual, beta)
        for a, b in zip(found, slow, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_slopes_of_what_is_no_parameter_are_no_numbers() -> None:
    for size in (3, 300):
        a = np.tile([-1.0, np.nan, 0.0], size // 3)
        assert np.isnan(gamma_quantile_slope(a, np.ones(size))).all()
