"""Random choices, as functions of the numbers drawn for them.

The numbers come from `wengert.core.generators.draw_numbers`; the functions here have derivative
zero. The checks are operations too, so that they see the values of a batch; they run before
the draw.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.generators import Generator
from wengert.ops.batching import leading
from wengert.ops.declare import Value, primitive
from wengert.ops.zeros import no_slope


def _draw_by(hook: str, module: str, function: str) -> None:
    """Let generators call a function of kernels, whose module the first call loads."""

    def first(*arguments: Any) -> Any:
        loaded = getattr(getattr(kernels, module), function)
        setattr(Generator, hook, staticmethod(loaded))
        return loaded(*arguments)

    setattr(Generator, hook, staticmethod(first))


_draw_by("drawer", "twister", "drawn")
_draw_by("normalizer", "normals", "drawn")
_draw_by("sequencer", "normals", "in_sequence")
_draw_by("stretcher", "twister", "stretch")
_draw_by("divider", "twister", "remainders")
_draw_by("shuffler", "twister", "shuffle")


@primitive(input=None, batch=leading, name="bernoulli")
def check_probabilities(input: Value) -> Value:
    """The input; RuntimeError unless all elements are in [0, 1]."""
    if not kernels.limits.all_between(input, 0.0, 1.0):
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
    if not kernels.limits.all_between(input, 0.0, math.inf):
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
    """The input; RuntimeError for weights that are not a distribution."""
    wrong, nothing = kernels.sampling.faults(input)
    if wrong:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if nothing:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    return input


@primitive(input=None, draws=None, mixed=False, batch=leading, name="multinomial")
def without_replacement(input: Value, draws: Value, n: int) -> Value:
    """The categories whose exponential clocks, with the weights as rates, ring first."""
    clocks = draws.astype(input.dtype)
    clocks[clocks == 0] = np.finfo(np.float32).tiny
    early = input / clocks
    if n == 1:
        return early.argmax(-1)[..., None]
    return kernels.ranking.top(early, n, early.ndim - 1, True)


@primitive(input=None, draws=None, mixed=False, batch=leading, name="multinomial")
def with_replacement(input: Value, draws: Value) -> Value:
    """For each draw from [0, 1) the category whose share of the weights contains it."""
    return kernels.sampling.categories(input, draws)


@primitive(input=None, batch=leading, name="poisson")
def check_rates(input: Value) -> Value:
    """The input; RuntimeError for a negative rate."""
    if not kernels.limits.all_between(input, 0.0, math.inf):
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
    """Poisson samples of these rates. `places` has the shape of the samples needed.

    How many uniforms a sample takes depends on their values, so they are drawn here.
    """
    return kernels.sampling.poissons(source.feed, input).astype(input.dtype)


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
    """Binomial samples of `count` trials. `places` has the shape of the samples needed."""
    return kernels.sampling.binomials(source.feed, count, prob).astype(count.dtype)
