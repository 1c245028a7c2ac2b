"""Private names of ``torch.fx.graph_module`` that subclasses of `GraphModule` are written with."""

from __future__ import annotations

from typing import Any

from wengert.fx import GraphModule
from wengert.nn import Module

# Where the attributes that are to outlive a copy stand in a module's `meta`.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module with these attributes, to make a graph module of."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Let a module have what stands at a path of another, at the same path."""
    GraphModule._take(to_module, from_module, target)  # type: ignore[arg-type]  # any module


__all__ = ["_USER_PRESERVED_ATTRIBUTES_KEY", "_CodeOnlyModule", "_copy_attr"]
