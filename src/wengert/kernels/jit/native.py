"""Functions for kernels that are LLVM's text, for what the language cannot say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from wengert.kernels.jit.machine_types import Signature, signature_of

# The head of a definition.
_HEAD = re.compile(r"^define internal (\S+ @[^)]*\))", re.MULTILINE)

# By the name that kernels call: functions that are compiled once, in modules of their own.
own_modules: dict[str, Native] = {}


class Native:
    """A function that kernels call like one marked `@inline`.

    The Python function does the same in Python; its annotations are the types. `real` says for
    which kernels it is: "f32", or "any" where no type of it is `real`.

    A class whose text has many long functions, and one that calls them, sets `in_own_module`:
    kernels share one object of the long ones, which is made without LLVM's passes over the text.
    """

    in_own_module = False

    def __init__(
        self, python: Callable[..., Any], text: str = "", declared: str = "", real: str = "f32"
    ) -> None:
        self.__name__, self.__doc__ = python.__name__, python.__doc__
        self.python = python
        self._text, self._declared = text, declared
        self.inline = {real: self}
        if self.in_own_module:
            own_modules[self.symbol] = self

    @property
    def symbol(self) -> str:
        """The name of its own module."""
        return f"native_{self.__name__}"

    def module(self) -> str:
        """The module of its own: all functions of the text but the one that kernels call."""
        declared = "".join(f"declare {text}\n" for text in self.declarations())
        others = self._split()[0].replace(f"@{self.__name__}_", f"@{self.symbol}_")
        return declared + others.replace("define internal ", "define ")

    def entrance(self) -> tuple[list[str], str]:
        """For modules that call it: declarations of what `module` has, and the definition."""
        others, text = self._split()
        own, there = f"@{self.__name__}_", f"@{self.symbol}_"
        return [head.replace(own, there) for head in _HEAD.findall(others)], text.replace(
            own, there
        )

    def _split(self) -> tuple[str, str]:
        others, start, text = self.llvm().partition(f"define internal void @{self.__name__}(")
        return others, start + text

    @property
    def signature(self) -> Signature:
        """The types of its arguments and of its result."""
        return signature_of(self.python, "f32")

    def __call__(self, *arguments: Any) -> Any:
        return self.python(*arguments)

    def declarations(self) -> Iterator[str]:
        """The functions of LLVM that `llvm` calls."""
        return iter(self._declared.splitlines())

    def llvm(self) -> str:
        """The definition."""
        return self._text


def native(text: str, declared: str = "") -> Callable[[Callable[..., Any]], Native]:
    """Mark a Python function that kernels call as LLVM's text says it."""
    return lambda python: Native(python, text, declared)
