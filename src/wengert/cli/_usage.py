"""Which names of torch a source file uses, by its syntax tree: nothing is run.

A name counts if it can be followed from an import: ``import torch.nn.functional as F`` makes
``F.relu`` a use of `torch.nn.functional.relu`. Of other values, such as tensors, nothing is known;
their attributes are listed apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

ROOTS = ("torch", "functorch")
# What is caught where a program tries whether something is there.
_ABSENCES = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}


class Use(NamedTuple):
    """A name that a program uses."""

    path: str  # dotted, from torch on; of an attribute of an unknown value, its name
    line: int
    keywords: tuple[str, ...] | None  # of a call that names all of its arguments' names
    optional: bool  # the program goes on without it
    follows: bool = True  # whether the path is followed from an import


def uses_of(tree: ast.Module) -> Iterator[Use]:
    """All uses in a file, in the order of its lines."""
    visitor = _Visitor(_names_of(tree))
    visitor.visit(tree)
    return iter(sorted(visitor.uses, key=lambda use: use.line))


def _names_of(tree: ast.Module) -> dict[str, str]:
    """What the names of a file stand for, wherever in it they are imported or assigned."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _is_torchs(alias.name):
                    root = alias.name.partition(".")[0]
                    names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_torchs(node.module or ""):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in tree.body:  # `F = torch.nn.functional`
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            path = _path_of(node.value, names)
            if path is not None and len(node.targets) == 1:
                names.setdefault(node.targets[0].id, path)
    return names


def _is_torchs(module: str) -> bool:
    return module.partition(".")[0] in ROOTS


def _path_of(node: ast.AST, names: dict[str, str]) -> str | None:
    """The dotted name that a chain of attributes stands for."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return None
    return ".".join([names[node.id], *reversed(parts)])


class _Visitor(ast.NodeVisitor):
    """Collects uses; knows what surrounds a node."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names
        self.uses: list[Use] = []
        self.optional = False

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if _is_torchs(alias.name):
                self._note(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not node.level and _is_torchs(node.module or ""):
            for alias in node.names:
                path = node.module or ""
                self._note(path if alias.name == "*" else f"{path}.{alias.name}", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = _path_of(node, self.names)
        if path is not None:
            self._note(path, node)
        else:
            self.uses.append(Use(node.attr, node.lineno, None, self.optional, follows=False))
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        path = self.names.get(node.id)
        if path is not None and path not in ROOTS and isinstance(node.ctx, ast.Load):
            self._note(path, node)

    def visit_Call(self, node: ast.Call) -> None:
        path = _path_of(node.func, self.names)
        if path is None:
            self.visit(node.func)
        else:
            keywords = tuple(k.arg for k in node.keywords if k.arg is not None)
            self._note(path, node.func, keywords)
        asks = path is None and isinstance(node.func, ast.Name)
        if asks and node.func.id in ("hasattr", "getattr"):  # type: ignore[attr-defined]
            return  # the name in quotes may be absent
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(argument)

    def visit_Try(self, node: ast.Try) -> None:
        caught = {name for handler in node.handlers for name in _caught(handler)}
        self._visit_all(node.body, optional=bool(caught & _ABSENCES))
        self._visit_all([*node.handlers, *node.orelse, *node.finalbody])

    def visit_If(self, node: ast.If) -> None:
        asks = any(
            isinstance(inner, ast.Call)
            and isinstance(inner.func, ast.Name)
            and inner.func.id == "hasattr"
            for inner in ast.walk(node.test)
        )
        self.visit(node.test)
        self._visit_all([*node.body, *node.orelse], optional=asks)

    def _visit_all(self, nodes: list[ast.AST] | list[ast.stmt], optional: bool = False) -> None:
        before, self.optional = self.optional, self.optional or optional
        for node in nodes:
            self.visit(node)
        self.optional = before

    def _note(self, path: str, node: ast.AST, keywords: tuple[str, ...] | None = None) -> None:
        self.uses.append(Use(path, getattr(node, "lineno", 0), keywords, self.optional))


def _caught(handler: ast.ExceptHandler) -> Iterator[str]:
    if handler.type is None:
        yield "BaseException"
    else:
        for node in ast.walk(handler.type):
            if isinstance(node, ast.Name):
                yield node.id
