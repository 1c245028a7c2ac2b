"""What decides about compiled functions from outside of them, and what their code is told."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any


class Stance:
    """Whether they run as they are.

    Attributes:
        eager: what `wengert.compiler.set_stance` says.
        hooks: those of all modules, which `nn` has.
    """

    eager = False
    hooks: Mapping[Any, Any] = {}


class Telling(threading.local):
    """What code of this thread is told: whether it is that of a compiled function."""

    compiling = False


telling = Telling()


def as_compiling(call: Callable[..., Any], compiling: bool = True) -> Callable[..., Any]:
    """A function whose code is told that it is compiled, or that it is not.

    It is told so at every call, be that one a run or not: what code decides by it stays the same.
    """

    @functools.wraps(call, updated=())
    def told(*args: Any, **kwargs: Any) -> Any:
        before, telling.compiling = telling.compiling, compiling and not Stance.eager
        try:
            return call(*args, **kwargs)
        finally:
            telling.compiling = before

    return told
