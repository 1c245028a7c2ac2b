"""Random numbers of the binomial, gamma and Dirichlet distributions of given parameters."""

from __future__ import annotations

import numpy as np

from wengert.core.dtypes import of_numpy
from wengert.core.generators import Generator, default_generator, draw_numbers
from wengert.core.tensor import Tensor
from wengert.ops.broadcasting import broadcast_tensors
from wengert.ops.quantiles import dirichlets, gammas
from wengert.ops.sampling import binomials
from wengert.tensor.arguments import require_tensor
from wengert.tensor.random import generator_of, require_floating


def _places(*inputs: Tensor) -> Tensor:
    """Nothing in the shape of the parameters: what samplers that draw by themselves get."""
    return draw_numbers(lambda shape: np.empty(shape, bool), tuple(inputs[0].shape), inputs)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """The number of successes in `count` trials, each with probability `prob`.

    >>> import wengert
    >>> wengert.binomial(wengert.tensor([4.0, 4.0]), wengert.tensor([0.0, 1.0]))
    tensor([0., 4.])
    """
    require_tensor("binomial", "count", count)
    require_tensor("binomial", "prob", prob)
    source = generator_of("binomial", generator)
    require_floating("binomial_cpu", of_numpy[count._outline.dtype])
    if count._outline.dtype != prob._outline.dtype:
        raise RuntimeError(
            f"Found dtype {of_numpy[prob._outline.dtype].short} but expected"
            f" {of_numpy[count._outline.dtype].short}: binomial() got count and prob of two dtypes"
        )
    count, prob = broadcast_tensors(count, prob)
    return binomials(count, prob, _places(count, prob), source)


def standard_gamma(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma samples of these shapes and rate 1, differentiable in the shapes."""
    require_tensor("_standard_gamma", "input", concentration)
    require_floating("gamma_cpu", of_numpy[concentration._outline.dtype])
    source = generator_of("_standard_gamma", generator)
    return gammas(concentration, _places(concentration), source)


def dirichlet(concentration: Tensor) -> Tensor:
    """Samples of Dirichlet distributions, differentiable in the concentrations."""
    require_floating("dirichlet_cpu", of_numpy[concentration._outline.dtype])
    return dirichlets(concentration, _places(concentration), default_generator)


__all__ = ["binomial"]
