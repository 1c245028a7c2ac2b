"""``torch.utils._python_dispatch``: what can be asked; nothing dispatches to Python."""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor's class says how to take it apart into plain tensors."""
    return (
        isinstance(t, Tensor)
        and type(t) is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


__all__ = ["is_traceable_wrapper_subclass"]
