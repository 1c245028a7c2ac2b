"""No module and no function that does not fit in a reader's head."""

from __future__ import annotations

import ast

from tests.source import ROOT, python_files

MODULE_LINES = 600
FUNCTION_LINES = 60

FILES = python_files("src", "tests", "benchmarks", "tools", "examples")


def test_modules_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in FILES}
    assert {path: n for path, n in lengths.items() if n > MODULE_LINES} == {}


def test_functions_are_short() -> None:
    # Trees that are kept make the collector look through millions of nodes.
    long = {
        f"{path.relative_to(ROOT)}, line {node.lineno}: {node.name}": length
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert long == {}
