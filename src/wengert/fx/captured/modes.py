"""The modes of a thread that a graph may change: whether operations are recorded, and autocast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, NamedTuple

from wengert.amp import autocast
from wengert.amp.state import state
from wengert.autograd.grad_mode import is_grad_enabled, set_grad_enabled
from wengert.core.dtypes import dtype


class Modes(NamedTuple):
    """Whether operations are recorded, and of autocast on the CPU: dtype, enabled, cache."""

    grad: bool
    autocast: tuple[dtype | None, bool, bool]


def modes_of_thread() -> Modes:
    """The modes that are on."""
    enabled = state.enabled.get("cpu", False)
    return Modes(
        is_grad_enabled(), (state.dtypes.get("cpu") if enabled else None, enabled, state.cache)
    )


class _Open(local):
    def __init__(self) -> None:
        self.regions: list[Any] = []


_open = _Open()


def _set_grad_enabled(mode: bool) -> None:
    """Let operations be recorded from here on, or not: a call in graphs."""
    set_grad_enabled(mode)


def _enter_autocast(kind: str, lower: dtype | None, enabled: bool, cache: bool) -> Any:
    """Begin an autocast region: a call in graphs."""
    region = autocast(kind, lower, enabled, cache)
    region.__enter__()
    _open.regions.append(region)
    return region


def _exit_autocast(region: Any) -> None:
    """End an autocast region: a call in graphs."""
    _open.regions.remove(region)
    region.__exit__(None, None, None)


@contextmanager
def restored() -> Iterator[None]:
    """A context after which the modes are as before, though a graph has failed half way."""
    grad, count = is_grad_enabled(), len(_open.regions)
    try:
        yield
    except BaseException:
        for region in reversed(_open.regions[count:]):
            _exit_autocast(region)
        set_grad_enabled(grad)
        raise


@contextmanager
def in_modes(modes: Modes) -> Iterator[None]:
    """A context with some modes."""
    if modes == modes_of_thread():
        yield
        return
    lower, enabled, cache = modes.autocast
    with set_grad_enabled(modes.grad), autocast("cpu", lower, enabled, cache):
        yield
