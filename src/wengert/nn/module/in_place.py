"""Modules that are compiled in place: `module.compile()`."""

from __future__ import annotations

import weakref
from copy import deepcopy
from types import MethodType
from typing import Any

from wengert import compiler


class _Forward:
    """The forward of a module that is compiled in place; the module holds it.

    It is that of the class, or the module's own, if somebody has given it one.
    """

    def __init__(self, module: Any, own: Any = None) -> None:
        self.module, self.own = weakref.ref(module), own

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.own is not None:
            return self.own(*args, **kwargs)
        module = self.module()
        assert module is not None  # it makes this call
        return type(module).forward(module, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Forward:
        return _Forward(deepcopy(self.module(), memo), deepcopy(self.own, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Forward, (self.module(), self.own)


def called_by(function: Any) -> Any:
    """What a compiled function runs: of a module that is compiled in place, the method."""
    if not isinstance(function, _Forward):
        return function
    module = function.module()
    return function.own or (module and MethodType(type(module).forward, module))


def without_compiled(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a module before it was compiled in place."""
    before = getattr(state["forward"], "function", None)
    if not isinstance(before, _Forward):
        return state
    others = {name: value for name, value in state.items() if name != "forward"}
    return others if before.own is None else others | {"forward": before.own}


def compile_in_place(module: Any, *args: Any, **kwargs: Any) -> None:
    """Let a module's own forward compute as a compiled function."""
    own = module.__dict__.get("forward")
    before = getattr(own, "function", own)
    if isinstance(before, _Forward):  # it is compiled again
        own = before.own
    module.__dict__["forward"] = compiler.compile(_Forward(module, own), *args, **kwargs)
