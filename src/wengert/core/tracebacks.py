"""Tracebacks without wengert's own frames, for printing.

Errors are raised unchanged. `wengert run` shortens the tracebacks it prints, as does an
interactive session after ``%load_ext wengert``; `sys.excepthook` is left to the program.
"""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

import numpy as np

from wengert.core.tensor import internal

# Packages called by wengert: their frames right after its own add no information.
_CALLED = tuple(os.path.join(os.path.dirname(os.path.dirname(np.__file__)), name, "")
                for name in ("numpy", "scipy", "llvmlite"))  # fmt: skip


def shorten(error: BaseException) -> int:
    """Remove wengert's frames from the traceback of an error and of the errors that led to it.

    An earlier error that was raised inside wengert and reworded there is no longer shown.
    Returns the number of frames removed.

    >>> import wengert
    >>> from wengert.core.tracebacks import shorten
    >>> try:
    ...     wengert.ones(2) + wengert.ones(3)
    ... except RuntimeError as error:
    ...     print(shorten(error) > 0, error.__traceback__.tb_next)
    True None
    """
    removed = 0
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        user_entries = _users(current.__traceback__)
        removed += _length(current.__traceback__) - len(user_entries)
        if user_entries:
            current.__traceback__ = _joined(user_entries)
        earlier = previous = _earlier(current)
        while (
            previous is not None
            and id(previous) not in visited
            and not _users(previous.__traceback__)
        ):
            visited.add(id(previous))
            previous = _earlier(previous)
        if previous is not earlier:
            current.__cause__, current.__context__ = None, previous
            current.__suppress_context__ = False
        current = previous
    return removed


def _earlier(error: BaseException) -> BaseException | None:
    """The error printed before this one."""
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _users(trace: TracebackType | None) -> list[TracebackType]:
    """The entries that belong neither to wengert nor to code it called."""
    entries, inside = [], False
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        inside = file in internal or (inside and file.startswith(_CALLED))
        if not inside:
            entries.append(trace)
        trace = trace.tb_next
    return entries


def _length(trace: TracebackType | None) -> int:
    count = 0
    while trace is not None:
        trace, count = trace.tb_next, count + 1
    return count


def _joined(entries: list[TracebackType]) -> TracebackType | None:
    trace = None
    for entry in reversed(entries):
        trace = TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return trace


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext wengert``: an IPython session or notebook prints short tracebacks."""

    def show(self: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> None:
        error.__traceback__ = trace
        shorten(error)
        self.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)

    shell.set_custom_exc((Exception,), show)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext wengert``."""
    shell.set_custom_exc((), None)
