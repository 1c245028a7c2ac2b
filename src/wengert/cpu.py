"""The one device, under the names of ``torch.cpu``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def is_available() -> bool:
    """True.

    >>> import wengert.cpu
    >>> wengert.cpu.is_available()
    True
    """
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: operations are done when they return."""


def is_initialized() -> bool:
    """True."""
    return True


def set_device(device: Any) -> None:
    """Nothing to choose."""


class Stream:
    """The one order in which operations run: as they are called."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""


def current_stream(device: Any = None) -> Stream:
    """The one order in which operations run."""
    return Stream()


def stream(stream: Any) -> AbstractContextManager[None]:
    """A context that does nothing."""
    return nullcontext()
