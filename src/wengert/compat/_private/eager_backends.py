"""``torch._dynamo.backends.debugging``: backends that compile nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
    """A backend: the graph module as it is. `torch.compile` accepts it, and does not call it."""
    forward: Callable[..., Any] = getattr(gm, "forward", gm)
    return forward


def pre_dispatch_eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend: the graph module itself."""
    return gm


eager_noexcept = eager_debug = aot_eager = aot_eager_decomp_partition = eager

__all__ = [
    "aot_eager",
    "aot_eager_decomp_partition",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "pre_dispatch_eager",
]
