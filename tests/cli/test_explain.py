"""`wengert explain`."""

from __future__ import annotations

import builtins
import io
import sys
from typing import Any

import pytest

from wengert.cli import main
from wengert.cli._explain import ids


@pytest.mark.parametrize("id", ids())
def test_prints_the_explanation(capsys: Any, id: str) -> None:
    assert main(["explain", id]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{id}\n{'=' * len(id)}\n\n")
    assert "Remedies\n--------\n" in out
    assert f"      More: wengert explain {id}\n" in out
    prose = [line for line in out.splitlines() if not line.startswith("    ")]
    assert not [line for line in prose for sign in ("](", "```", "**") if sign in line]


def test_lists_all_ids_with_a_sentence(capsys: Any) -> None:
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ids()
    assert "no-graph  " in lines[ids().index("no-graph")]
    assert lines[ids().index("no-graph")].endswith(
        "  Backward was called on a tensor that no recorded operation made."
    )


def test_unknown_id_is_an_error_with_close_matches(capsys: Any) -> None:
    assert main(["explain", "graph-relased"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        "wengert explain: no error has the id 'graph-relased'; did you mean graph-released"
    )
    assert main(["explain", "../pyproject"]) == 1
    assert capsys.readouterr().err.endswith("; `wengert explain` lists them\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["explain", "no-graph"]) == 0
    assert "\x1b[" in terminal.getvalue()
    assert "no-graph" in terminal.getvalue()


def test_a_terminal_without_rich_gets_text(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_rich(name: str, *rest: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *rest)

    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(builtins, "__import__", without_rich)
    assert main(["explain", "no-graph"]) == 0
    assert terminal.getvalue().startswith("no-graph\n========\n\n")
