"""Tables of a report: plain text, HTML for notebooks, and rich's tables for terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from wengert.graph.formatting import text_table

_BAR = 10  # characters that a whole is wide
_SHORT = 20  # characters that stay in one line
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_STYLE = """
.wengert-table{border-collapse:collapse;font-size:.92em;margin:.4em 0}
.wengert-table th{text-align:left;font-weight:600;border-bottom:1px solid rgba(128,128,128,.5)}
.wengert-table th,.wengert-table td{padding:.15em .8em .15em 0;vertical-align:top;
background:none;text-align:left}
.wengert-table td{font-family:ui-monospace,Menlo,Consolas,monospace;white-space:pre-wrap;
overflow-wrap:anywhere}
.wengert-table .n{text-align:right;font-variant-numeric:tabular-nums}
.wengert-table .n,.wengert-table .s{white-space:nowrap}
.wengert-table tr.dim{opacity:.55}
.wengert-share{display:inline-block;width:5em;height:.6em;background:rgba(128,128,128,.2)}
.wengert-share i{display:block;height:100%;background:rgb(66,122,208)}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table.

    Attributes:
        cells: what it says, by column.
        share: how much of the whole it has, from 0 to 1.
        dim: whether it is over and done with.
    """

    cells: list[str]
    share: float = 0.0
    dim: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head.

    Attributes:
        head: the names of the columns.
        rows: the rows that are shown.
        count: how many rows there are.
        numbers: the columns with numbers, which end at the same place.
        shares: the column behind which bars show each row's share, or None.
    """

    head: list[str]
    rows: list[Row]
    count: int
    numbers: set[int]
    shares: int | None = None

    def text(self) -> str:
        """As plain text."""
        table = text_table(self.head, [row.cells for row in self.rows], self.numbers)
        return "\n".join([table, *self.left_out()])

    def left_out(self) -> list[str]:
        """A line that says how many rows are not shown, if there are any."""
        count = self.count - len(self.rows)
        return [f"... and {count:,} more"] if count else []

    def html(self) -> str:
        """As HTML, without the style."""
        body = "".join(map(self._html_row, self.rows))
        head = "".join(self._html_cells(self.head, "th", "<th></th>"))
        more = "".join([f"<p>{line}</p>" for line in self.left_out()])
        return (
            '<div style="overflow-x:auto"><table class="wengert-table">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
        )

    def _html_row(self, row: Row) -> str:
        bar = f'<td><span class="wengert-share"><i style="width:{row.share:.1%}"></i></span></td>'
        dim = ' class="dim"' if row.dim else ""
        return f"<tr{dim}>{''.join(self._html_cells(row.cells, 'td', bar))}</tr>"

    def _html_cells(self, cells: Sequence[str], tag: str, share: str) -> Iterator[str]:
        for k, cell in enumerate(cells):
            kind = "n" if k in self.numbers else "s" if len(cell) < _SHORT else "l"
            yield f'<{tag} class="{kind}">{escape(cell)}</{tag}>'
            if k == self.shares:
                yield share

    def rich(self) -> Any:
        """As a table of rich."""
        from rich.table import Table as RichTable
        from rich.text import Text

        table = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        for k, name in enumerate(self.head):
            number = k in self.numbers
            table.add_column(
                Text(name), justify="right" if number else "left", no_wrap=number, overflow="fold"
            )
            if k == self.shares:
                table.add_column("", no_wrap=True)
        for row in self.rows:
            cells = [Text(cell) for cell in row.cells]
            if self.shares is not None:
                cells.insert(self.shares + 1, Text(bar(row.share), "blue"))
            table.add_row(*cells, style="dim" if row.dim else None)
        return table


def bar(share: float) -> str:
    """A bar in a line of text."""
    eighths = round(8 * _BAR * min(max(share, 0.0), 1.0))
    eighths = max(eighths, 1 if share > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()).ljust(_BAR)


def notebook(heading: str, tables: dict[str, Table], first: str) -> str:
    """A report as HTML, which goes with light and with dark pages; one table is unfolded."""
    fragments = [f"<style>{_STYLE}</style><p>{escape(heading)}</p>"]
    for by, table in tables.items():
        unfolded = " open" if by == first else ""
        fragments.append(
            f"<details{unfolded}><summary>by {escape(by)}</summary>{table.html()}</details>"
        )
    return "".join(fragments)


def in_terminal(heading: str, table: Table) -> Iterator[Any]:
    """What rich prints of a report."""
    from rich.text import Text

    yield Text(heading)
    if table.rows:
        yield table.rich()
    yield from [Text(line, "dim") for line in table.left_out()]


def print_report(heading: str, table: Table) -> None:
    """Print a report: with rich if it is installed and somebody looks at a terminal."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
        except ImportError:
            pass
        else:
            Console().print(*in_terminal(heading, table), sep="\n")
            return
    print(f"{heading}\n{table.text()}" if table.rows else heading)
