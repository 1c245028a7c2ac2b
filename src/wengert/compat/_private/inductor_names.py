"""``torch._inductor``: settings and lists; `torch.compile` is what compiles."""

from __future__ import annotations

from typing import Any

from wengert.compat._private import inductor_settings
from wengert.compiler import compile as _compile
from wengert.compiler import cudagraph_mark_step_begin


def compile(gm: Any, example_inputs: Any, options: dict[str, Any] | None = None) -> Any:
    """The graph module, compiled."""
    return _compile(gm, options=options)


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """No options for any mode."""
    return {}


def list_options() -> list[str]:
    """The names of the settings."""
    return sorted(inductor_settings.__all__)


__all__ = [
    "compile", "cudagraph_mark_step_begin", "list_mode_options", "list_options",
]  # fmt: skip
