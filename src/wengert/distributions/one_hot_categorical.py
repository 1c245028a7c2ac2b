"""The categorical distribution as one-hot vectors."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.size import Size
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions.categorical import Categorical
from wengert.distributions.distribution import Distribution
from wengert.tensor.creation import eye, zeros


class OneHotCategorical(Distribution):
    """A vector with a 1 at a class drawn with probabilities in proportion to `probs`.

    >>> import wengert
    >>> from wengert.distributions import OneHotCategorical
    >>> OneHotCategorical(wengert.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = {"_categorical": 0}

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Any:
        return self._categorical.probs

    @property
    def mode(self) -> Any:
        return self._at(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _at(self, index: Any) -> Any:
        """One-hot vectors with the 1 at these places."""
        vectors = zeros((*index.shape, *self._event_shape), dtype=self.probs.dtype)
        return vectors.scatter_(-1, index.unsqueeze(-1), 1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return self._at(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self.event_shape[0]
        values = eye(n, dtype=self._param.dtype)
        values = values.reshape((n, *(1,) * len(self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples have the gradient of their probabilities.

    >>> import wengert
    >>> from wengert.distributions import OneHotCategoricalStraightThrough
    >>> OneHotCategoricalStraightThrough(wengert.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        samples, probs = self.sample(sample_shape), self._categorical.probs
        return samples + (probs - probs.detach())


__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]
