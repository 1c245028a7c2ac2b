"""Exceptions of workers, which are raised again where the batch is awaited."""

from __future__ import annotations

import traceback
from typing import Any


class Failure:
    """An exception that is sent to where it is awaited: its class, and its traceback as text.

    `where` says, in the message, where it happened.
    """

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        text = "".join(traceback.format_exception(error))
        self.message = f"Caught {self.kind.__name__} {where}.\nOriginal {text}"

    def reraise(self) -> None:
        """Raise an exception of the same class, or RuntimeError if that cannot be constructed."""
        raise self._exception()  # in no variable of this frame, which its traceback holds

    def _exception(self) -> BaseException:
        message = _Unquoted(self.message) if self.kind is KeyError else self.message
        try:
            error: BaseException = self.kind(message)
        except Exception:  # a class whose constructor wants something else
            return RuntimeError(self.message)
        return error


class _Unquoted(str):
    """A text that stays readable in a KeyError, which shows the repr of its argument."""

    def __repr__(self) -> str:
        return str(self)
