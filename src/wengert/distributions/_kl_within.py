"""KL divergences within a family, and between families of counts."""

from __future__ import annotations

import math
from typing import Any

from wengert.autograd import grad
from wengert.distributions._factors import mahalanobis
from wengert.distributions._numbers import sum_rightmost
from wengert.distributions.bernoulli import Bernoulli
from wengert.distributions.beta import Beta
from wengert.distributions.binomial import Binomial
from wengert.distributions.categorical import Categorical
from wengert.distributions.cauchy import Cauchy
from wengert.distributions.continuous_bernoulli import ContinuousBernoulli
from wengert.distributions.dirichlet import Dirichlet
from wengert.distributions.exp_family import ExponentialFamily
from wengert.distributions.exponential import Exponential
from wengert.distributions.gamma import Gamma
from wengert.distributions.geometric import Geometric
from wengert.distributions.gumbel import Gumbel
from wengert.distributions.half_normal import HalfNormal
from wengert.distributions.independent import Independent
from wengert.distributions.kl import kl_divergence, register_kl
from wengert.distributions.laplace import Laplace
from wengert.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from wengert.distributions.multivariate_normal import MultivariateNormal
from wengert.distributions.normal import Normal
from wengert.distributions.one_hot_categorical import OneHotCategorical
from wengert.distributions.pareto import Pareto
from wengert.distributions.poisson import Poisson
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.uniform import Uniform
from wengert.distributions.utils import euler_constant
from wengert.linalg import solve_triangular
from wengert.ops.activation import logsigmoid
from wengert.ops.broadcasting import broadcast_shapes
from wengert.ops.special import digamma, lgamma
from wengert.tensor.creation import full_like


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    ones = p.probs * (logsigmoid(p.logits) - logsigmoid(q.logits))
    ones = ones.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    zeros = (1 - p.probs) * (logsigmoid(-p.logits) - logsigmoid(-q.logits))
    return ones + zeros.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _poisson_bounded(p: Any, q: Any) -> Any:
    return full_like(p.rate, math.inf)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented: got"
            f" {p.total_count} and {q.total_count}"
        )
    failure = (-p.probs).log1p() - (-q.probs).log1p()
    kl = p.total_count * (p.probs * (p.logits - q.logits) + failure)
    return kl.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    norms = (lgamma(p.concentration) - lgamma(q.concentration)).sum(-1)
    means = digamma(p.concentration) - digamma(total_p).unsqueeze(-1)
    change = ((p.concentration - q.concentration) * means).sum(-1)
    return lgamma(total_p) - lgamma(total_q) - norms + change


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    # F. Chyzak and F. Nielsen, "A closed-form formula for the Kullback-Leibler divergence
    # between Cauchy distributions" (2019).
    squares = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return squares.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    own = p._log_norm() + logsigmoid(-p.logits)
    return p.mean * (p.logits - q.logits) + own - q._log_norm() - logsigmoid(-q.logits)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normaliser (Nielsen and Nock, 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed"
            f" using Bregman divergences: got {type(p).__name__} and {type(q).__name__}"
        )
    of_p = [x.detach().requires_grad_() for x in p._natural_params]
    normalizer = p._log_normalizer(*of_p)
    slopes = grad(normalizer.sum(), of_p, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for x, y, slope in zip(of_p, q._natural_params, slopes, strict=True):
        # Not of the last dimensions of an event: natural parameters have dimensions of their own.
        product = (y - x) * slope
        result = result - sum_rightmost(product, product.dim() - result.dim())
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    rates = q.concentration * (p.rate / q.rate).log()
    norms = lgamma(q.concentration) - lgamma(p.concentration)
    shapes = (p.concentration - q.concentration) * digamma(p.concentration)
    return rates + norms + shapes + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = (lgamma(1 + ratio) - shift).exp()
    return shift - ratio.log() + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale - ratio.log() + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    variances = (p.scale / q.scale).pow(2)
    return 0.5 * (variances + ((p.loc - q.loc) / q.scale).pow(2) - 1 - variances.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    kl = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return kl.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return kl.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be"
            f" computed: got {p.event_shape} and {q.event_shape}"
        )
    of_p, of_q = p.scale_tril, q.scale_tril
    log_dets = (of_q.diagonal(0, -2, -1).log() - of_p.diagonal(0, -2, -1).log()).sum(-1)
    batch = broadcast_shapes(of_p.shape[:-2], of_q.shape[:-2])
    square = of_p.shape[-2:]
    whitened = solve_triangular(
        of_q.expand((*batch, *square)), of_p.expand((*batch, *square)), upper=False
    )
    distance = mahalanobis(of_q, q.loc - p.loc)
    return log_dets + 0.5 * (whitened.pow(2).sum((-2, -1)) + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    # Of the factors: they are square in the size of an event, whatever the rank.
    return _multivariate_normal(p, q)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents of different reinterpreted_batch_ndims:"
            f" {p.reinterpreted_batch_ndims} and {q.reinterpreted_batch_ndims}"
        )
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            f"KL between distributions of different transforms: {p.transforms} of events"
            f" {p.event_shape}, {q.transforms} of events {q.event_shape}"
        )
    return kl_divergence(p.base_dist, q.base_dist)
