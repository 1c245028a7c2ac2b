"""``torch._guards``: which fake mode counts, as packages ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any

from wengert.compat._private.fake_tensors import FakeTensor, FakeTensorMode
from wengert.core.dispatching import dispatching
from wengert.dispatch.calls import leaves


def active_fake_mode() -> FakeTensorMode | None:
    """The innermost fake mode that is on in this thread."""
    on = (mode for mode in reversed(dispatching.modes) if isinstance(mode, FakeTensorMode))
    return next(on, None)


def detect_fake_mode(inputs: Any = None) -> FakeTensorMode | None:
    """The fake mode that is on, or that of the fake tensors among `inputs`; None without any.

    AssertionError where there are several.
    """
    active = active_fake_mode()
    modes = [] if active is None else [(active, "the active one")]
    for k, value in enumerate(leaves([*inputs] if isinstance(inputs, tuple) else inputs)):
        if isinstance(value, FakeTensor):
            modes.append((value.fake_mode, f"that of fake tensor input {k}"))
    for mode, which in modes[1:]:
        if mode is not modes[0][0]:
            raise AssertionError(
                f"fake mode ({modes[0][0]}), {modes[0][1]}, doesn't match mode ({mode}), {which}"
            )
    return modes[0][0] if modes else None


class TracingContext:
    """What is known of a compilation while it goes on, for those who have begun one by `tracing`.

    The library's own begin none.
    """

    def __init__(self, fake_mode: FakeTensorMode | None = None) -> None:
        self.fake_mode = fake_mode

    @staticmethod
    def try_get() -> TracingContext | None:
        """The innermost context of this thread; None without one."""
        return _open.contexts[-1] if _open.contexts else None

    @staticmethod
    def get() -> TracingContext:
        """The innermost context of this thread; RuntimeError without one."""
        if (context := TracingContext.try_get()) is None:
            raise RuntimeError("TracingContext.get() must be called within an ongoing trace.")
        return context


class _Open(local):
    def __init__(self) -> None:
        self.contexts: list[TracingContext | None] = []


_open = _Open()


@contextmanager
def tracing(context: TracingContext | None) -> Iterator[TracingContext | None]:
    """A context in which a `TracingContext` is the innermost; with None there is none."""
    _open.contexts.append(context)
    try:
        yield context
    finally:
        _open.contexts.pop()


__all__ = ["TracingContext", "active_fake_mode", "detect_fake_mode", "tracing"]
