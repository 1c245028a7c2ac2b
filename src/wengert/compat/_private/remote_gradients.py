"""``torch.distributed.autograd``: gradients across processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import missing_function
from wengert.compat._private.remote_calls import is_available

backward = missing_function("autograd.backward")
context = missing_function("autograd.context")
get_gradients = missing_function("autograd.get_gradients")

__all__ = ["backward", "context", "get_gradients", "is_available"]
