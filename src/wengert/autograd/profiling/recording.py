"""Watches operations while a profiler is on; costs nothing otherwise.

The functions generated for operations (`ops.publish`) are recognised by their file name, so the
interpreter's profiling hook sees each call of them: forward, and in a backward as the pullback
of a node. `record_function` blocks are part of the same stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns
from types import CodeType, FrameType
from typing import Any

from wengert.autograd.profiling.events import FunctionEvent
from wengert.core.storage import line_of
from wengert.core.tensor import Tensor, caller

_PULLBACKS = ("_send", "_pullback_to")
_QUIET = ("<module>", "_edges", "_release", "_clear")  # bookkeeping of a backward

current: EventRecorder | None = None


class EventRecorder:
    """The events of one thread between `start` and `stop`."""

    def __init__(self, shapes: bool = False, memory: bool = False, stack: bool = False) -> None:
        self.events: list[FunctionEvent] = []
        self._shapes, self._memory, self._lines = shapes, memory, stack
        self._open: list[tuple[Any, FunctionEvent]] = []
        self._before: Any = None
        self.thread = threading.get_ident()

    def start(self) -> None:
        """Start watching; RuntimeError if another recording is in progress."""
        global current
        if current is not None and current._is_watching():
            raise RuntimeError("Profiler is already enabled: there can be one at a time")
        self._before = sys.getprofile()
        try:
            current = self
            sys.setprofile(self._watch)
        except BaseException:  # of a signal, which came after that
            self.stop()
            raise

    def _is_watching(self) -> bool:
        """Whether it is still active: Python disables the hook if a signal raises in `_watch`."""
        return self.thread != threading.get_ident() or sys.getprofile() == self._watch

    def stop(self) -> None:
        """Stop watching; open blocks end here."""
        global current
        sys.setprofile(self._before)
        current = None
        while self._open:
            self._close()

    def _watch(self, frame: FrameType, what: str, value: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith("<op "):
            return
        if what == "call":
            name = code.co_name
            if name.endswith(_QUIET) or (self._open and self._open[-1][0] is code):
                return  # an operation that calls itself after converting its inputs to one dtype
            self._describe(self.open(self._name(frame), code), frame)
        elif what == "return" and self._open and self._open[-1][0] is code:
            if self._memory and type(value) is Tensor and value._array.base is None:
                self._open[-1][1].cpu_memory_usage += value._array.nbytes
            self._close()

    def _name(self, frame: FrameType) -> str:
        name = frame.f_code.co_name
        if name.endswith(_PULLBACKS):
            return type(frame.f_locals["node"]).__name__
        return f"aten::{name.strip('_').removesuffix('_over')}"

    def _describe(self, event: FunctionEvent, frame: FrameType) -> None:
        if self._shapes:
            names = frame.f_code.co_varnames[: _inputs(frame.f_code)]
            values = [frame.f_locals[n] for n in names if n not in ("excess", "out")]
            event.input_shapes = [
                list(v._array.shape) if isinstance(v, Tensor) else [] for v in values
            ]
        if self._lines and frame.f_back is not None:
            code, lasti = caller(frame.f_back)
            event.stack = [f"{code.co_filename}({line_of(code, lasti)}): {code.co_name}"]

    def open(self, name: str, by: Any, annotation: bool = False) -> FunctionEvent:
        """Begin an event nested in the open one."""
        event = FunctionEvent(
            len(self.events) + 1, name, self.thread, perf_counter_ns() / 1e3, annotation
        )
        if self._open:
            self._open[-1][1].add_child(event)
        self.events.append(event)
        self._open.append((by, event))
        return event

    def describe_exchange(self, event: FunctionEvent, tensors: Iterable[Tensor]) -> None:
        """Say of an event that it is an exchange of tensors between processes."""
        event.is_async = True
        if self._shapes:
            event.input_shapes = [_sent_shape(t) for t in tensors]

    def close(self, by: Any) -> None:
        """End the event that `by` opened, and those inside of it."""
        if any(opener is by for opener, _ in self._open):
            while self._close() is not by:
                pass

    def _close(self) -> Any:
        opener, event = self._open.pop()
        event.end_us = perf_counter_ns() / 1e3
        if event.cpu_parent is not None:
            event.cpu_parent.cpu_memory_usage += event.cpu_memory_usage
        return opener


def _sent_shape(tensor: Tensor) -> list[int]:
    # Complex numbers are sent as pairs.
    return [*tensor.shape, 2] if tensor.is_complex() else list(tensor.shape)


@contextmanager
def exchange_event(name: str, tensors: Iterable[Tensor]) -> Iterator[None]:
    """The event of an exchange between processes, if this thread is watched."""
    recorder = current
    if recorder is None or recorder.thread != threading.get_ident():
        yield
        return
    by = object()
    recorder.describe_exchange(recorder.open(name, by), tensors)
    try:
        yield
    finally:
        recorder.close(by)


def _inputs(code: CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount
