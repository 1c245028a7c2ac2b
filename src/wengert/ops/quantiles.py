"""Samples that are differentiable in a parameter: each keeps its quantile as it changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.generators import Generator
from wengert.kernels.precision import widened
from wengert.ops.batching import leading
from wengert.ops.declare import Value, elementwise, primitive
from wengert.ops.reduction import sum


def _refused(name: str) -> Any:
    """A placeholder for a second derivative without a simple form."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


@elementwise(
    input=lambda g: _refused("_standard_gamma_grad"),
    output=lambda g: _refused("_standard_gamma_grad"),
    name="distributions.Gamma",
)
def standard_gamma_grad(input: Value, output: Value) -> Value:
    """How samples `output` of the gamma distributions of shapes `input` move with the shapes."""
    rounded = output.dtype != np.float64
    shape, sample = (v.astype(np.float64) for v in (input, output))
    slope = kernels.quantiles.gamma_quantile_slope(shape, sample, rounded)
    return slope.astype(output.dtype)


@elementwise(
    x=lambda g: _refused("_dirichlet_grad"),
    alpha=lambda g: _refused("_dirichlet_grad"),
    total=lambda g: _refused("_dirichlet_grad"),
    name="distributions.Dirichlet",
)
def dirichlet_grad(x: Value, alpha: Value, total: Value) -> Value:
    """How components `x` of a Dirichlet sample move with their concentrations, over 1 - x."""
    rounded = x.dtype != np.float64
    sample, first, sum_of_all = (v.astype(np.float64) for v in (x, alpha, total))
    slope = kernels.quantiles.dirichlet_quantile_slope(sample, first, sum_of_all, rounded)
    return slope.astype(x.dtype)


@primitive(
    input=lambda g, input, out: g * standard_gamma_grad(input, out),
    places=None,
    mixed=False,
    batch=leading,
    label="StandardGammaBackward0",
    name="distributions.Gamma",
)
def gammas(input: Value, places: Value, source: Generator) -> Value:
    """Gamma samples of these shapes and rate 1. `places` has the shape of the samples needed."""
    wide_input = widened(input)
    drawn = kernels.sampling.gammas(source.feed, wide_input)
    return np.maximum(drawn, np.finfo(wide_input.dtype).tiny).astype(input.dtype)


def _dirichlet_rule(g: Value, input: Value, out: Value) -> Value:
    total = sum(input, -1, True)
    return dirichlet_grad(out, input, total) * (g - sum(g * out, -1, True))


@primitive(
    input=_dirichlet_rule,
    places=None,
    mixed=False,
    batch=leading,
    label="SampleDirichletBackward0",
    name="distributions.Dirichlet",
)
def dirichlets(input: Value, places: Value, source: Generator) -> Value:
    """Samples of Dirichlet distributions: gamma samples over their sum along the last dimension."""
    drawn = kernels.sampling.gammas(source.feed, input.astype(np.float64))
    drawn = np.maximum(drawn, np.finfo(np.float64).tiny)
    return (drawn / drawn.sum(-1, keepdims=True)).astype(input.dtype)
