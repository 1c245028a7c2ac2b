"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.exp_family import ExponentialFamily
from wengert.ops.exponential import xlogy
from wengert.ops.masking import where
from wengert.ops.special import digamma, lgamma
from wengert.tensor.creation import zeros_like
from wengert.tensor.random_counts import dirichlet


class Dirichlet(ExponentialFamily):
    """Points of a simplex, with a `concentration` for each corner.

    >>> import wengert
    >>> from wengert.distributions import Dirichlet
    >>> Dirichlet(wengert.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _batched = {"concentration": 1}

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        beyond = (self.concentration - 1).clamp(min=0)
        mode = beyond / beyond.sum(-1, True)
        # Where none exceeds 1 the density is highest in corners: one of them.
        corner = zeros_like(mode).scatter(-1, mode.argmax(-1, True), 1.0)
        return where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        others = total - self.concentration
        return self.concentration * others / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        value = dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))
        info = finfo(value.dtype)
        inside = value.clamp(info.tiny, 1 - info.eps / 2)  # as in PyTorch: densities are finite
        return value + (inside - value).detach()  # beside the graph: no slope is lost

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        return (
            xlogy(self.concentration - 1.0, value).sum(-1)
            + lgamma(self.concentration.sum(-1))
            - lgamma(self.concentration).sum(-1)
        )

    def entropy(self) -> Any:
        k = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            lgamma(self.concentration).sum(-1)
            - lgamma(total)
            - (k - total) * digamma(total)
            - ((self.concentration - 1.0) * digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return lgamma(x).sum(-1) - lgamma(x.sum(-1))


__all__ = ["Dirichlet"]
