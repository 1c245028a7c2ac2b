"""``torch._dynamo.backends``: how scripts make and register backends, which nobody calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.compat._compilers import list_backends, lookup_backend, register_backend


def aot_autograd(**options: Any) -> Callable[[Any, Any], Any]:
    """A backend: `torch.compile` accepts it, as any function, and says that it is not called."""

    def aot_backend(gm: Any, example_inputs: Any) -> Any:
        """The graph module as it is."""
        return gm

    return aot_backend


__all__ = ["aot_autograd", "list_backends", "lookup_backend", "register_backend"]
