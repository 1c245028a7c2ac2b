"""``torch.distributed.autograd``: gradients across processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import _refusing
from wengert.compat._private.remote_calls import is_available

backward = _refusing("autograd.backward")
context = _refusing("autograd.context")
get_gradients = _refusing("autograd.get_gradients")

__all__ = ["backward", "context", "get_gradients", "is_available"]
