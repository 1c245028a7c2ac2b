"""Distributions that take probabilities or logits, one of which makes the other."""

from __future__ import annotations

from typing import Any

from wengert.core.size import Size
from wengert.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


def probs_or_logits(probs: Any, logits: Any) -> Any:
    """Probabilities or logits, whichever is not None; ValueError for both or neither."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return logits if probs is None else probs


class Parametrised:
    """A distribution that has probabilities or logits, and computes the others on first use."""

    @property
    def _param(self) -> Any:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.__dict__["logits"]

    @property
    def param_shape(self) -> Size:
        """The shape of the probabilities."""
        return self._param.size()


class Odds(Parametrised):
    """Probabilities of success, each for itself, with the logits of their odds."""

    def _take(self, probs: Any, logits: Any) -> Size:
        """Keep whichever is not None; returns its shape."""
        (value,) = broadcast_all(probs_or_logits(probs, logits))
        self.__dict__["logits" if probs is None else "probs"] = value
        return value.size()

    @lazy_property
    def logits(self) -> Any:
        """The logarithms of the odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)
