"""The summary that ``wengert run`` prints."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from wengert.cli._colour import Palette
from wengert.graph import Finding, Line, Report
from wengert.graph.formatting import format_bytes, format_count, format_memory, shorten_path

_TOP_OPS = 8
_TOP_LINES = 6
_FINDINGS = "look at"


def format_report(
    report: Report, script: str, seconds: float, paint: Palette | None = None,
    programs: Sequence[str] = (),
) -> str:  # fmt: skip
    """The report as text, one fact to a line; labels in colour where `paint` has some.

    `programs` says what compiled functions have become.
    """
    lines = _lines(report, script, seconds, programs)
    if paint is not None and paint.enabled:
        lines = (_painted(line, paint) for line in lines)
    return "".join(f"{line}\n" for line in lines)


def _painted(line: str, paint: Palette) -> str:
    if not line.startswith("  "):
        return paint(line, "bold")
    label, text = line[:15], line[15:]
    return paint(label, "yellow" if label.strip() == _FINDINGS else "cyan") + text


def _lines(report: Report, script: str, seconds: float, programs: Sequence[str]) -> Iterator[str]:
    head = f"wengert: {os.path.basename(script)}, {seconds:.1f} s"
    if not report.backward_calls:
        yield f"{head}, no backward call"
        yield from _by_line("programs", iter(programs))
        yield from _by_line(_FINDINGS, map(_finding, report.findings))
        return
    calls = format_count(report.backward_calls, "backward call")
    yield f"{head}, {calls} through {format_count(report.nodes, 'operation')}"
    yield _entry("operations", _ops(report.ops))
    if any(line.measured for line in report.lines):
        yield _entry("graph memory", _memory(report))
    yield from _by_line("programs", iter(programs))
    yield from _by_line("compiled", map(_compiled, _most(report, "compiled")))
    yield from _by_line("released by", map(_releases, _most(report, "released_nodes")))
    yield from _by_line("retained by", map(_retains, _most(report, "retaining")))
    yield from _by_line(_FINDINGS, map(_finding, report.findings))


def _entry(label: str, text: str) -> str:
    return f"  {label:<13} {text}"


def _by_line(label: str, texts: Iterator[str]) -> Iterator[str]:
    for i, text in enumerate(texts):
        yield _entry("" if i else label, text)


def _ops(ops: dict[str, int]) -> str:
    top = [f"{name} {count:,}" for name, count in list(ops.items())[:_TOP_OPS]]
    others = len(ops) - len(top)
    if others:
        top.append(f"{format_count(others, 'other kind')} {sum(list(ops.values())[_TOP_OPS:]):,}")
    return ", ".join(top)


def _memory(report: Report) -> str:
    memory = report.memory
    at = shorten_path(memory.peak_at) or "the end"
    return (
        f"peak {format_memory(memory.peak, memory.peak_leaves)} at {at},"
        f" {format_bytes(memory.after)} after the last backward"
    )


def _most(report: Report, what: str) -> list[Line]:
    lines = [line for line in report.lines if getattr(line, what)]
    return sorted(lines, key=lambda line: getattr(line, what), reverse=True)[:_TOP_LINES]


def _compiled(line: Line) -> str:
    return (
        f"{_place(line)}: {format_count(line.compiled, 'call')} in programs of compiled functions"
    )


def _releases(line: Line) -> str:
    nodes = round(line.released_nodes / line.measured)
    each = (
        f"{format_count(nodes, 'operation')}, {format_bytes(line.released_bytes / line.measured)}"
    )
    return f"{_place(line)}: {_calls(line.calls - line.compiled, each)}"


def _retains(line: Line) -> str:
    return f"{_place(line)}: {_calls(line.retaining, f'up to {format_bytes(line.kept_bytes)}')}"


def _calls(calls: int, each: str) -> str:
    return f"{format_count(calls, 'call')}, {each}{' each' if calls > 1 else ''}"


def _finding(finding: Finding) -> str:
    times = f" ({format_count(finding.times, 'time')})" if finding.times > 1 else ""
    facts = "".join(f"; {label}: {shorten_path(text)}" for label, text in finding.facts[:1])
    remedy = f". Remedy: {finding.remedies[0]}" if finding.remedies else ""
    return f"{shorten_path(finding.where)}: {finding.text}{facts}{times}{remedy}"


def _place(line: Line) -> str:
    return f"{shorten_path(line.where)}  {line.text or line.what}"
