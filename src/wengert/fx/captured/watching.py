"""Watching the Python of a call whose tensor operations are recorded."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

from wengert.core.device import device
from wengert.core.dtypes import dtype
from wengert.core.size import Size
from wengert.replay.observing import Observer, is_ours

# What looks like itself, whatever its text is asked for.
_SIMPLE = (Size, dtype, device)


class Watcher(Observer):
    """As `Observer`, of a call that a `CallRecorder` records: there is no run.

    Attributes:
        count: how many calls the recorder has seen.
    """

    def __init__(self) -> None:
        nobody: Any = SimpleNamespace(newest=0, settled=True, recording=True, entry=None)
        super().__init__(nobody)
        self.count = 0

    def watch(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What a function gives."""
        sys.setprofile(self._see)
        try:
            return function(*args, **kwargs)
        finally:
            sys.setprofile(None)

    def resume(self) -> None:
        """Go on, after an operation has been computed: nobody looks into that."""
        sys.setprofile(self._see)

    def refuse(self, what: str) -> None:
        """Note why no graph can stand for the call."""
        self.reason = self.reason or what

    def _is_harmless(self, frame: FrameType, result: Any) -> bool:
        texts = frame.f_code.co_name in ("__repr__", "__str__", "__format__")
        if texts and isinstance(next(iter(frame.f_locals.values()), None), _SIMPLE):
            return True
        return frame.f_code.co_name == "_check" or super()._is_harmless(frame, result)

    def _state(self) -> Any:
        return self.count

    def _called(self, frame: FrameType) -> None:
        if not is_ours(frame.f_back):
            self._inside.append((frame, self._state()))
