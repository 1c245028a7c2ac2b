"""The errors of a graph's life and their explanations belong together, and both are true."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.source import ROOT, modules, tree_of
from wengert.cli._explain import explanation, ids, summary

SECTIONS = ["Example", "Remedies", "In PyTorch", "See also"]
OUTPUT = re.compile(r"^```text\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PEER = re.compile(r'^```text title="PyTorch 2\.13"\n(.*?)^```\n', re.MULTILINE | re.DOTALL)
RAISED = re.compile(r"^([\w.]+(?:Error|Warning)): (.*)", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"\b(?:message|more)\(")
MORE = re.compile(r"^  More: wengert explain (.*)$", re.MULTILINE)

# Where the text is not that of PyTorch.
OTHERWISE = {
    "checkpoint-backward-inside": "passes there",
    "function-saved-intermediate": "passes there, with a wrong result",
    "second-backward-passed": "passes there; here a warning says so",
    "graph-in-use": "found there halfway, as a second backward",
    "once-differentiable": "there a tensor without a graph",
    "tensor-outlived-transform": "there in terms of the implementation",
}


def constants(node: ast.expr) -> Iterator[str]:
    """The strings that an expression may be."""
    if isinstance(node, ast.IfExp):
        yield from constants(node.body)
        yield from constants(node.orelse)
    else:
        assert isinstance(node, ast.Constant), "an id has to be readable in the source"
        yield str(node.value)


def raised() -> set[str]:
    """The ids that messages are given in the source."""
    return {
        id
        for module, path in modules().items()
        if module != "wengert.core.messages" and CALL.search(path.read_text())
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("message", "more") and node.args
        for id in constants(node.args[0])
    }


def sections(page: str) -> dict[str, str]:
    """The parts of an explanation by their titles."""
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in parts}


def test_each_id_has_an_explanation_and_each_explanation_an_id() -> None:
    assert raised() == set(ids())


@pytest.mark.parametrize("id", ids())
def test_explanation_has_its_parts(id: str) -> None:
    page = explanation(id)
    assert page.startswith(f"# {id}\n\n")
    assert summary(page).endswith(".")
    assert len(page.partition("\n## ")[0].split("\n\n")) > 2, "no word on what it means"
    parts = sections(page)
    assert list(parts) == SECTIONS
    assert parts["Remedies"].count("```python") >= 1
    titles = re.findall(r"^\*\*(\d)\. [^*]+\*\*", parts["Remedies"], re.MULTILINE)
    assert titles == [str(k + 1) for k in range(parts["Remedies"].count("```python"))]


@pytest.mark.parametrize("id", ids())
def test_example_raises_the_error_and_remedies_do_not(id: str) -> None:
    parts = sections(explanation(id))
    (printed,) = OUTPUT.findall(parts["Example"])
    assert MORE.findall(printed) == [id]
    assert RAISED.search(printed)
    assert not RAISED.search("".join(OUTPUT.findall(parts["Remedies"])))


def test_explanations_show_what_their_code_prints() -> None:
    check()


@pytest.mark.torch
def test_explanations_show_what_torch_prints(torch: Any) -> None:
    check("--torch")


def check(*options: str) -> None:
    command = [sys.executable, "tools/explanations.py", "--check", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("id", ids())
def test_class_and_beginning_are_those_of_torch(id: str) -> None:
    """Of the texts on the page, which the test above compares with what is printed."""
    parts = sections(explanation(id))
    ours = RAISED.search(OUTPUT.findall(parts["Example"])[0])
    theirs = RAISED.search("".join(PEER.findall(parts["In PyTorch"])))
    same = theirs is not None and ours is not None and begins(ours, theirs)
    assert same == (id not in OTHERWISE)


def begins(ours: re.Match[str], theirs: re.Match[str]) -> bool:
    """Whether the first clause is the same, and the class such that handlers catch it."""
    kind = theirs[1].rpartition(".")[2]
    base = getattr(builtins, kind, None)
    caught = ours[1].endswith(f".{kind}") if base is None else issubclass(resolved(ours[1]), base)
    return caught and ours[2].startswith(re.split(r"[.:(\n]", theirs[2])[0])


def resolved(name: str) -> Any:
    """A class by its full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module or "builtins"), attribute)
