"""Types of ``torch._dynamo`` by which packages know compiled modules: `compile` makes none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.nn.module import Module


class OptimizedModule(Module):
    """The type of no module: `torch.compile` returns what it was given."""


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: nothing is traced."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: nothing is traced."""
    return fn


def is_compile_supported(device_type: Any) -> bool:
    """False: nothing is compiled ahead."""
    return False


def is_dynamo_supported() -> bool:
    """False: nothing is compiled ahead."""
    return False


def mark_static_address(t: Any, guard: bool = True) -> None:
    """Nothing to mark: nothing is traced."""


__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "is_compile_supported",
    "is_dynamo_supported",
    "mark_static_address",
]
