"""KL divergences between families of single numbers.

``KL(p || q) = -H(p) - E log q(x)``, where log q is a sum of few functions of x: itself, its
square, its logarithm. Each family gives their means; where p reaches beyond the support of q,
the divergence is infinite.
"""

from __future__ import annotations

import math
from typing import Any

from wengert.distributions.beta import Beta
from wengert.distributions.continuous_bernoulli import ContinuousBernoulli
from wengert.distributions.exponential import Exponential
from wengert.distributions.gamma import Gamma
from wengert.distributions.gumbel import Gumbel
from wengert.distributions.kl import register_kl
from wengert.distributions.laplace import Laplace
from wengert.distributions.normal import Normal
from wengert.distributions.pareto import Pareto
from wengert.distributions.uniform import Uniform
from wengert.distributions.utils import euler_constant
from wengert.ops.activation import logsigmoid
from wengert.ops.exponential import xlogy
from wengert.ops.special import digamma, erf, lgamma
from wengert.tensor.creation import full_like

_INTERVAL, _POSITIVE = (Beta, ContinuousBernoulli), (Exponential, Gamma)
_EVERYWHERE = (Gumbel, Laplace, Normal)


def _mean_log(d: Any) -> Any:
    """E log x."""
    if isinstance(d, Beta):
        return digamma(d.concentration1) - digamma(d.concentration1 + d.concentration0)
    if isinstance(d, Gamma):
        return digamma(d.concentration) - d.rate.log()
    if isinstance(d, Exponential):
        return -euler_constant - d.rate.log()
    if isinstance(d, Pareto):
        return d.scale.log() + d.alpha.reciprocal()
    return _mean_log_uniform(d.low, d.high)


def _mean_log_uniform(low: Any, high: Any) -> Any:
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


def _mean_exp(d: Any, t: Any) -> Any:
    """E exp(-t x), for t > 0."""
    if isinstance(d, Gamma):
        return (1 + t / d.rate).pow(-d.concentration)
    if isinstance(d, Exponential):
        return d.rate / (d.rate + t)
    if isinstance(d, Normal):
        return (-t * d.loc + 0.5 * (t * d.scale).pow(2)).exp()
    return ((-t * d.low).exp() - (-t * d.high).exp()) / (t * (d.high - d.low))


def _under_beta(p: Any, q: Any) -> Any:
    # p is uniform: the only other family on an interval of which PyTorch knows a divergence.
    complement = _mean_log_uniform(1 - p.high, 1 - p.low)
    a, b = q.concentration1, q.concentration0
    norm = lgamma(a) + lgamma(b) - lgamma(a + b)
    return (a - 1) * _mean_log(p) + (b - 1) * complement - norm


def _under_continuous_bernoulli(p: Any, q: Any) -> Any:
    return p.mean * q.logits + logsigmoid(-q.logits) + q._log_norm()


def _under_exponential(p: Any, q: Any) -> Any:
    return q.rate.log() - q.rate * p.mean


def _under_gamma(p: Any, q: Any) -> Any:
    norm = q.concentration * q.rate.log() - lgamma(q.concentration)
    return norm + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean


def _under_normal(p: Any, q: Any) -> Any:
    squares = p.variance + (p.mean - q.loc).pow(2)
    return -q.scale.log() - 0.5 * math.log(2 * math.pi) - squares / (2 * q.scale.pow(2))


def _under_pareto(p: Any, q: Any) -> Any:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)


def _under_uniform(p: Any, q: Any) -> Any:
    return -(q.high - q.low).log()


def _under_gumbel(p: Any, q: Any) -> Any:
    tail = (q.loc / q.scale).exp() * _mean_exp(p, q.scale.reciprocal())
    return (q.loc - p.mean) / q.scale - tail - q.scale.log()


def _under_laplace(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    z = distance / (math.sqrt(2) * p.scale)
    folded = p.scale * math.sqrt(2 / math.pi) * (-z.pow(2)).exp() + distance * erf(z)
    return -(2 * q.scale).log() - folded / q.scale


def _bounds(d: Any) -> tuple[Any, Any]:
    """The ends of the support of a distribution on an interval."""
    return (d.low, d.high) if isinstance(d, Uniform) else (0.0, 1.0)


def _register(q_type: Any, expected_log: Any, p_types: tuple[Any, ...]) -> None:
    """The divergences of these families from one, given the mean under p of its log density."""

    def kl(p: Any, q: Any) -> Any:
        value = -p.entropy() - expected_log(p, q)
        beyond = _beyond(p, q)
        return value if beyond is None else value.masked_fill(beyond, math.inf)

    for p_type in p_types:
        register_kl(p_type, q_type)(kl)


def _beyond(p: Any, q: Any) -> Any:
    """Where p reaches beyond the support of q, as some of its families can; None for others."""
    if isinstance(q, Uniform) or (isinstance(p, Uniform) and isinstance(q, _INTERVAL)):
        (low, high), (q_low, q_high) = _bounds(p), _bounds(q)
        return (low < q_low) | (high > q_high)
    if isinstance(p, Uniform) and isinstance(q, (*_POSITIVE, Pareto)):
        return p.low < (q.scale if isinstance(q, Pareto) else 0.0)
    return None


def _register_infinite(q_type: Any, p_types: tuple[Any, ...]) -> None:
    """The divergences of families that always reach beyond the support of q."""
    for p_type in p_types:
        register_kl(p_type, q_type)(lambda p, q: full_like(p.mean, math.inf))


_register(Beta, _under_beta, (Uniform,))
_register(ContinuousBernoulli, _under_continuous_bernoulli, (Beta, Uniform))
_register(Exponential, _under_exponential, (*_INTERVAL, Gamma, Pareto, Uniform))
_register(Gamma, _under_gamma, (Beta, Exponential, Pareto, Uniform))
_register(Gumbel, _under_gumbel, (*_POSITIVE, Normal, Uniform))
_register(Laplace, _under_laplace, (Normal,))
_register(Normal, _under_normal, (*_INTERVAL, *_POSITIVE, Gumbel, Laplace, Pareto, Uniform))
_register(Pareto, _under_pareto, (Uniform,))
_register(Uniform, _under_uniform, _INTERVAL)

_register_infinite(Beta, (*_POSITIVE, *_EVERYWHERE, Pareto))
_register_infinite(ContinuousBernoulli, (*_POSITIVE, *_EVERYWHERE, Pareto))
_register_infinite(Exponential, _EVERYWHERE)
_register_infinite(Gamma, _EVERYWHERE)
_register_infinite(Pareto, (*_INTERVAL, *_POSITIVE, *_EVERYWHERE))
_register_infinite(Uniform, (*_POSITIVE, *_EVERYWHERE, Pareto))
