"""``theano.gof.opt``: rewrites of graphs, as programs describe them.

A rewrite keeps the values of a graph, so that functions are right without it. Those of programs are
accepted and not run: what is done to graphs here is in `programs/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class LocalOptimizer:
    """A rewrite of a node, described by what it was made with."""

    def __init__(self, *description: Any, **options: Any) -> None:
        self.description, self.options = description, options


class OpRemove(LocalOptimizer):
    """The input of an operation, in place of its output."""


class OpSub(LocalOptimizer):
    """An operation in place of another."""


class PatternSub(LocalOptimizer):
    """A graph in place of another."""


def local_optimizer(tracks: Any, inplace: bool = False, requirements: Any = ()
                    ) -> Callable[[Any], Any]:  # fmt: skip
    """Declares a function of a node as a rewrite of some operations."""
    return lambda function: function


def register(rewrite: Any, *tags: str, **options: Any) -> Any:
    """Accepts a rewrite; with a tag alone, gives what accepts one."""
    return (lambda function: function) if isinstance(rewrite, str) else rewrite


def copy_stack_trace(from_var: Any, to_var: Any) -> Any:
    """The second variable: where a variable was made is kept without it."""
    return to_var
