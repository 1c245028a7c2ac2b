"""How quantiles move: kernels and NumPy integrate the same, in all tails."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import quantiles
from wengert.kernels.quantiles import (
    FULL,
    SHORT,
    Rule,
    dirichlet_quantile_slope,
    gamma_quantile_slope,
)

each_rule = pytest.mark.parametrize(("rule", "error"), [(FULL, 1e-9), (SHORT, 2e-8)])


def gamma_arguments(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Shapes over nine decades, and samples from all of their tails."""
    rng = np.random.default_rng(0)
    a = 10 ** rng.uniform(-3, 6, size)
    return a, np.maximum(rng.gamma(a), 1e-300) * np.exp(rng.normal(size=size) / np.sqrt(1 + a))


def beta_arguments(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-2, 3.5, (2, size))
    x = rng.beta(a, b)
    return np.clip(x, 1e-300, 1 - 1e-12), a, a + b


@needs_llvmlite
@each_rule
def test_kernels_integrate_as_numpy_does(rule: Rule, error: float) -> None:
    for function, arguments in (
        (gamma_quantile_slope, gamma_arguments(3001)),
        (dirichlet_quantile_slope, beta_arguments(3001)),
    ):
        found = function(*arguments, rule)
        with by_numpy(quantiles):
            np.testing.assert_allclose(found, function(*arguments), rtol=error)


def test_kernels_stay_within_their_arrays() -> None:
    """In Python, which checks each index, for numbers of elements that are no multiple."""
    for size in (1, 17):
        gamma, beta = gamma_arguments(size), beta_arguments(size)
        found = gamma_quantile_slope(*gamma), dirichlet_quantile_slope(*beta)
        with in_python((quantiles, "_FEW")), np.errstate(all="ignore"):
            slow = gamma_quantile_slope(*gamma), dirichlet_quantile_slope(*beta)
        for a, b in zip(found, slow, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9)


def test_slopes_of_what_is_no_parameter_are_no_numbers() -> None:
    for size in (3, 300):
        a = np.tile([-1.0, np.nan, 0.0], size // 3)
        assert np.isnan(gamma_quantile_slope(a, np.ones(size))).all()
