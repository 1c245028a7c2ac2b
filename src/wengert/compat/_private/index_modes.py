"""``torch._dynamo._trace_wrapped_higher_order_op``: a mode for indices inside of `vmap`."""

from __future__ import annotations

from contextlib import nullcontext


class TransformGetItemToIndex(nullcontext[None]):
    """Nothing to change: inside of `vmap` a tensor indexes like any other."""


__all__ = ["TransformGetItemToIndex"]
