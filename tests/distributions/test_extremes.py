"""Distributions at extreme parameters: samples have densities, and formulas do not overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import wengert
from wengert import distributions as d

PEAKED = {
    "Beta": lambda t: d.Beta(t(0.1), t(0.1)),
    "Beta near 0": lambda t: d.Beta(t(0.01), t(1.0)),
    "Dirichlet": lambda t: d.Dirichlet(t([0.01, 0.01, 0.01])),
    "LogisticNormal": lambda t: d.LogisticNormal(t([50.0, -50.0]), t([1.0, 1.0])),
    "RelaxedBernoulli": lambda t: d.RelaxedBernoulli(t(0.01), logits=t(50.0)),
    "ContinuousBernoulli": lambda t: d.ContinuousBernoulli(logits=t([-1e38, 1e38, 200.0])),
    "Gamma": lambda t: d.Gamma(t(1e-4), t(1.0)),
}


@pytest.mark.parametrize("dtype", [wengert.float32, wengert.float64], ids=str)
@pytest.mark.parametrize("name", PEAKED)
def test_samples_have_densities(name: str, dtype: Any) -> None:
    wengert.manual_seed(0)
    of = PEAKED[name](lambda value: wengert.tensor(value, dtype=dtype))
    x = of.sample((500,))
    assert of.support.check(x).all()
    assert of.log_prob(x).isfinite().all()


@pytest.mark.torch
@pytest.mark.parametrize("concentration", [0.01, 0.1, 2.0])
def test_samples_at_the_edge_are_torchs(concentration: float, torch: Any) -> None:
    found = []
    for lib in (wengert, torch):
        lib.manual_seed(0)
        c = lib.full((3,), concentration).requires_grad_()
        x = lib.distributions.Dirichlet(c).rsample((100,))
        (g,) = lib.autograd.grad(x[:, 0].sum(), [c])
        found.append((x.detach().numpy(), g.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3, atol=1e-3)


LOGITS = [-1e38, -300.0, -20.0, -0.5, 0.02, 3.0, 40.0, 1e38]


def continuous(logit: float) -> tuple[Any, Any]:
    x = wengert.tensor(logit, dtype=wengert.float64, requires_grad=True)
    return x, d.ContinuousBernoulli(logits=x, validate_args=False)


@pytest.mark.parametrize("logit", LOGITS)
def test_continuous_bernoulli_of_any_logits(logit: float) -> None:
    x, of = continuous(logit)
    size = abs(logit)
    log_constant = math.log(size) - math.log(math.tanh(size / 2))
    low = 1 / size - (1 / math.expm1(size) if size < 700 else 0.0)
    mean = low if logit < 0 else 1 - low
    spread = 1 / size**2 - (0.25 / math.sinh(size / 2) ** 2 if size < 700 else 0.0)
    entropy = 1 - (size / math.expm1(size) if size < 700 else 0.0)
    entropy += math.log1p(math.exp(-size)) - log_constant
    top, bottom = (0.0, 1.0) if logit < 0 else (1.0, 0.0)
    expected = {
        of.mean: mean, of.variance: spread, of.entropy(): entropy,
        of.log_prob(wengert.tensor(top)): log_constant - math.log1p(math.exp(-size)),
        of.log_prob(wengert.tensor(bottom)): log_constant - size - math.log1p(math.exp(-size)),
        of.cdf(wengert.tensor(-1.0)): 0.0, of.cdf(wengert.tensor(1e30)): 1.0,
    }  # fmt: skip
    for found, value in expected.items():
        np.testing.assert_allclose(found.item(), value, rtol=1e-9, atol=1e-11)
        (g,) = wengert.autograd.grad(found, [x], retain_graph=True)
        assert g.isfinite().all()
    u = wengert.tensor([0.0, 1e-9, 0.3, 0.999, 1.0], dtype=wengert.float64)
    values = of.icdf(u)
    assert ((values >= 0) & (values <= 1)).all()
    if size < 100:
        np.testing.assert_allclose(of.cdf(values).detach(), u, atol=1e-9)
        middle = wengert.tensor(0.4, dtype=wengert.float64, requires_grad=True)
        (density,) = wengert.autograd.grad(of.cdf(middle), [middle])
        np.testing.assert_allclose(density.log(), of.log_prob(middle).detach(), atol=1e-9)


def test_generalized_pareto_beyond_its_support() -> None:
    of = d.GeneralizedPareto(
        wengert.tensor(0.0), wengert.tensor(1e-30), wengert.tensor(-2.0), validate_args=False
    )
    assert of.log_prob(wengert.tensor(-1e30)).item() == -math.inf


@pytest.mark.torch
def test_gamma_takes_a_number_for_a_value(torch: Any) -> None:
    for value in (1, 1.5):
        for name, arguments in (("Gamma", ([2.0, 3.0], [1.0, 2.0])), ("Chi2", ([2.0, 3.0],))):
            ours, theirs = (
                getattr(m.distributions, name)(*map(m.tensor, arguments)).log_prob(value).numpy()
                for m in (wengert, torch)
            )
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    with pytest.raises(ValueError, match="support"):
        wengert.distributions.Gamma(2.0, 1.0).log_prob(-1.0)


def test_integer_parameters() -> None:
    integers = wengert.tensor([3, 5])
    for sample in (
        wengert.distributions.FisherSnedecor(integers, integers).sample(),
        wengert.distributions.GeneralizedPareto(0, 1, integers).icdf(wengert.tensor([0.5, 0.5])),
    ):
        assert sample.dtype == wengert.float32
        assert (sample > 0).all()
    with pytest.raises(RuntimeError, match="without overflow"):
        _ = wengert.distributions.FisherSnedecor(integers, wengert.tensor([1, 2])).mean
