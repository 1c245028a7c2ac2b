"""The source of running code as syntax trees, and statements written anew."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Of an expression: what is written before it and behind it.
Edit = tuple[ast.AST, str, str]


@dataclass(frozen=True, eq=False)
class Source:
    """A file: its text, its tree, its functions by their first lines."""

    file: str
    text: str
    tree: ast.Module
    functions: dict[int, Function]

    def line(self, number: int) -> str:
        """The text of a line."""
        return linecache.getline(self.file, number).strip()

    def function(self, line: int) -> ast.AST:
        """The function that begins at a line; all of the file for 0, or if there is none."""
        return self.functions.get(line, self.tree)

    def around(self, line: int) -> ast.AST:
        """The innermost function that a line is in."""
        inside = [f for f in self.functions.values() if f.lineno <= line <= (f.end_lineno or 0)]
        return max(inside, key=lambda f: f.lineno, default=self.tree)

    def written(self, node: ast.AST, edits: Sequence[Edit] = ()) -> str:
        """The text of a node in one line, edited."""
        data = self.text.encode()
        starts = [0]
        for line in data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))

        def span(inner: ast.AST) -> tuple[int, int]:
            first, last = starts[inner.lineno - 1], starts[inner.end_lineno - 1]  # type: ignore[attr-defined]
            return first + inner.col_offset, last + inner.end_col_offset  # type: ignore[attr-defined]

        start, end = span(node)
        marks = [(span(inner), before, behind) for inner, before, behind in edits]
        for (first, last), before, behind in sorted(marks, reverse=True):
            data = b"".join(
                [data[:first], before.encode(), data[first:last], behind.encode(), data[last:]]
            )
            end += len(before.encode()) + len(behind.encode())
        text = data[start:end].decode()
        if "\n" not in text:
            return text
        try:
            return ast.unparse(ast.parse(text))  # in one line, without comments
        except SyntaxError:
            return " ".join(line.strip() for line in text.splitlines())


_STANDARD = os.path.dirname(os.__file__) + os.sep
_PACKAGES = tuple(_STANDARD + name for name in ("site-packages", "dist-packages"))


def _is_standard(file: str) -> bool:
    """Whether a file is of Python's own library, which nobody changes."""
    return file.startswith(_STANDARD) and not file.startswith(_PACKAGES)


def parsed_source(file: str) -> Source | None:
    """The source of a file of the program, if it can be read."""
    lines = [] if _is_standard(file) else linecache.getlines(file)
    return _parsed(file, "".join(lines)) if lines else None


@lru_cache(maxsize=64)
def _parsed(file: str, text: str) -> Source | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    functions: dict[int, Function] = {}
    for node in ast.walk(tree):
        if isinstance(node, Function):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *[d.lineno for d in decorators]])
            functions.setdefault(first, node)
    return Source(file, text, tree, functions)


def simple_statements(region: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a region that have no others inside."""
    for node in ast.walk(region):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield node


def spans(node: ast.AST, line: int) -> bool:
    """Whether a line is one of a node's."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return bool(first <= line <= last)


def contains(node: ast.AST, texts: Set[str]) -> list[ast.expr]:
    """The outermost expressions inside of a node that read like one of some texts."""
    matches: list[ast.expr] = []
    waiting: list[ast.AST] = [node]
    named = (ast.Name, ast.Attribute, ast.Subscript)
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, named) and ast.unparse(inner) in texts:
            matches.append(inner)
        else:
            waiting += ast.iter_child_nodes(inner)
    return matches
