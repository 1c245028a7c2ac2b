"""Profiler events, their sums, and how they are listed and exported."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable
from typing import Any
from weakref import ref

from wengert.autograd.profiling.table import format_duration, format_table


class _Times:
    """Names derived from `count`, `cpu_time_total` and `self_cpu_time_total`, in microseconds."""

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    device_type = "CPU"
    use_device: str | None = None
    is_async = is_remote = False
    node_id = -1
    flops: int | None = None

    @property
    def cpu_time(self) -> float:
        """The mean time per call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """0: nothing runs on a device."""
        return 0.0

    @property
    def cpu_time_str(self) -> str:
        """The mean time with its unit."""
        return format_duration(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The total time with its unit."""
        return format_duration(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time outside nested events, with its unit."""
        return format_duration(self.self_cpu_time_total)


class FunctionEvent(_Times):
    """One call of an operation, one node of a backward, or one `record_function` block."""

    count = 1

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, is_user_annotation: bool = False
    ) -> None:
        self.id, self.thread = id, thread
        self.name = self.key = self.trace_name = name
        self.start_us = self.end_us = start_us
        self.is_user_annotation = is_user_annotation
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.cpu_memory_usage = 0
        self.cpu_children: list[FunctionEvent] = []
        self._parent: ref[FunctionEvent] | None = None  # weak: it holds this one

    @property
    def cpu_parent(self) -> FunctionEvent | None:
        """The event this one is nested in, while it is alive."""
        return None if self._parent is None else self._parent()

    def add_child(self, event: FunctionEvent) -> None:
        """Add a nested event."""
        self.cpu_children.append(event)
        event._parent = ref(self)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time from begin to end."""
        return self.end_us - self.start_us

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time outside nested events."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes of the result, without those of nested events."""
        return self.cpu_memory_usage - sum(c.cpu_memory_usage for c in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str}"
            f" start_us={self.start_us:.3f} end_us={self.end_us:.3f}"
            f" cpu_children={[child.id for child in self.cpu_children]} thread={self.thread}"
            f" input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class FunctionEventAvg(_Times):
    """The sum of the events with one name."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: list[list[int]] = []
        self.stack: list[str] = []
        self.is_user_annotation = False

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event or a sum; the first one sets the name."""
        if self.key is None:
            self.key, self.input_shapes, self.stack = other.key, other.input_shapes, other.stack
            self.is_user_annotation = other.is_user_annotation
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str}"
            f" cpu_time={self.cpu_time_str}  count={self.count}"
            f" cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """A list of events or sums of them, with methods to print and export it."""

    def __init__(self, events: Iterable[Any] = (), profile_memory: bool = False) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, each counted without its nested events."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Sums by name and, if asked for, by shapes and by innermost lines of code."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple(event.stack[:group_by_stack_n]),
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for total in sums.values():
            total.input_shapes = total.input_shapes if group_by_input_shapes else []
            total.stack = total.stack[:group_by_stack_n]
        return EventList(sums.values(), self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg()
        for event in self:
            total += event
        total.key = "Total"
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """A table as text, sorted by an attribute of the events, the largest first."""
        events = list(self)
        if top_level_events_only:
            events = [e for e in events if getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            name = sort_by.replace("cuda", "device").replace("xpu", "device")
            events.sort(key=lambda event: getattr(event, name), reverse=True)
        widths = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        text = format_table(
            events[:row_limit] if row_limit >= 0 else events,
            self.self_cpu_time_total,
            widths,
            self._profile_memory,
            time_unit,
        )
        return text if header is None else f"{header}\n{text}"

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write what ``chrome://tracing`` and Perfetto read; compressed if it ends in .gz."""
        process = os.getpid()
        entries = [
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.name,
                "pid": process,
                "tid": event.thread,
                "ts": event.start_us,
                "dur": event.cpu_time_total,
                "args": {"External id": event.id, "Input Dims": event.input_shapes},
            }
            for event in self
        ]
        text = json.dumps({"schemaVersion": 1, "traceEvents": entries})
        if os.fspath(path).endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf-8") as zipped:
                zipped.write(text)
            return
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def supported_export_stacks_metrics(self) -> list[str]:
        """The metrics that `export_stacks` supports."""
        return ["self_cpu_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write stacks and their microseconds in the format of flame graph tools."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(
                f"metric should be one of: {self.supported_export_stacks_metrics()}, got {metric}"
            )
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, metric))
                if event.stack and value > 0:
                    lines = [line.replace(";", "_").replace(" ", "_") for line in event.stack]
                    file.write(f"{';'.join(reversed(lines))} {value}\n")
