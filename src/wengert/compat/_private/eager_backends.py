"""``torch._dynamo.backends.debugging``: backends that compile nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.fx.joint import compiled_with_backward


def eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
    """A backend: the graph module as it is."""
    forward: Callable[..., Any] = getattr(gm, "forward", gm)
    return forward


def pre_dispatch_eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Any:
    """A backend: the graph module itself."""
    return gm


def aot_eager(gm: Any, fake_tensor_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
    """A backend: the forward and the backward as graphs, which run as they are."""
    return compiled_with_backward(gm, fake_tensor_inputs, eager)


eager_noexcept = eager_debug = eager
aot_eager_decomp_partition = aot_eager

__all__ = [
    "aot_eager",
    "aot_eager_decomp_partition",
    "eager",
    "eager_debug",
    "eager_noexcept",
    "pre_dispatch_eager",
]
