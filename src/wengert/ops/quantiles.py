"""Samples that are differentiable in a parameter: each keeps its quantile while that changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert._random import Generator
from wengert.ops._batching import leading
from wengert.ops._declare import Value, elementwise, primitive
from wengert.ops.reduction import sum


def _refused(name: str) -> Any:
    """What stands for the derivative of a derivative that has no simple form."""
    raise NotImplementedError(f"the derivative for '{name}' is not implemented.")


@elementwise(
    input=lambda g: _refused("_standard_gamma_grad"),
    output=lambda g: _refused("_standard_gamma_grad"),
    name="distributions.Gamma",
)
def standard_gamma_grad(input: Value, output: Value) -> Value:
    """How samples `output` of the gamma distributions of shapes `input` move with the shapes."""
    slope = kernels.quantiles.gamma_quantile_slope(
        input.astype(np.float64), output.astype(np.float64)
    )
    return slope.astype(output.dtype)


@elementwise(
    x=lambda g: _refused("_dirichlet_grad"),
    alpha=lambda g: _refused("_dirichlet_grad"),
    total=lambda g: _refused("_dirichlet_grad"),
    name="distributions.Dirichlet",
)
def dirichlet_grad(x: Value, alpha: Value, total: Value) -> Value:
    """How components `x` of a Dirichlet sample move with their concentrations, over 1 - x."""
    wide = (v.astype(np.float64) for v in (x, alpha, total))
    return kernels.quantiles.dirichlet_quantile_slope(*wide).astype(x.dtype)


@primitive(
    input=lambda g, input, out: g * standard_gamma_grad(input, out),
    places=None,
    mixed=False,
    batch=leading,
    label="StandardGammaBackward0",
    name="distributions.Gamma",
)
def gammas(input: Value, places: Value, source: Generator) -> Value:
    """Gamma numbers of these shapes and rate 1. `places` has their shape: how many are needed."""
    drawn = [_gamma(shape, source) for shape in input.ravel().tolist()]
    tiny = np.finfo(np.float64 if input.dtype == np.float64 else np.float32).tiny
    return np.maximum(np.array(drawn), tiny).astype(input.dtype).reshape(places.shape)


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
    """Samples of Dirichlet distributions: gamma numbers over their sum along the last dimension."""
    drawn = np.array([_gamma(shape, source) for shape in input.ravel().tolist()])
    drawn = np.maximum(drawn, np.finfo(np.float64).tiny).reshape(places.shape)
    return (drawn / drawn.sum(-1, keepdims=True)).astype(input.dtype)


# In single precision, as PyTorch has them: the samples agree to the last digits.
_THIRD, _SQUEEZE = float(np.float32(1.0) / np.float32(3.0)), float(np.float32(0.0331))


def _gamma(shape: float, source: Generator) -> float:
    """One gamma number, by rejection; shapes below 1 through that of one more.

    G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM
    Transactions on Mathematical Software 26 (2000).
    """
    if shape == 0:
        return 0.0
    scale = 1.0
    if shape < 1:
        scale = (1.0 - source.doubles(1)[0]) ** (1.0 / shape)
        shape += 1.0
    d = shape - _THIRD
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = source.normal_sequence(1)[0]
        root = 1.0 + c * x
        if root <= 0:
            continue
        v, u = root**3, 1.0 - source.doubles(1)[0]
        # A quick test that most pass, then the exact one.
        if u < 1.0 - _SQUEEZE * x**4 or np.log(u) < 0.5 * x**2 + d * (1.0 - v + np.log(v)):
            return float(scale * d * v)
