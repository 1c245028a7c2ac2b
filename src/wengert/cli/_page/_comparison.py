"""The page that `wengert compare --report` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from wengert.cli._changes import Change, Comparison, Measure, Told
from wengert.cli._compare import amount_of, difference
from wengert.cli._page._parts import Cell, Column, code, table, tabs, text
from wengert.cli._page._sections import KINDS, card
from wengert.graph import html_page

_AMOUNTS = (
    Column("before"),
    Column("after"),
    Column("change", "how much more there is; a click sorts by it"),
)


def comparison_page(found: Comparison) -> str:
    """The page as HTML."""
    figures = [
        [text(change.where), *_amounts(change, amount_of(change.where))] for change in found.figures
    ]
    panels = [(measure.name, _measure(measure)) for measure in found.measures]
    body = (
        "<main>"
        f"<header><h1>Two runs</h1><p>before: {escape(found.before)}<br>"
        f"after: {escape(found.after)}</p></header>"
        f"<section>{table([Column('of the run', number=False), *_AMOUNTS], figures)}</section>"
        f"<section><h2>Findings</h2>{_findings(found)}</section>"
        f"<section><h2>By line and module</h2>{tabs('measure', 'Measures', panels)}</section>"
        "</main>"
    )
    return html_page.page(
        f"{found.before} and after", body, styles=["report.css"], scripts=["report.js"]
    )


def _findings(found: Comparison) -> str:
    cards = [_finding("new", one) for one in found.new]
    cards += [_finding("gone", one) for one in found.gone]
    return "".join(cards) or '<p class="calm">The same in both runs.</p>'


def _finding(what: str, found: Told) -> str:
    colour = "bad" if what == "new" else "good"
    return card(
        f'<span class="{colour}">{what}</span> {escape(KINDS.get(found.kind, found.kind))}',
        (f'<span class="where">{escape(found.where)}</span>', code(found.line)),
        ("", escape(found.text)),
    )


def _measure(measure: Measure) -> str:
    lines, modules = measure.moved(measure.lines), measure.moved(measure.modules)
    shown = amount_of(measure.name)
    line, text = Column("line", number=False), Column("code", number=False)
    heads = [line, text, *_AMOUNTS], [Column("module", number=False), *_AMOUNTS]
    parts = [
        _table("By line", heads[0], lines, lambda c: [_where(c), Cell(code(c.text))], shown),
        _table("By module", heads[1], modules, lambda c: [_where(c)], shown),
    ]
    return "".join(parts) or '<p class="calm">The same in both runs.</p>'


def _table(
    title: str,
    columns: Sequence[Column],
    changes: Sequence[Change],
    first: Callable[[Change], list[Cell]],
    shown: Callable[[float], str],
) -> str:
    rows = [[*first(change), *_amounts(change, shown)] for change in changes]
    return f"<h3>{title}</h3>{table(columns, rows)}" if rows else ""


def _where(change: Change) -> Cell:
    return Cell(f'<span class="where">{escape(change.where)}</span>')


def _amounts(change: Change, shown: Callable[[float], str]) -> list[Cell]:
    before, after = (
        Cell("" if value is None else shown(value), value or 0.0)
        for value in (change.before, change.after)
    )
    colour = "" if not change.by else "bad" if change.by > 0 else "good"
    words = f'<span class="{colour}">{escape(difference(change, shown))}</span>'
    return [before, after, Cell(words, change.by)]
