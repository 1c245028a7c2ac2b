"""The categorical distribution relaxed to points of a simplex."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.categorical import Categorical
from wengert.distributions.distribution import Distribution
from wengert.distributions.transformed_distribution import TransformedDistribution
from wengert.distributions.transforms import ExpTransform
from wengert.distributions.utils import broadcast_all, clamp_probs
from wengert.tensor.random import rand


class ExpRelaxedCategorical(Distribution):
    """The logarithms of `RelaxedOneHotCategorical`.

    >>> import wengert
    >>> from wengert.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(wengert.tensor(0.5), wengert.ones(3)).rsample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # of those whose exponentials sum to 1
    has_rsample = True
    _batched = {"_categorical": 0}
    _shared = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(rand(shape, dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        k = self._event_shape[0]
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        scores = (scores - scores.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * self.temperature.log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of a simplex that a low `temperature` drives to its corners; they have gradients.

    >>> import wengert
    >>> from wengert.distributions import RelaxedOneHotCategorical
    >>> RelaxedOneHotCategorical(wengert.tensor(0.5), wengert.ones(3)).rsample().shape
    torch.Size([3])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical
    _batched = {}

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """The temperature."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self.base_dist.probs


__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]
