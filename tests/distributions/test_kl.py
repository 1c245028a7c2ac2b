"""KL divergences, for every pair that PyTorch knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.distributions.families import FACTOR, MATRIX, PROBS
from wengert.distributions import (
    Distribution,
    Independent,
    Normal,
    kl,
    kl_divergence,
    register_kl,
)

# Two sets of parameters by class; the second is of q.
PARAMETERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Bernoulli": ({"probs": [0.2, 0.5]}, {"probs": [0.0, 0.4]}),
    "Beta": ({"concentration1": [0.5, 2.0], "concentration0": [0.7, 3.0]},
             {"concentration1": [1.5, 1.0], "concentration0": [2.0, 0.4]}),
    "Binomial": ({"total_count": 6, "probs": [0.2, 0.6]}, {"total_count": 6, "probs": [0.5, 0.1]}),
    "Categorical": ({"probs": PROBS}, {"probs": PROBS[::-1]}),
    "Cauchy": ({"loc": [0.5], "scale": [1.0]}, {"loc": [1.5], "scale": [3.0]}),
    "ContinuousBernoulli": ({"probs": [0.2, 0.5]}, {"probs": [0.4, 0.8]}),
    "Dirichlet": ({"concentration": PROBS}, {"concentration": PROBS[::-1]}),
    "Exponential": ({"rate": [0.5, 3.0]}, {"rate": [1.5, 0.2]}),
    "Gamma": ({"concentration": [0.5, 3.0], "rate": [1.0, 2.0]},
              {"concentration": [1.5, 2.0], "rate": [0.3, 2.5]}),
    "Geometric": ({"probs": [0.2, 0.6]}, {"probs": [0.5, 0.1]}),
    "Gumbel": ({"loc": [0.5, 1.0], "scale": [1.0, 0.4]}, {"loc": [1.5, 0.0], "scale": [3.0, 2.0]}),
    "HalfNormal": ({"scale": [0.5, 1.0]}, {"scale": [1.5, 0.3]}),
    "Laplace": ({"loc": [0.5, 1.0], "scale": [1.0, 0.4]}, {"loc": [1.5, 0.0], "scale": [3.0, 2.0]}),
    "LogNormal": ({"loc": [0.5], "scale": [1.0]}, {"loc": [1.5], "scale": [3.0]}),
    "LowRankMultivariateNormal": (
        {"loc": [0.5, -1.0, 0.2], "cov_factor": [[1.0], [0.5], [-0.3]],
         "cov_diag": [1.0, 0.5, 2.0]},
        {"loc": [0.0, 1.0, 0.2], "cov_factor": [[0.5], [0.5], [0.3]],
         "cov_diag": [2.0, 1.5, 2.0]},
    ),
    "MultivariateNormal": (
        {"loc": [[0.5, -1.0, 0.2]] * 2, "scale_tril": FACTOR},
        {"loc": [0.5, 1.0, 0.2], "covariance_matrix": MATRIX.tolist()},
    ),
    "Normal": ({"loc": [0.5, 1.0], "scale": [1.0, 0.4]}, {"loc": [1.5, 0.0], "scale": [3.0, 2.0]}),
    "OneHotCategorical": ({"probs": PROBS}, {"probs": PROBS[::-1]}),
    "Pareto": ({"scale": [1.0, 0.5], "alpha": [3.0, 2.5]},
               {"scale": [0.5, 0.7], "alpha": [1.0, 2.0]}),
    "Poisson": ({"rate": [0.5, 3.0]}, {"rate": [1.5, 0.2]}),
    "Uniform": ({"low": [0.2, -1.0], "high": [0.7, 3.0]}, {"low": [0.0, 0.0], "high": [1.0, 4.0]}),
}  # fmt: skip


def pairs() -> list[tuple[str, str]]:
    names = [(a.__name__, b.__name__) for a, b in kl.formulas]
    known = [p for p in names if p[0] in PARAMETERS and p[1] in PARAMETERS]
    known.remove(("ContinuousBernoulli", "Uniform"))  # infinite in PyTorch where it is finite
    return sorted([*known, ("LogNormal", "LogNormal")])


def divergence(lib: Any, names: tuple[str, str]) -> tuple[np.ndarray, list[np.ndarray]]:
    """KL(p || q) and the gradients with respect to all parameters."""
    leaves, made = [], []
    for i, name in enumerate(names):
        given = dict(PARAMETERS[name][i])
        for key, value in given.items():
            if isinstance(value, list):
                given[key] = lib.tensor(value, dtype=lib.float64).requires_grad_()
                leaves.append(given[key])
        made.append(getattr(lib.distributions, name)(**given))
    value = lib.distributions.kl_divergence(*made)
    finite = value[lib.isfinite(value)]
    if not finite.requires_grad or finite.numel() == 0:
        return value.detach().numpy(), []
    slopes = lib.autograd.grad(finite.sum(), leaves, allow_unused=True)
    return value.detach().numpy(), [
        np.nan_to_num(np.zeros(leaf.shape) if s is None else s.numpy())
        for leaf, s in zip(leaves, slopes, strict=True)
    ]


@pytest.mark.torch
@pytest.mark.parametrize("names", pairs(), ids="-".join)
def test_divergences(torch: Any, names: tuple[str, str]) -> None:
    ours, our_slopes = divergence(wengert, names)
    theirs, their_slopes = divergence(torch, names)
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    for a, b in zip(our_slopes, their_slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-10)


@pytest.mark.torch
def test_the_same_pairs_as_pytorchs(torch: Any) -> None:
    ours = {(a.__name__, b.__name__) for a, b in kl.formulas
            if a.__module__.startswith("wengert.")}  # fmt: skip
    theirs = {(a.__name__, b.__name__) for a, b in torch.distributions.kl._KL_REGISTRY}
    assert ours == theirs


def test_a_continuous_bernoulli_distribution_within_a_uniform_one() -> None:
    p = wengert.distributions.ContinuousBernoulli(probs=wengert.tensor([0.2, 0.2]))
    q = wengert.distributions.Uniform(wengert.tensor([0.0, 0.5]), 1.0)
    found = kl_divergence(p, q)
    assert found[0].item() == pytest.approx(-p.entropy()[0].item())
    assert found[1].item() == float("inf")


def test_independent_sums() -> None:
    p, q = Normal(wengert.zeros(2, 3), 1.0), Normal(wengert.ones(2, 3), 1.0)
    found = kl_divergence(Independent(p, 1), Independent(q, 1))
    assert found.tolist() == kl_divergence(p, q).sum(-1).tolist()
    with pytest.raises(NotImplementedError, match="reinterpreted_batch_ndims"):
        kl_divergence(Independent(p, 1), Independent(q, 2))


def test_unknown_pairs_are_named() -> None:
    with pytest.raises(NotImplementedError, match="for p type Cauchy and q type Normal"):
        kl_divergence(wengert.distributions.Cauchy(0.0, 1.0), Normal(0.0, 1.0))


def test_the_closest_classes_count() -> None:
    class Left(Normal): ...

    class Right(Normal): ...

    assert kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == 0
    try:
        register_kl(Left, Normal)(lambda p, q: "left")
        assert kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0)) == "left"
        register_kl(Normal, Right)(lambda p, q: "right")
        with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
            kl_divergence(Left(0.0, 1.0), Right(0.0, 1.0))
    finally:
        for pair in ((Left, Normal), (Normal, Right)):
            kl.formulas.pop(pair, None)
        kl.resolved.clear()
    with pytest.raises(TypeError, match="type_q to be a Distribution subclass"):
        register_kl(Distribution, 3)  # type: ignore[arg-type]


@pytest.mark.torch
def test_wishart_distributions_one_by_one_and_in_a_batch(torch: Any) -> None:
    """In PyTorch the divergences of a batch have parts of each other."""
    results = []
    for library in (wengert, torch):
        family, eye = library.distributions.Wishart, library.eye(3)
        pairs = [
            (family(library.tensor(a), eye * 2), family(library.tensor(b), eye + 0.5))
            for a, b in ((5.0, 6.0), (7.0, 4.0))
        ]
        divergence = library.distributions.kl_divergence
        results.append([divergence(p, q).item() for p, q in pairs])
    assert results[0] == pytest.approx(results[1], rel=1e-5)
    family, eye = wengert.distributions.Wishart, wengert.eye(3)
    p, q = family(wengert.tensor([5.0, 7.0]), eye * 2), family(wengert.tensor([6.0, 4]), eye + 0.5)
    assert wengert.distributions.kl_divergence(p, q).tolist() == pytest.approx(results[1], rel=1e-5)
