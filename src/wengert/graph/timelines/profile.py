"""`profile()`: the context manager."""

from __future__ import annotations

import os
from types import TracebackType

from wengert.core.signals import call_despite_signals, without_entry_signals
from wengert.graph.timelines.files import Timeline
from wengert.graph.timelines.recording import GraphRecording
from wengert.graph.timelines.replay import build_timeline


class Profile:
    """Records which memory graphs hold, on all threads, from `start` to `stop`.

    As a context manager it starts and stops by itself. What it found so far is in `timeline`;
    printed, saved and in a notebook it shows that.

    >>> import wengert
    >>> memory = wengert.graph.profile()
    >>> memory.start()
    >>> wengert.ones(1000, requires_grad=True).exp().sum().backward()
    >>> memory.stop()
    >>> memory.timeline.peak.nbytes
    4000
    """

    def __init__(self, calls: int | None = None) -> None:
        self._recording = GraphRecording(calls)
        self._found: tuple[int, Timeline] | None = None

    def start(self) -> None:
        """Begin to record. RuntimeError if it has begun before."""
        self._recording.start()

    def stop(self) -> None:
        """Record no longer. Nothing happens if it does not."""
        self._recording.stop()

    def __enter__(self) -> Profile:
        self.start()
        return self

    @without_entry_signals
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        call_despite_signals(self.stop)

    @property
    def timeline(self) -> Timeline:
        """What was found, up to now. RuntimeError before the start."""
        recording = self._recording
        if not recording.times:
            raise RuntimeError("profile(): nothing was recorded; use it in a with, or start() it")
        recording.look()
        if self._found is None or self._found[0] != len(recording.times):
            self._found = len(recording.times), build_timeline(recording, Timeline)
        return self._found[1]

    def save(self, path: str | os.PathLike[str]) -> None:
        """As `Timeline.save`."""
        self.timeline.save(path)

    def _repr_html_(self) -> str:
        return self.timeline._repr_html_()

    def __str__(self) -> str:
        return str(self.timeline) if self._recording.times else repr(self)


def profile(*, calls: int | None = None) -> Profile:
    """Record which memory graphs hold over time, which lines, and which calls release it.

    Args:
        calls: stop to record after so many backward and grad calls; None for no end.

    Every graph that a backward passes is seen, and its bytes are exact: those of the storages
    that its nodes save, each once, leaves apart. So is the order in which nodes came, and with
    it the peak. A graph that nothing goes backward through is seen if it lives when a backward
    begins, when the garbage collector starts, at the end, or when a thread looks, which it does
    every 25 ms. Times between are interpolated: of nodes by their order, of what a backward
    releases evenly from its begin to its end.

    Raises TypeError and ValueError for `calls` that is no positive int.

    >>> import wengert
    >>> x = wengert.ones(1000, requires_grad=True)
    >>> with wengert.graph.profile() as memory:
    ...     for _ in range(3):
    ...         x.exp().sum().backward()
    >>> memory.timeline.peak.nbytes, memory.timeline.left_bytes, len(memory.timeline.calls)
    (4000, 0, 3)
    """
    if calls is not None:
        if not isinstance(calls, int) or isinstance(calls, bool):
            raise TypeError(f"profile(): calls must be an int or None, not {type(calls).__name__}")
        if calls < 1:
            raise ValueError(f"profile(): calls must be at least 1, and is {calls}")
    return Profile(calls)
