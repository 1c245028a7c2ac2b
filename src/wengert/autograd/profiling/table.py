"""The profiler's table, in PyTorch's layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def format_duration(microseconds: float, unit: str | None = None) -> str:
    """Format microseconds with the largest unit that leaves a value of at least 1."""
    if unit is None:
        unit = next((u for u, size in _UNITS.items() if microseconds >= size), "us")
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def format_memory(count: int) -> str:
    """Bytes with a unit."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def format_table(
    events: list[Any],
    total: float,
    widths: tuple[int, int, int],
    with_memory: bool,
    time_unit: str | None,
) -> str:
    """A line per event; `widths` are the maximum widths of names, shapes and sources."""
    if not events:
        return ""
    names, shapes, sources = widths

    def share(amount: float) -> str:
        return f"{100 * amount / total:.2f}%" if total > 0 else "NaN"

    def time(value: float) -> str:
        return format_duration(value, time_unit)

    columns: list[tuple[str, Callable[[Any], str]]] = [
        ("Name", lambda e: _cut(e.key, names)),
        ("Self CPU %", lambda e: share(e.self_cpu_time_total)),
        ("Self CPU", lambda e: time(e.self_cpu_time_total)),
        ("CPU total %", lambda e: share(e.cpu_time_total)),
        ("CPU total", lambda e: time(e.cpu_time_total)),
        ("CPU time avg", lambda e: time(e.cpu_time)),
    ]
    if with_memory:
        columns.append(("CPU Mem", lambda e: format_memory(e.cpu_memory_usage)))
        columns.append(("Self CPU Mem", lambda e: format_memory(e.self_cpu_memory_usage)))
    columns.append(("# of Calls", lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        columns.append(("Input Shapes", lambda e: _cut(str(e.input_shapes), shapes)))
    if any(e.stack for e in events):
        columns.append(("Source Location", lambda e: _cut((e.stack or [""])[0], sources)))
    rows = [[title for title, _ in columns]]
    rows += [[cell(event) for _, cell in columns] for event in events]
    column_widths = [max(12, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("-" * n for n in column_widths)
    lines = ["  ".join(c.rjust(n) for c, n in zip(row, column_widths, strict=True)) for row in rows]
    body = [rule, lines[0], rule, *lines[1:], rule]
    return "\n".join(body) + f"\nSelf CPU time total: {time(total)}\n"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
