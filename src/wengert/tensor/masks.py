"""Methods with an underscore that programs call on masks."""

from __future__ import annotations

from wengert.core.dtypes import bool_
from wengert.core.tensor import Tensor


def _is_all_true(self: Tensor) -> Tensor:
    """Whether all elements of a mask are true, as a tensor."""
    return _mask("_is_all_true", self).all()


def _is_any_true(self: Tensor) -> Tensor:
    """Whether an element of a mask is true, as a tensor."""
    return _mask("_is_any_true", self).any()


def _mask(name: str, self: Tensor) -> Tensor:
    if self.dtype is not bool_:
        raise RuntimeError(f"{name}(): expected a tensor of bool, but got one of {self.dtype}")
    return self


MASK_METHODS = (_is_all_true, _is_any_true)
