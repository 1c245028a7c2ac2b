"""Mixtures of distributions of one family."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.size import Size
from wengert.distributions import constraints
from wengert.distributions.categorical import Categorical
from wengert.distributions.distribution import Distribution
from wengert.ops.softmax import log_softmax


class MixtureSameFamily(Distribution):
    """A mixture: the components are the last batch dimension of one distribution.

    >>> import wengert
    >>> from wengert.distributions import Categorical, MixtureSameFamily, Normal
    >>> weights, parts = Categorical(wengert.ones(2)), Normal(wengert.tensor([0.0, 4.0]), 1.0)
    >>> MixtureSameFamily(weights, parts).mean
    tensor(2.)
    """

    arg_constraints = {}
    has_rsample = False
    _batched = {}

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        _check_mixture(mixture_distribution, component_distribution)
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            component_distribution.batch_shape[:-1],
            component_distribution.event_shape,
            validate_args=validate_args,
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._component_distribution = self._component_distribution.expand(
            (*shape, self._num_component)
        )
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return super().expand(shape, _instance=new)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component's number."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Any:
        """The probabilities, with dimensions of size 1 for events."""
        probs = self.mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * self._event_ndims))

    @property
    def mean(self) -> Any:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Any:
        dim, weights = -1 - self._event_ndims, self._weights()
        within = (weights * self.component_distribution.variance).sum(dim)
        distance = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return within + (weights * distance.pow(2.0)).sum(dim)

    def cdf(self, value: Any) -> Any:
        probs = self.component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims))
        return (probs * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        log_probs = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        weights = log_softmax(self.mixture_distribution.logits, dim=-1)
        return (log_probs + weights).logsumexp(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = Size(sample_shape)
        with no_grad():
            dim = len(shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(shape)
            drawn = self.component_distribution.sample(shape)
            index = chosen.reshape((*chosen.shape, 1, *(1,) * self._event_ndims))
            index = index.expand((*chosen.shape, 1, *self.event_shape))
            return drawn.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution!r},"
            f"\n  {self.component_distribution!r})"
        )


def _check_mixture(mixture: Any, component: Any) -> None:
    """ValueError unless a component distribution has a component for each class."""
    if not isinstance(mixture, Categorical):
        raise ValueError(
            " The Mixture distribution needs to be an  instance of torch.distributions.Categorical;"
            f" mixture_distribution is a {type(mixture).__name__}"
        )
    if not isinstance(component, Distribution):
        raise ValueError(
            "The Component distribution need to be an instance of torch.distributions.Distribution;"
            f" component_distribution is a {type(component).__name__}"
        )
    batch = component.batch_shape[:-1]
    for ours, theirs in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
        if ours != 1 and theirs != 1 and ours != theirs:
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with"
                f" `component_distribution.batch_shape`({batch})"
            )
    count = mixture.param_shape[-1]
    if not component.batch_shape or component.batch_shape[-1] != count:
        raise ValueError(
            f"`mixture_distribution component` ({count}) does not equal"
            f" `component_distribution.batch_shape[-1]` ({component.batch_shape[-1:]})"
        )


__all__ = ["MixtureSameFamily"]
