"""Private names of ``torch.distributions.multivariate_normal``."""

from __future__ import annotations

from wengert.core.tensor import Tensor
from wengert.distributions import MultivariateNormal


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The lower triangular factor of the inverse of a precision matrix."""
    origin = precision.new_zeros(precision.shape[-1])
    return MultivariateNormal(origin, precision_matrix=precision, validate_args=False).scale_tril


__all__ = ["_precision_to_scale_tril"]
