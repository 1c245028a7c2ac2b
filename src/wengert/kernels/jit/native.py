"""Functions for kernels that are LLVM's text, for what the language cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wengert.kernels.jit.machine_types import Signature, signature_of


class Native:
    """A function that kernels call like one marked `@inline`.

    The Python function does the same in Python; its annotations are the types. `real` says for
    which kernels it is: "f32", or "any" where no type of it is `real`.
    """

    def __init__(
        self, python: Callable[..., Any], text: str = "", declared: str = "", real: str = "f32"
    ) -> None:
        self.__name__, self.__doc__ = python.__name__, python.__doc__
        self.python = python
        self._text, self._declared = text, declared
        self.inline = {real: self}

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
