"""No module and no function that does not fit in a reader's head."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.source import ROOT, python_files, tree_of

MODULE_LINES = 600
FUNCTION_LINES = 60

FILES = python_files("src", "tests", "benchmarks", "tools", "examples")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_module_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short(path: Path) -> None:
    long = {
        f"{node.name} (line {node.lineno})": length
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}
