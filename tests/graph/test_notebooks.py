"""In a notebook: places are cells, and results that it has shown are its own."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import wengert
from wengert.autograd import GraphReleasedError
from wengert.graph import describe, draw, live, profile, why
from wengert.graph.drawing._tree import split_location


class Shell:
    """As much of IPython as there is to know: it names cells and keeps what they show."""

    __module__ = "IPython.core.interactiveshell"

    def __init__(self, module: ModuleType) -> None:
        self.cells: dict[str, int] = {}
        self.compile = self
        self.space = module.__dict__
        self.space |= {"Out": {}, "wengert": wengert, "_": "", "__": "", "___": ""}
        self.user_ns_hidden: dict[str, Any] = {}

    def format_code_name(self, file: str) -> tuple[str, str] | None:
        return ("Cell", f"In[{self.cells[file]}]") if file in self.cells else None

    def run(self, text: str, shown: str = "") -> Any:
        """Run a cell, the next one; the value of what it shows."""
        number = len(self.cells) + 1
        file = f"/tmp/ipykernel_77/{4000 + number}.py"
        self.cells[file] = number
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec"), self.space)
        if shown:
            value = eval(shown, self.space)
            self.space["Out"][number] = self.space[f"_{number}"] = value
            self.space["___"], self.space["__"] = self.space["__"], self.space["_"]
            self.space["_"] = self.user_ns_hidden[f"_{number}"] = value
        return self.space


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, alone: None) -> Iterator[Shell]:
    main = ModuleType("notebook")
    shell = Shell(main)
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "notebook", main)
    yield shell
    for file in shell.cells:
        del linecache.cache[file]


def test_errors_name_cells(shell: Shell) -> None:
    shell.run("x = wengert.ones(3, requires_grad=True)\n\nloss = x.exp().sum()\n")
    shell.run("loss.backward()")
    with pytest.raises(GraphReleasedError) as caught:
        shell.run("if True:\n    loss.backward()")
    text = str(caught.value)
    assert "this call:   backward()  at cell [3], line 2  loss.backward()\n" in text
    assert "released by: backward()  at cell [2], line 1  loss.backward()\n" in text
    assert "reached:     sum (cell [1], line 3  loss = x.exp().sum())\n" in text
    assert "ipykernel" not in text


def test_graphs_name_cells(shell: Shell) -> None:
    space = shell.run("x = wengert.ones(3, requires_grad=True)\ny = x.exp()\nloss = y.sum()")
    report = describe(space["loss"])
    assert [node.where for node in report.nodes[1:]] == ["cell [1], line 2", "cell [1], line 3"]
    assert "cell [1], line 2  y = x.exp()" in str(report)
    assert why(space["x"].detach()).requires_grad is not None
    assert why(space["y"]).what == "exp (cell [1], line 2  y = x.exp()), float32 [3]"
    with profile() as memory:
        shell.run("x.exp().sum().backward()")
    assert memory.timeline.calls[0].where == "cell [2], line 1"
    pytest.importorskip("igraph")
    drawing = draw(space["loss"])
    assert [box.detail for box in drawing.boxes[2:]] == ["cell [1], line 2", "cell [1], line 3"]


def test_loops_in_cells_are_drawn_as_such(shell: Shell) -> None:
    pytest.importorskip("igraph")
    begin = "y = wengert.ones(3, requires_grad=True)\n"
    drawing = draw(shell.run(f"{begin}for _ in range(9):\n    y = y.exp()\n    y = y * 2")["y"])
    (loop,) = [box for box in drawing.boxes if box.kind == "repeat" and box.depth == 1]
    assert (loop.title, loop.tag) == ("cell [1], lines 3\N{EN DASH}4", "\N{MULTIPLICATION SIGN} 9")


@pytest.mark.parametrize(
    ("where", "parts"),
    [
        ("/a/b.py:3", ("b.py", ":", 3)),
        ("C:\\a\\b.py:30", ("b.py", ":", 30)),
        ("cell [12], line 3", ("cell [12]", ", line ", 3)),
        ("<ipython-input-3-ab>:7", ("<ipython-input-3-ab>", ":", 7)),
        ("odd: line 2.py:1", ("odd: line 2.py", ":", 1)),
    ],
)
def test_places_have_a_file_and_a_line(where: str, parts: tuple[str, str, int]) -> None:
    assert split_location(where) == parts


def test_names_come_before_what_was_shown(shell: Shell) -> None:
    space = shell.run("y = wengert.ones(3, requires_grad=True).exp()", shown="y")
    (keeper,) = why(space["y"]).alive
    assert [holder.path for holder in keeper.holders] == ["y", "Out[1]"]
    assert keeper.holders[1].scope == "kept by IPython because it was shown"


def test_a_container_comes_before_what_was_shown(shell: Shell) -> None:
    shell.run("kept = [wengert.ones(3, requires_grad=True).exp() for _ in range(3)]", "kept[1]")
    paths = {graph.tops[0].holders[0].path for graph in live().graphs}
    assert paths == {"kept[0]", "kept[1]", "kept[2]"}


def test_leaks_have_the_line_of_their_cell(shell: Shell, clean: None) -> None:
    shell.run("layer, total = wengert.nn.Linear(3, 1), 0")
    text = "for _ in range(15):\n    loss = layer(wengert.ones(2, 3)).exp().mean()\n"
    shell.run(text + "    loss.backward(retain_graph=True)\n    total = total + loss\n")
    (leak,) = live().leaks()
    assert (leak.kind, leak.where, leak.line) == (
        "sum", "cell [2], line 4", "total = total + loss"
    )  # fmt: skip
    assert leak.remedy == "total += loss.item()"


def test_what_was_shown_and_has_no_name(shell: Shell) -> None:
    shell.run("x = wengert.ones(3, requires_grad=True)", shown="x.exp()")
    (graph,) = live().graphs
    assert [holder.path for holder in graph.tops[0].holders] == ["Out[1]"]
    shell.space["Out"].clear()
    (graph,) = live().graphs
    assert [holder.path for holder in graph.tops[0].holders] == ["_"]


def test_python_keeps_the_last_result_as_well(monkeypatch: pytest.MonkeyPatch, alone: None) -> None:
    import builtins

    y = wengert.ones(3, requires_grad=True).exp()
    monkeypatch.setattr(builtins, "_", y, raising=False)
    (keeper,) = why(y).alive
    assert [str(holder) for holder in keeper.holders][1:] == [
        "_, kept by Python because it was shown"
    ]
    assert keeper.holders[0].path == "y"


def test_old_ipython_has_the_number_in_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = SimpleNamespace(get_ipython=lambda: None)
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    space: dict[str, Any] = {"wengert": wengert}
    exec(
        compile("y = wengert.ones(2, requires_grad=True) * 2", "<ipython-input-5-ab>", "exec"),
        space,
    )
    assert describe(space["y"]).nodes[1].where == "cell [5], line 1"
