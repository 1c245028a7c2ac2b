"""``torch._dynamo.comptime``: calls for the time of compiling, which no function has here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Comptime:
    """What runs beside a compiler: as in PyTorch without one, what is called instead."""

    def __call__(
        self, fn: Callable[[Any], Any], fallback_fn: Callable[[], Any] = lambda: None
    ) -> Any:
        return fallback_fn()

    def print(self, e: Any) -> None:
        """Print a value."""
        print(e)

    def graph_break(self) -> None:
        """Nothing to break."""

    def _nothing(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to show or to fix: no graph is being made."""

    assert_static = force_static = print_bt = print_disas = print_graph = _nothing
    print_guards = print_locals = print_value_stack = sleep = _nothing


comptime = _Comptime()

__all__ = ["comptime"]
