"""``torch.distributed.autograd``: gradients across processes, of which there are none."""

from __future__ import annotations

from wengert.compat._private.process_groups import of_several
from wengert.compat._private.remote_calls import is_available

backward = of_several("autograd.backward")
context = of_several("autograd.context")
get_gradients = of_several("autograd.get_gradients")

__all__ = ["backward", "context", "get_gradients", "is_available"]
