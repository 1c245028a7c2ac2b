"""The page that `wengert compare --report` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from wengert.cli._changes import Change, ComparedFinding, Comparison, Measure, amount_of, difference
from wengert.cli._page._sections import KINDS, card
from wengert.cli._page._widgets import Cell, Column, code, table, tabs, text
from wengert.graph import html_page

_AMOUNTS = (
    Column("before"),
    Column("after"),
    Column("change", "how much more there is; a click sorts by it"),
)


def comparison_page(comparison: Comparison) -> str:
    """The page as HTML."""
    figures = [
        [text(change.where), *_amounts(change, amount_of(change.where))]
        for change in comparison.figures
    ]
    panels = [(measure.name, _measure(measure)) for measure in comparison.measures]
    body = (
        "<main>"
        f"<header><h1>Two runs</h1><p>before: {escape(comparison.before)}<br>"
        f"after: {escape(comparison.after)}</p></header>"
        f"<section>{table([Column('of the run', number=False), *_AMOUNTS], figures)}</section>"
        f"<section><h2>Findings</h2>{_findings(comparison)}</section>"
        f"<section><h2>By line and module</h2>{tabs('measure', 'Measures', panels)}</section>"
        "</main>"
    )
    return html_page.page(
        f"{comparison.before} and after", body, styles=["report.css"], scripts=["report.js"]
    )


def _findings(comparison: Comparison) -> str:
    cards = [_finding("new", one) for one in comparison.new]
    cards += [_finding("gone", one) for one in comparison.gone]
    return "".join(cards) or '<p class="calm">The same in both runs.</p>'


def _finding(what: str, finding: ComparedFinding) -> str:
    colour = "bad" if what == "new" else "good"
    return card(
        f'<span class="{colour}">{what}</span> {escape(KINDS.get(finding.kind, finding.kind))}',
        (f'<span class="where">{escape(finding.where)}</span>', code(finding.line)),
        ("", escape(finding.text)),
    )


def _measure(measure: Measure) -> str:
    lines, modules = measure.moved(measure.lines), measure.moved(measure.modules)
    to_text = amount_of(measure.name)
    line, text = Column("line", number=False), Column("code", number=False)
    heads = [line, text, *_AMOUNTS], [Column("module", number=False), *_AMOUNTS]
    tables = [
        _table("By line", heads[0], lines, lambda c: [_where(c), Cell(code(c.text))], to_text),
        _table("By module", heads[1], modules, lambda c: [_where(c)], to_text),
    ]
    return "".join(tables) or '<p class="calm">The same in both runs.</p>'


def _table(
    title: str,
    columns: Sequence[Column],
    changes: Sequence[Change],
    first: Callable[[Change], list[Cell]],
    to_text: Callable[[float], str],
) -> str:
    rows = [[*first(change), *_amounts(change, to_text)] for change in changes]
    return f"<h3>{title}</h3>{table(columns, rows)}" if rows else ""


def _where(change: Change) -> Cell:
    return Cell(f'<span class="where">{escape(change.where)}</span>')


def _amounts(change: Change, to_text: Callable[[float], str]) -> list[Cell]:
    before, after = (
        Cell("" if value is None else to_text(value), value or 0.0)
        for value in (change.before, change.after)
    )
    colour = "" if not change.by else "bad" if change.by > 0 else "good"
    words = f'<span class="{colour}">{escape(difference(change, to_text))}</span>'
    return [before, after, Cell(words, change.by)]
