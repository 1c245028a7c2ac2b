"""``wengert compare``: what has changed from one run to another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from wengert.cli._changes import Change, Comparison, Measure, Told, compared, load
from wengert.graph import html_page
from wengert.graph.formatting import flops, size, text_table

_ROWS = 8  # of a table
_CODE = 60  # characters of a line of code


def compare(before: str, after: str, report: str | None = None) -> int:
    """Print a comparison, and write it to a page if one is asked for; returns the exit code."""
    try:
        found = compared(load(before), load(after))
        if report is not None:
            from wengert.cli._page._comparison import comparison_page

            html_page.write(report, comparison_page(found))
    except (OSError, ValueError) as error:
        print(f"wengert compare: {error}", file=sys.stderr)
        return 1
    except (LookupError, TypeError, AttributeError) as error:
        what = f"{before} or {after} is not as `wengert run --report-json` wrote it"
        print(f"wengert compare: {what}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("\n".join(_lines(found)))
    return 0


def _lines(found: Comparison) -> Iterator[str]:
    yield f"before: {found.before}"
    yield f"after:  {found.after}"
    rows = [[change.where, *_cells(change, amount_of(change.where))] for change in found.figures]
    yield ""
    yield text_table(["", "before", "after", "change"], rows, {1, 2, 3})
    for measure in found.measures:
        yield from _table(measure, "line", measure.moved(measure.lines))
        yield from _table(measure, "module", measure.moved(measure.modules))
    yield from _told("new", found.new)
    yield from _told("gone", found.gone)


def _table(measure: Measure, by: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    shown = amount_of(measure.name)
    rows = [
        [*_cells(change, shown), f"{change.where}  {change.text[:_CODE]}".rstrip()]
        for change in changes[:_ROWS]
    ]
    yield ""
    yield text_table(["before", "after", "change", f"{measure.name} by {by}"], rows, {0, 1, 2})
    if len(changes) > _ROWS:
        yield f"... and {len(changes) - _ROWS:,} more"


def _told(what: str, findings: Sequence[Told]) -> Iterator[str]:
    for found in findings:
        yield ""
        yield f"{what}: {found.kind} at {found.where}  {found.line}".rstrip()
        yield f"  {found.text}"


def _cells(change: Change, shown: Callable[[float], str]) -> list[str]:
    values = ["" if value is None else shown(value) for value in (change.before, change.after)]
    return [*values, difference(change, shown)]


def difference(change: Change, shown: Callable[[float], str]) -> str:
    """How much more or less there is, and in per cent."""
    if change.before is None:
        return "new"
    if change.after is None:
        return "gone"
    if not change.by:
        return ""
    sign = "-" if change.by < 0 else "+"
    part = f" ({change.by / change.before:+.0%})" if change.before else ""
    return f"{sign}{shown(abs(change.by))}{part}"


def amount_of(name: str) -> Callable[[float], str]:
    """How the amounts of a measure, or a figure, are written."""
    if name in ("time", "seconds"):
        return lambda value: f"{value:.3f} s"
    if "bytes" in name:
        return size
    return flops if name == "FLOP" else lambda value: f"{value:,}"
