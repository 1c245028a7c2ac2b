"""Random choices, as functions of the numbers that were drawn for them.

The numbers come from `wengert._random.drawn`; what is made of them here has no slope. The
checks are operations too, so that they see the values of a batch; they come before the draw.
"""

from __future__ import annotations

import math

import numpy as np

from wengert import kernels
from wengert._random import Generator
from wengert.ops._batching import leading
from wengert.ops._declare import Value, primitive
from wengert.ops.rounding import no_slope

Generator.filler = staticmethod(lambda bits, words: kernels.twister.fill(bits, words))


@primitive(input=None, batch=leading, name="bernoulli")
def check_probabilities(input: Value) -> Value:
    """The input; RuntimeError unless all of it lies in [0, 1]."""
    if input.size and not (input.min() >= 0 and input.max() <= 1):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true, but got false: bernoulli() got"
            f" probabilities from {input.min()} to {input.max()}"
        )
    return input


@primitive(
    input=lambda g: no_slope(g),
    draws=None,
    mixed=False,
    batch=leading,
    label="BernoulliBackward0",
    name="bernoulli",
)
def successes(input: Value, draws: Value, p: float | None = None) -> Value:
    """1 where a draw from [0, 1) is below the probability: that in `input`, or else `p`."""
    if p is None:
        return (draws < input.astype(draws.dtype, copy=False)).astype(input.dtype)
    return (draws < p).astype(input.dtype)


@primitive(input=None, batch=leading, name="normal")
def check_deviations(input: Value) -> Value:
    """The input; RuntimeError for a negative standard deviation."""
    if input.size and not input.min() >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {input.min()}")
    return input


@primitive(
    mean=lambda g: no_slope(g),
    std=lambda g: no_slope(g),
    draws=None,
    mixed=False,
    batch=leading,
    label="NormalBackward3",
    name="normal",
)
def normals(mean: Value, std: Value, draws: Value) -> Value:
    """Standard normal draws with another mean and standard deviation, all of one shape."""
    return (draws * std + mean).astype(draws.dtype, copy=False)


@primitive(input=None, batch=leading, name="multinomial")
def check_weights(input: Value) -> Value:
    """The input; RuntimeError for weights that are no distribution."""
    if not (np.isfinite(input).all() and (input >= 0).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (input.sum(-1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return input


@primitive(input=None, draws=None, mixed=False, batch=leading, name="multinomial")
def without_replacement(input: Value, draws: Value, n: int) -> Value:
    """The categories whose exponential clocks, running at the rate of the weights, ring first."""
    clocks = draws.astype(input.dtype)
    clocks[clocks == 0] = np.finfo(np.float32).tiny
    early = input / clocks
    if n == 1:
        return early.argmax(-1)[..., None]
    return np.argsort(-early, axis=-1, kind="stable")[..., :n]


@primitive(input=None, draws=None, mixed=False, batch=leading, name="multinomial")
def with_replacement(input: Value, draws: Value) -> Value:
    """For each draw from [0, 1) the category in whose share of the weights it falls."""
    total = input.cumsum(-1, dtype=input.dtype)
    total = total / total[..., -1:]
    total[..., -1] = 1
    rows = zip(total.reshape(-1, total.shape[-1]), draws.reshape(-1, draws.shape[-1]), strict=True)
    return np.array([np.searchsorted(t, d) for t, d in rows], np.int64).reshape(draws.shape)


@primitive(input=None, batch=leading, name="poisson")
def check_rates(input: Value) -> Value:
    """The input; RuntimeError for a negative rate."""
    if input.size and not input.min() >= 0:
        raise RuntimeError(
            f"invalid Poisson rate, expected rate to be non-negative, got {input.min()}"
        )
    return input


@primitive(
    input=lambda g: no_slope(g),
    places=None,
    mixed=False,
    batch=leading,
    label="PoissonBackward0",
    name="poisson",
)
def counts(input: Value, places: Value, source: Generator) -> Value:
    """Poisson numbers of these rates. `places` has their shape: how many are needed.

    How many uniforms a number takes depends on what they are; so they are drawn here.
    """
    drawn = [_poisson(rate, source) for rate in input.ravel().tolist()]
    return np.array(drawn, input.dtype).reshape(places.shape)


def _poisson(rate: float, source: Generator) -> int:
    """One number: by multiplying uniforms, or for large rates by transformed rejection.

    W. Hörmann, "The transformed rejection method for generating Poisson random variables",
    Insurance: Mathematics and Economics 12 (1993), algorithm PTRS.
    """
    if rate < 10:
        limit, product, count = math.exp(-rate), 1.0, 0
        while rate:
            product *= source.doubles(1)[0]
            if product <= limit:
                break
            count += 1
        return count
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u, v = source.doubles(1)[0] - 0.5, source.doubles(1)[0]
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accepted <= k * log_rate - rate - math.lgamma(k + 1):
            return k


@primitive(
    count=lambda g: no_slope(g),
    prob=lambda g: no_slope(g),
    places=None,
    mixed=False,
    batch=leading,
    label="BinomialBackward0",
    name="binomial",
)
def binomials(count: Value, prob: Value, places: Value, source: Generator) -> Value:
    """How many of `count` trials succeed. `places` has their shape: how many are needed."""
    pairs = zip(count.ravel().tolist(), prob.ravel().tolist(), strict=True)
    drawn = [_successes(n, p, source) for n, p in pairs]
    return np.array(drawn, count.dtype).reshape(places.shape)


def _successes(n: float, p: float, source: Generator) -> float:
    """One number: by waiting times, or where many are likely by transformed rejection."""
    if n <= 0 or p <= 0:
        return 0.0
    if p >= 1 or math.isnan(p):
        return n if p >= 1 else p
    rarer = min(p, 1 - p)
    draw = _few_successes if n * rarer < 10 else _many_successes
    k = draw(n, rarer, source)
    return k if p <= 0.5 else n - k


def _few_successes(n: float, p: float, source: Generator) -> int:
    """How many geometric waiting times fit into n trials."""
    log_failure, used, count = math.log1p(-p), 0.0, 0
    while True:
        u = source.doubles(1)[0]
        used += math.ceil(math.log(u) / log_failure) if u else math.inf
        if used > n:
            return count
        count += 1


def _many_successes(n: float, p: float, source: Generator) -> int:
    """W. Hörmann, "The generation of binomial random variates", Journal of Statistical
    Computation and Simulation 46 (1993), algorithm BTRS."""
    odds, deviation = p / (1 - p), math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((n + 1) * p)
    while True:
        u, v = source.doubles(1)[0] - 0.5, source.doubles(1)[0]
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > n:
            continue
        # The probability of k over that of the mode.
        log_ratio = (k - mode) * math.log(odds) + math.lgamma(mode + 1) - math.lgamma(k + 1)
        log_ratio += math.lgamma(n - mode + 1) - math.lgamma(n - k + 1)
        if math.log(v * alpha / (a / (us * us) + b)) <= log_ratio:
            return k
