"""Random numbers whose parameters are differentiable, and how samples move with those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.distributions import Beta, Dirichlet, Distribution, Gamma, Normal, Wishart
from wengert.kernels.quantiles import dirichlet_quantile_slope, gamma_quantile_slope


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binomial_numbers_are_pytorchs(torch: Any, dtype: str) -> None:
    found = []
    for lib in (wengert, torch):
        lib.manual_seed(0)
        kind = getattr(lib, dtype)
        count = lib.tensor([5.0, 100.0, 20.0, 1000.0, 7.0, 50.0, 0.0], dtype=kind)
        chance = lib.tensor([0.3, 0.5, 0.9, 0.2, 1.0, 0.0, 0.5], dtype=kind)
        drawn = [lib.binomial(count, chance) for _ in range(20)]
        found.append([d.tolist() for d in drawn] + [lib.rand(1).item()])
    assert found[0] == found[1]


def test_binomial_wants_one_dtype() -> None:
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        wengert.binomial(wengert.ones(1), wengert.ones(1, dtype=wengert.float64))
    with pytest.raises(NotImplementedError, match="binomial_cpu"):
        wengert.binomial(wengert.ones(1, dtype=wengert.int64), wengert.ones(1))


def test_quantiles_of_the_gamma_distribution() -> None:
    """Against the change of SciPy's quantiles."""
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(0)
    a, p = 10 ** rng.uniform(-1.5, 3, 200), rng.uniform(0.01, 0.99, 200)
    x, h = special.gammaincinv(a, p), 1e-4 * a
    steps = [special.gammaincinv(a + k * h, p) for k in (-2, -1, 1, 2)]
    quotient = (8 * (steps[2] - steps[1]) - (steps[3] - steps[0])) / (12 * h)
    np.testing.assert_allclose(gamma_quantile_slope(a, x), quotient, rtol=1e-7)


def test_quantiles_of_the_beta_distribution() -> None:
    special = pytest.importorskip("scipy.special")
    rng = np.random.default_rng(0)
    a, b = 10 ** rng.uniform(-1, 2, (2, 200))
    p = rng.uniform(0.1, 0.9, 200)
    x, h = special.betaincinv(a, b, p), 1e-4 * a
    far = (x < 1 - 1e-3) & (x > 1e-12)
    steps = [special.betaincinv(a + k * h, b, p) for k in (-2, -1, 1, 2)]
    quotient = (8 * (steps[2] - steps[1]) - (steps[3] - steps[0])) / (12 * h)
    found = dirichlet_quantile_slope(x, a, a + b) * (1 - x)
    np.testing.assert_allclose(found[far], quotient[far], rtol=1e-6)


def test_no_second_derivative_of_gamma_samples() -> None:
    for make in (lambda c: Gamma(c, 1.0), Dirichlet, lambda c: Beta(c, c)):
        c = wengert.tensor([0.7, 3.0], requires_grad=True)
        (slope,) = wengert.autograd.grad((make(c).rsample() ** 2).sum(), c, create_graph=True)
        with pytest.raises(NotImplementedError, match="the derivative for"):
            slope.sum().backward()


def test_moments_of_samples_follow_the_parameters() -> None:
    """The mean of a gamma distribution has slope 1 in its shape."""
    wengert.manual_seed(0)
    c = wengert.tensor(2.5, dtype=wengert.float64, requires_grad=True)
    Gamma(c, 1.0).rsample((4000,)).mean().backward()
    assert abs(c.grad.item() - 1) < 0.05
    samples = Wishart(wengert.tensor(5.0), covariance_matrix=wengert.eye(2)).sample((3000,))
    assert (samples.mean(0) - 5 * wengert.eye(2)).abs().max() < 0.3


def test_samples_carry_no_gradient() -> None:
    loc = wengert.zeros(2, requires_grad=True)
    assert not Normal(loc, 1.0).sample().requires_grad
    assert Normal(loc, 1.0).rsample().requires_grad
    with pytest.warns(FutureWarning, match="sample_n"):
        assert Normal(loc, 1.0).sample_n(3).shape == (3, 2)


def test_checks_can_be_turned_off() -> None:
    assert Normal(0.0, -1.0, validate_args=False).scale == -1
    Distribution.set_default_validate_args(False)
    try:
        assert Normal(0.0, -1.0).scale == -1
    finally:
        Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError, match="Expected parameter scale"):
        Normal(0.0, -1.0)


def test_subclasses_with_their_own_arguments_define_expand() -> None:
    class Shifted(Normal):
        def __init__(self) -> None:
            super().__init__(1.0, 1.0)

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand"):
        Shifted().expand((2,))

    class Named(Normal): ...

    assert type(Named(0.0, 1.0).expand((2,))) is Named


def test_a_value_of_the_wrong_shape_is_refused() -> None:
    d = Normal(wengert.zeros(2), 1.0)
    with pytest.raises(ValueError, match="must be a Tensor"):
        d.log_prob(0.5)
    with pytest.raises(ValueError, match="not broadcastable with batch_shape"):
        d.log_prob(wengert.zeros(3))
    with pytest.raises(ValueError, match="right-most size of value must match event_shape"):
        Dirichlet(wengert.ones(3)).log_prob(wengert.ones(2) / 2)


@pytest.mark.torch
def test_mixtures(torch: Any) -> None:
    x = np.random.default_rng(0).standard_normal((4, 2))
    found = []
    for lib in (wengert, torch):
        lib.manual_seed(0)
        d = lib.distributions
        loc = lib.arange(6, dtype=lib.float64).reshape(2, 3).requires_grad_()
        weights = d.Categorical(lib.ones(2, 3, dtype=lib.float64))
        mixture = d.MixtureSameFamily(weights, d.Normal(loc, 1.0))
        value = lib.from_numpy(x)
        log_prob = mixture.log_prob(value)
        slope = lib.autograd.grad(log_prob.sum(), loc)[0]
        results = [log_prob.detach(), slope, mixture.cdf(value).detach(), mixture.mean.detach(),
                   mixture.variance.detach(), mixture.sample((5,)),
                   mixture.expand((3, 2)).sample()]  # fmt: skip
        found.append([r.numpy() for r in results])
        found[-1].append(repr(mixture).replace("grad_fn", ""))
        vectors = d.MixtureSameFamily(
            d.Categorical(lib.ones(3)), d.Independent(d.Normal(lib.zeros(3, 2), 1.0), 1)
        )
        assert vectors.log_prob(vectors.sample((4,))).shape == (4,)
        found[-1].append(vectors.sample((4,)).numpy())
        with pytest.raises(ValueError, match="does not equal"):
            d.MixtureSameFamily(weights, d.Normal(lib.zeros(2, 4), 1.0))
    for ours, theirs in zip(*found, strict=True):
        if isinstance(ours, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.torch
def test_generalized_pareto_in_float32(torch: Any) -> None:
    """In float64 PyTorch's mixes dtypes."""
    x = np.array([[1.5, 1.2], [2.0, 4.0]], np.float32)
    found = []
    for lib in (wengert, torch):
        c = lib.tensor([0.2, -0.3])
        d = lib.distributions.GeneralizedPareto(lib.tensor([0.5, 1.0]), lib.tensor([1.0, 2.0]), c)
        v = lib.from_numpy(x)
        found.append([d.log_prob(v).numpy(), d.cdf(v).numpy(), d.log_survival_function(v).numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6)
