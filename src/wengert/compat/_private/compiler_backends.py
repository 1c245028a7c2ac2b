"""``torch._dynamo.backends``: how scripts make and register backends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat._compilers import list_backends, lookup_backend, register_backend
from wengert.fx.joint import compiled_with_backward


def aot_autograd(
    *, fw_compiler: Callable[..., Any], bw_compiler: Callable[..., Any] | None = None,
    **options: Any,
) -> Callable[..., Any]:  # fmt: skip
    """A backend that has the forward and the backward of a graph compiled, each as a graph.

    They are of the library's own operations; `partition_fn` and `decompositions` are accepted.
    """

    def aot_backend(gm: Any, example_inputs: Any, **given: Any) -> Any:
        return compiled_with_backward(gm, example_inputs, fw_compiler, bw_compiler)

    return aot_backend


__all__ = ["aot_autograd", "list_backends", "lookup_backend", "register_backend"]
