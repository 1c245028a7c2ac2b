"""Modules that are compiled in place: `module.compile()`."""

from __future__ import annotations

import weakref
from copy import deepcopy
from typing import Any

from wengert import compiler


class _Forward:
    """The forward of a module that is compiled in place; the module holds it."""

    def __init__(self, module: Any) -> None:
        self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        module = self.module()
        assert module is not None  # it makes this call
        return type(module).forward(module, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> _Forward:
        return _Forward(deepcopy(self.module(), memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Forward, (self.module(),)


def compile_in_place(module: Any, *args: Any, **kwargs: Any) -> None:
    """Let a module's own forward compute as a compiled function."""
    module.__dict__["forward"] = compiler.compile(_Forward(module), *args, **kwargs)
