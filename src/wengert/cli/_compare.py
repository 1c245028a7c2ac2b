"""``wengert compare``: what has changed from one run to another."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from wengert.cli._changes import (
    Change,
    ComparedFinding,
    Comparison,
    Measure,
    amount_of,
    compared,
    difference,
    load_run,
)
from wengert.graph import html_page
from wengert.graph.formatting import text_table

_ROWS = 8  # of a table
_CODE = 60  # characters of a line of code


def print_comparison(before: str, after: str, report: str | None = None) -> int:
    """Print a comparison, and write it to a page if one is asked for; returns the exit code."""
    try:
        comparison = compared(load_run(before), load_run(after))
        if report is not None:
            from wengert.cli._page._comparison import comparison_page

            html_page.write_text(report, comparison_page(comparison))
    except (OSError, ValueError) as error:
        print(f"wengert compare: {error}", file=sys.stderr)
        return 1
    except (LookupError, TypeError, AttributeError) as error:
        what = f"{before} or {after} is not as `wengert run --report-json` wrote it"
        print(f"wengert compare: {what}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print("\n".join(_lines(comparison)))
    return 0


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"before: {comparison.before}"
    yield f"after:  {comparison.after}"
    rows = [
        [change.where, *_cells(change, amount_of(change.where))] for change in comparison.figures
    ]
    yield ""
    yield text_table(["", "before", "after", "change"], rows, {1, 2, 3})
    for measure in comparison.measures:
        yield from _table(measure, "line", measure.moved(measure.lines))
        yield from _table(measure, "module", measure.moved(measure.modules))
    yield from _finding_lines("new", comparison.new)
    yield from _finding_lines("gone", comparison.gone)


def _table(measure: Measure, by: str, changes: Sequence[Change]) -> Iterator[str]:
    if not changes:
        return
    to_text = amount_of(measure.name)
    rows = [
        [*_cells(change, to_text), f"{change.where}  {change.text[:_CODE]}".rstrip()]
        for change in changes[:_ROWS]
    ]
    yield ""
    yield text_table(["before", "after", "change", f"{measure.name} by {by}"], rows, {0, 1, 2})
    if len(changes) > _ROWS:
        yield f"... and {len(changes) - _ROWS:,} more"


def _finding_lines(what: str, findings: Sequence[ComparedFinding]) -> Iterator[str]:
    for finding in findings:
        yield ""
        yield f"{what}: {finding.kind} at {finding.where}  {finding.line}".rstrip()
        yield f"  {finding.text}"


def _cells(change: Change, to_text: Callable[[float], str]) -> list[str]:
    values = ["" if value is None else to_text(value) for value in (change.before, change.after)]
    return [*values, difference(change, to_text)]
