"""Random numbers, and samples of distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sweeps._sample import (
    CHANCES,
    LINES,
    POSITIVE,
    ROWS,
    Input,
    Sample,
    X,
    calling,
    of,
    sample,
    shaped,
)
from sweeps.shapes import making

RATES = of(ROWS, kind="uniform", low=10, high=100)
TRIALS = of(ROWS, kind="counts", low=20, high=60)

FUNCTIONS = [
    *(making(name, lambda m, s, name=name: getattr(m, name)(s)) for name in ("rand", "randn")),
    making("rand of float64", lambda m, s: m.rand(s, dtype=m.float64)),
    making("randn of float64", lambda m, s: m.randn(s, dtype=m.float64)),
    making("randint", lambda m, s: m.randint(100, s)),
    making("randperm", lambda m, s: m.randperm(s[0] * s[1])),
    *(sample(name, X, backward=False) for name in ("rand_like", "randn_like")),
    sample("normal", X, POSITIVE, backward=False),
    sample("bernoulli", CHANCES, backward=False),
    sample("poisson", POSITIVE, backward=False),
    sample("poisson of large rates", RATES, backward=False),
    sample("binomial", TRIALS, CHANCES, backward=False),
    calling("multinomial of one", CHANCES, backward=False)(1),
    calling("multinomial", CHANCES, backward=False)(10),
    calling("multinomial with replacement", CHANCES, backward=False)(10, True),
    *(sample(name, X, backward=False, call=lambda m, x, name=name: getattr(x, name)())
      for name in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "random_",
                   "bernoulli_")),
    calling("geometric_", X, backward=False)(0.3),
    calling("nn.functional.dropout", X)(0.3),
    calling("nn.functional.alpha_dropout", X)(0.3, True),
    calling("nn.functional.dropout2d", of({k: (*s, 1) for k, s in LINES.items()}))(0.3),
]  # fmt: skip

# Where libraries are not alike, PyTorch's slopes of gamma numbers are approximations, whose errors
# heavy tails magnify.
# Distributions by their parameters; numbers for those that are not inputs.
COVARIANCE = shaped(lambda k: (10 ** (k - 2), 10))


def drawn(name: str, *inputs: Input, build: Callable[..., Any] | None = None,
          **options: Any) -> Sample:  # fmt: skip
    """A sample of a distribution, differentiable in its parameters if it can be."""

    def call(m: Any, *parameters: Any) -> Any:
        make = getattr(m.distributions, name.partition(" ")[0])
        one = make(*parameters) if build is None else build(make, *parameters)
        return one.rsample() if one.has_rsample else one.sample()

    return Sample(f"distributions.{name}", call, inputs, **options)


DISTRIBUTIONS = [
    *(drawn(name, X, POSITIVE)
      for name in ("Normal", "Cauchy", "Gumbel", "Laplace", "LogNormal")),
    *(drawn(name, POSITIVE, POSITIVE)
      for name in ("Gamma", "Beta", "Weibull", "Kumaraswamy", "Pareto")),
    drawn("FisherSnedecor", POSITIVE, POSITIVE, most=6, alike=False),
    drawn("InverseGamma", POSITIVE, POSITIVE, most=6),
    drawn("Gamma of large shapes", RATES, POSITIVE),
    *(drawn(name, POSITIVE) for name in ("Chi2", "Exponential", "HalfNormal", "HalfCauchy")),
    drawn("StudentT", POSITIVE, alike=False),
    drawn("Dirichlet", of({k: (10 ** (k - 1), 10) for k in range(3, 8)}, kind="uniform", low=0.1,
                          high=2.0)),
    drawn("Uniform", of(ROWS, kind="uniform"), of(ROWS, kind="uniform", low=1, high=2)),
    *(drawn(name, CHANCES, backward=False) for name in ("Bernoulli", "Geometric")),
    drawn("ContinuousBernoulli", CHANCES),
    drawn("Poisson", RATES, backward=False),
    drawn("Binomial", TRIALS, CHANCES, backward=False),
    drawn("NegativeBinomial", of(ROWS, kind="uniform", low=3, high=9), CHANCES, backward=False),
    drawn("Categorical", CHANCES, backward=False),
    drawn("OneHotCategorical", CHANCES, backward=False),
    drawn("Multinomial", CHANCES, backward=False, build=lambda make, p: make(10, p)),
    drawn("RelaxedBernoulli", CHANCES, build=lambda make, p: make(p.new_tensor(0.5), p)),
    drawn("RelaxedOneHotCategorical", CHANCES, build=lambda make, p: make(p.new_tensor(0.5), p)),
    drawn("LogisticNormal", X, POSITIVE),
    drawn("VonMises", X, POSITIVE, backward=False, most=6),
    drawn("MultivariateNormal", COVARIANCE, most=6,
          build=lambda make, x: make(x, x.new_ones(10).diag())),
    drawn("LowRankMultivariateNormal", COVARIANCE, most=6, build=lambda make, x: make(
        x, x.new_ones(10, 2), x.new_ones(10))),
    drawn("Wishart", shaped(lambda k: (10 ** (k - 2),), kind="uniform", low=20, high=30), most=5,
          alike=False, build=lambda make, n: make(n, n.new_ones(10).diag())),
    drawn("LKJCholesky", shaped(lambda k: (10 ** (k - 2),), kind="uniform", low=1, high=2),
          most=5, backward=False, build=lambda make, c: make(10, c)),
]  # fmt: skip

FAMILY: list[Sample] = [*FUNCTIONS, *DISTRIBUTIONS]
