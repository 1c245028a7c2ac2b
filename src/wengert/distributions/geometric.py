"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from wengert.autograd.grad_mode import no_grad
from wengert.core.info import finfo
from wengert.core.tensor import Tensor
from wengert.distributions import constraints
from wengert.distributions._probabilities import Odds
from wengert.distributions.distribution import Distribution
from wengert.distributions.utils import broadcast_all
from wengert.ops.loss import binary_cross_entropy_with_logits
from wengert.tensor.creation import empty, zeros_like


class Geometric(Odds, Distribution):
    """How many trials fail before the first success, of probability `probs`.

    >>> from wengert.distributions import Geometric
    >>> Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = {"probs": 0, "logits": 0}

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._take(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape"
                f" {tuple(self.probs.shape)}) of distribution {self!r} to be positive but found"
                f" invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        shape, dtype = self._extended_shape(sample_shape), self.probs.dtype
        with no_grad():
            u = empty(shape, dtype=dtype).uniform_(finfo(dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._check_sample(value)
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)  # 0 failures of probability 0
        return value * (-probs.masked_fill(certain, 0)).log1p() + self.probs.log()

    def entropy(self) -> Any:
        loss = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return loss / self.probs


__all__ = ["Geometric"]
