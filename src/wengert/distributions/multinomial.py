"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.binomial import Binomial
from wengert.distributions.categorical import Categorical
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.special import lgamma
from wengert.tensor.creation import ones_like, tensor, zeros


class Multinomial(Distribution):
    """How often each class comes up in `total_count` draws.

    >>> import wengert
    >>> from wengert.distributions import Multinomial
    >>> Multinomial(3, wengert.tensor([0.0, 1.0])).sample()
    tensor([0., 3.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _batched = {"_categorical": 0}
    _shared = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                "inhomogeneous total_count is not supported: total_count is of type"
                f" {type(total_count).__name__}, expected int"
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = zeros(self._extended_shape(sample_shape), dtype=drawn.dtype)
        return counts.scatter_add_(-1, drawn, ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        logits, value = broadcast_all(self.logits, value)
        impossible = (value == 0) & (logits == -math.inf)
        powers = (logits.masked_fill(impossible, 0.0) * value).sum(-1)
        return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + powers

    def entropy(self) -> Any:
        n = tensor(self.total_count, dtype=self.probs.dtype)
        # Each count is binomial: the mean of the logarithm of its factorial is a finite sum.
        single = Binomial(total_count=self.total_count, probs=self.probs)
        counts = single.enumerate_support(expand=False)[1:]
        factorials = (single.log_prob(counts).exp() * lgamma(counts + 1)).sum((0, -1))
        return n * self._categorical.entropy() - lgamma(n + 1) + factorials


__all__ = ["Multinomial"]
