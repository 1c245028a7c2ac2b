"""Reports as tables: in a terminal with rich, without it, and in a browser."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wengert
from wengert.graph import describe, live
from wengert.graph._tables import Row, Table, bar, notebook


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def report() -> wengert.graph.GraphReport:
    y = wengert.ones(100, requires_grad=True).exp()
    released = y.sin()
    released.sum().backward()
    x = wengert.ones(100, requires_grad=True)
    return describe((x.exp() * x.cos() + released).sum())


def test_bars_have_the_length_of_their_share() -> None:
    assert [bar(share).rstrip() for share in (0.0, 0.001, 0.05, 0.5, 1.0, 3.0)] == [
        "", "▏", "▌", "█████", "██████████", "██████████",
    ]  # fmt: skip
    assert {len(bar(k / 100)) for k in range(101)} == {10}


def test_plain_text_has_no_bars(capsys: pytest.CaptureFixture[str]) -> None:
    found = report()
    found.show("module")
    printed = capsys.readouterr().out
    assert printed == f"{str(found).splitlines()[0]}\n{found.table('module')}\n"
    assert "█" not in printed
    assert "\x1b" not in printed


def test_a_terminal_gets_rich_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    found = report()
    found.show("node")
    printed = terminal.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    assert "██" in plain
    assert "released by backward()" in plain
    assert "\x1b[2m" in printed  # dim
    assert plain.splitlines()[0] == str(found).splitlines()[0]
    ends = {line.index("live") for line in plain.splitlines() if " live " in line}
    assert len(ends) == 1


def test_without_rich_a_terminal_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    found = report()
    found.show("line")
    assert terminal.getvalue().endswith(found.table("line") + "\n")


def test_rich_prints_reports_by_itself() -> None:
    console = pytest.importorskip("rich.console")
    loss = wengert.ones(5000, requires_grad=True).exp()
    for found in (describe(loss), live()):
        out = io.StringIO()
        console.Console(file=out, width=200).print(found)
        assert str(found).splitlines()[0] in out.getvalue()
        assert "20.0 kB" in out.getvalue()
        assert "[100" not in out.getvalue()  # no markup is read from lines


def test_what_looks_like_markup_is_text() -> None:
    console = pytest.importorskip("rich.console")
    out = io.StringIO()
    table = Table(["[red]a"], [Row(["[bold]x[/bold]"])], 1, set())
    console.Console(file=out, width=80).print(table.rich())
    assert "[red]a" in out.getvalue()
    assert "[bold]x[/bold]" in out.getvalue()


def test_rows_that_are_left_out_are_counted() -> None:
    table = Table(["a"], [Row(["x"])], 1234, set())
    assert table.text() == "a\nx\n... and 1,233 more"
    assert "... and 1,233 more" in table.html()
    assert Table(["a"], [Row(["x"])], 1, set()).text() == "a\nx"


def test_html_is_escaped() -> None:
    rows = [Row(["</script><b>\"'&"], 0.5, dim=True)]
    html = notebook("<h>", {"x": Table(["<i>"], rows, 1, set(), 0)}, "x")
    assert "&lt;/script&gt;&lt;b&gt;&quot;&#x27;&amp;" in html
    assert "&lt;i&gt;" in html
    assert "&lt;h&gt;" in html
    assert 'style="width:50.0%"' in html
    assert '<tr class="dim">' in html
    assert not re.search(r"<(b|h)>", html)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_notebook_shows_them(tmp_path: Path, open_page: Callable[..., Any], scheme: str) -> None:
    page = tmp_path / "notebook.html"
    colors = "<style>:root{color-scheme:light dark}</style>"
    page.write_text(f"<!doctype html><meta charset=utf-8>{colors}{report()._repr_html_()}")
    shown = open_page(page, color_scheme=scheme)
    assert [d.inner_text() for d in shown.locator("summary").all()] == [
        "by module", "by line", "by node",
    ]  # fmt: skip
    assert shown.locator("table:visible").count() == 1
    shown.locator("summary", has_text="by node").click()
    bars = shown.locator("table:visible tbody .wengert-share i").all()
    widths = [bar.bounding_box()["width"] for bar in bars]
    assert max(widths) > 20 > min(widths) == 0
    assert shown.locator("tr.dim:visible").count() > 0
    for width in (1280, 300):
        shown.set_viewport_size({"width": width, "height": 600})
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.usefixtures("alone")
def test_an_interactive_session_shows_what_print_shows() -> None:
    x = wengert.ones(3, requires_grad=True)
    y = (x * 2).exp().sum()
    with wengert.graph.profile() as memory:
        (x * 2).exp().sum().backward()
    for found in (
        wengert.graph.describe(y),
        wengert.graph.why(y),
        wengert.graph.live(),
        memory.timeline,
    ):
        assert repr(found) == str(found)
        assert "(" not in repr(found).partition(" ")[0]
