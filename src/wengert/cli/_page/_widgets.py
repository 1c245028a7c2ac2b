"""What the sections of a page are made of: cells, tables, tabs. All return HTML.

Whatever comes from outside (paths, lines of code, messages) goes through `escape` in here or where
it is put together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from wengert.graph.formatting import format_bytes

_SHOWN = 25  # rows of a table that are seen before somebody asks for all
_MOST = 1000  # rows that it has


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its head, what that means, whether it holds numbers."""

    name: str
    title: str = ""
    number: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its HTML, and what it is sorted by: None for the text that is seen."""

    html: str
    key: float | None = None


def text(value: str) -> Cell:
    """A cell of plain text."""
    return Cell(escape(value))


def count(value: int) -> Cell:
    """A cell with a number; nothing for 0."""
    return Cell(f"{value:,}" if value else "", value)


def nbytes(value: float) -> Cell:
    """A cell with bytes; nothing for 0."""
    return Cell(format_bytes(value) if value else "", value)


def seconds(value: float) -> Cell:
    """A cell with seconds; nothing for 0."""
    return Cell(as_seconds(value) if value else "", value)


def share(value: float) -> Cell:
    """A cell with a part of 1, in percent; nothing for 0."""
    return Cell(percent(value) if value else "", value)


def as_seconds(value: float) -> str:
    """Seconds, to milliseconds."""
    return f"{value:,.3f}"


def percent(value: float) -> str:
    """A part of 1 in percent."""
    return f"{100 * value:.1f}\u202f%"


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], kind: str = "") -> str:
    """A table that can be sorted; columns in which nothing stands are left out."""
    filled = [k for k in range(len(columns)) if any(row[k].html for row in rows)]
    columns = [columns[k] for k in filled]
    rows = [[row[k] for k in filled] for row in rows]
    head = "".join(
        f'<th scope="col"{_class(column)}><button type="button" title="{escape(column.title)}">'
        f"{escape(column.name)}</button></th>"
        for column in columns
    )
    body = "".join(_row(columns, row, k) for k, row in enumerate(rows[:_MOST]))
    more = ""
    if len(rows) > _SHOWN:
        more = f'<button type="button" class="more">Show all {len(rows):,}</button>'
    if len(rows) > _MOST:
        more = (
            f'<button type="button" class="more">Show the first {_MOST:,} of {len(rows):,}</button>'
        )
    return (
        f'<div class="sortable {kind}" data-shown="{_SHOWN}"><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}</div>"
    )


def _row(columns: Sequence[Column], row: Sequence[Cell], position: int) -> str:
    cells = "".join(
        f"<td{_class(column)}{_key(cell)}>{cell.html}</td>"
        for column, cell in zip(columns, row, strict=True)
    )
    return f"<tr{' hidden' if position >= _SHOWN else ''}>{cells}</tr>"


def _class(column: Column) -> str:
    return ' class="number"' if column.number else ""


def _key(cell: Cell) -> str:
    return "" if cell.key is None else f' data-key="{cell.key!r}"'


def tabs(name: str, label: str, panels: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Panels of which one is seen, each under a title, which is plain text."""
    panels = list(panels)
    buttons = "".join(
        f'<button type="button" role="tab" id="{name}-tab-{k}" aria-controls="{name}-{k}"'
        f' aria-selected="{str(not k).lower()}" tabindex="{-1 if k else 0}">'
        f"{escape(title)}</button>"
        for k, (title, _) in enumerate(panels)
    )
    bodies = "".join(
        f'<div role="tabpanel" id="{name}-{k}" aria-labelledby="{name}-tab-{k}" tabindex="-1"'
        f"{' hidden' if k else ''}>{body}</div>"
        for k, (_, body) in enumerate(panels)
    )
    head = f'<div role="tablist" aria-label="{escape(label)}">{buttons}</div>'
    return f'<div class="tabs {kind}">{head}{bodies}</div>'


def code(line: str) -> str:
    """A line of code, cut short where there is no room."""
    return f'<code class="line" title="{escape(line)}">{escape(line)}</code>' if line else ""


def is_code(words: str) -> bool:
    """Whether a remedy is a line of Python, and not a sentence."""
    try:
        ast.parse(words)
    except (SyntaxError, ValueError):
        return False
    return True
