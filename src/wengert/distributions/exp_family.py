"""Exponential families."""

from __future__ import annotations

from typing import Any

from wengert.autograd import grad
from wengert.distributions.distribution import Distribution


class ExponentialFamily(Distribution):
    """Distributions whose log density is ``<t(x), theta> - F(theta) + k(x)``.

    A subclass gives the natural parameters `theta`, the log normaliser `F` and the mean of the
    carrier measure `k`; the entropy then follows from the gradient of F.

    >>> from wengert.distributions import ExponentialFamily, Gamma
    >>> isinstance(Gamma(1.0, 1.0), ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy, as a Bregman divergence of the log normaliser."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = grad(normalizer.sum(), params, create_graph=True)
        result = -self._mean_carrier_measure + normalizer
        for param, slope in zip(params, slopes, strict=True):
            product = param * slope
            result -= product.reshape((*self._batch_shape, -1)).sum(-1)
        return result


__all__ = ["ExponentialFamily"]
