"""``torch.distributions.kl``: the formulas by pairs of classes."""

from wengert.distributions.kl import formulas as _KL_REGISTRY
from wengert.distributions.kl import resolved as _KL_MEMOIZE

__all__ = ["_KL_MEMOIZE", "_KL_REGISTRY"]
