"""Types of ``torch`` for annotations and `isinstance`, of which there are no instances."""

from __future__ import annotations

from wengert.platform.absences import Absent


class Stream(Absent):
    """The type of no stream: an accelerator would have them."""


class Event(Absent):
    """The type of no event: an accelerator would have them."""


class StreamContext(Absent):
    """The type of no block that chooses a stream."""


class TensorType(Absent):
    """The type of no type: TorchScript would have it."""


class ScriptObject(Absent):
    """The type of no object: TorchScript would have it."""


class DeviceObjType(Absent):
    """The type of no type: TorchScript would have it."""


class SymInt(Absent):
    """The type of no number: every size is an int."""


class SymFloat(Absent):
    """The type of no number: every number has a value."""


class SymBool(Absent):
    """The type of no truth value: each is a bool."""


__all__ = ["StreamContext"]
