"""Types of ``torch`` for annotations and `isinstance`, of which there are no instances."""

from __future__ import annotations

from typing import Any


class _Absent:
    def __init__(self, *args: Any, **options: Any) -> None:
        raise NotImplementedError(f"torch.{type(self).__name__}: wengert makes none")


class PyTorchFileReader(_Absent):
    """The type of no reader: `load` reads PyTorch's files."""


class Stream(_Absent):
    """The type of no stream: an accelerator would have them."""


class Event(_Absent):
    """The type of no event: an accelerator would have them."""


class StreamContext(_Absent):
    """The type of no block that chooses a stream."""


class SymInt(_Absent):
    """The type of no number: every size is an int."""


class SymFloat(_Absent):
    """The type of no number: every number has a value."""


class SymBool(_Absent):
    """The type of no truth value: each is a bool."""


__all__ = ["StreamContext"]
