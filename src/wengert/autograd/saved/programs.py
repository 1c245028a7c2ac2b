"""What compiled functions make of checkpoints: parts of their programs.

Neither knows of the other: they meet here.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from wengert.core.tensor import Tensor


class EnoughError(BaseException):
    """Ends a second run that has everything needed; not caught by `except Exception`."""

    def __init__(self, run: Any) -> None:
        self.run = run


class Part(Protocol):
    """A call of a checkpointed function that is part of a program."""

    def meet(self, tensors: Sequence[Tensor]) -> list[bool]:
        """Note the tensors among the arguments; which of them have no memory as yet."""
        raise NotImplementedError

    def first(self, frame: Any) -> AbstractContextManager[Any]:
        """A context around the call."""
        raise NotImplementedError

    def is_done(self, run: Any) -> None:
        """The function has run again, and has brought what it saved before."""
        raise NotImplementedError


class Programs:
    """Where there are no compiled functions."""

    def begin(self) -> Part | None:
        """The part of a program that a call becomes; None if it is part of none."""
        return None

    def again(self, frame: Any, run: Any, args: Sequence[Any]) -> Part | None:
        """The part that the same function becomes when it runs again."""
        return None

    def inside(self, run: Any) -> AbstractContextManager[Any]:
        """A context around a function that runs again."""
        return nullcontext()

    def catch_up(self, saver: Any) -> None:
        """An operation of a function is computed when it is called: so is what was deferred."""


class _Current:
    """Those of the process."""

    def __init__(self) -> None:
        self.own = Programs()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


programs = _Current()
