"""The package's source as the structural tests read it: files, modules, syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "wengert"


def python_files(*folders: str) -> list[Path]:
    """Every Python file below these folders of the repository."""
    return sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(), filename=str(path))


def module_name(path: Path) -> str:
    """`src/wengert/ops/declare.py` is wengert.ops.declare."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Every module of the package and its file."""
    return {module_name(p): p for p in python_files("src/wengert")}


def is_type_checking(test: ast.expr) -> bool:
    """Whether an `if` asks for TYPE_CHECKING: what it guards never runs."""
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node` that can run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for other in child.orelse:
                yield other
                yield from running(other)
            continue
        yield child
        yield from running(child)


@cache
def imports_of(module: str) -> set[tuple[str, int]]:
    """What a module imports, as (dotted module name, line).

    ``from wengert import ops`` is an import of wengert.ops; ``from wengert import Tensor`` is
    one of wengert itself.
    """
    path = modules()[module]
    found: set[tuple[str, int]] = set()
    for node in running(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, node.lineno) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module, path)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                found.add((name if name in modules() else base, node.lineno))
    return found


def _absolute(node: ast.ImportFrom, module: str, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package
