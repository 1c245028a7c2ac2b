"""Measure how a package reads: names, imports, comments, tests, sizes.

    python tools/measure_source.py                        # src/wengert and tests
    python tools/measure_source.py PACKAGE [TESTS]        # another package beside it
    python tools/measure_source.py --list duplicates      # what a figure counts, name by name
    python tools/measure_source.py --list vague
    python tools/measure_source.py --list private

Figures are counted from the syntax trees; nothing is imported.
"""

from __future__ import annotations

import argparse
import ast
import io
import statistics
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Names that say nothing of what they hold. Most are participles or adverbs that stand for a noun.
VAGUE = frozenset((
    "found", "known", "part", "parts", "place", "places", "given", "made", "rest", "kept", "met",
    "here", "wide", "shown", "taken", "told", "seen", "thing", "things", "stuff", "whole", "done",
    "gone", "added", "wanted", "called", "it", "them", "this", "that", "tmp", "misc",
))  # fmt: skip


@dataclass
class Module:
    """One file: its dotted name, and what is in it, which is read when it is asked for."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def lines(self) -> Counter[str]:
        """Its lines of code, docstrings and comments."""
        return count_lines(self.text)

    @property
    def package(self) -> str:
        """The package that the module is in; a package's own `__init__` is in itself."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def read(root: Path) -> list[Module]:
    """Every module below the folder of a package."""
    modules = []
    for path in sorted(root.rglob("*.py")):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        modules.append(Module(name, path))
    return modules


def count_lines(text: str) -> Counter[str]:
    """Lines of code and of docstrings, and comments, those behind code among them."""
    rows: dict[str, set[int]] = {"code": set(), "comment": set(), "docstring": set()}
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            rows["comment"].add(token.start[0])
        elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT):
            rows["docstring"].update(range(token.start[0], token.end[0] + 1))
        elif token.type not in (
            tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
        ):  # fmt: skip
            rows["code"].update(range(token.start[0], token.end[0] + 1))
        if token.type not in (tokenize.NL, tokenize.COMMENT, tokenize.DEDENT):
            before = token.type
    return Counter({kind: len(numbers) for kind, numbers in rows.items()})


def top_level_names(tree: ast.Module) -> Iterator[str]:
    """The functions and classes that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def duplicates(modules: list[Module], private_only: bool = False) -> dict[str, list[str]]:
    """Public top-level names that several modules define, each with those modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        if private_only and not is_private(module.name):
            continue
        for name in set(top_level_names(module.tree)):
            if not name.startswith("_"):
                homes[name].append(module.name)
    return {name: homes_ for name, homes_ in sorted(homes.items()) if len(homes_) > 1}


def is_private(module: str) -> bool:
    """Whether a module's path has an underscored part."""
    return any(p.startswith("_") and not p.startswith("__") for p in module.split("."))


def bindings(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that a module binds, with its line: variables, parameters, functions, classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno


def crossing_imports(modules: list[Module], root: str) -> Iterator[tuple[str, str, int, bool]]:
    """Names that a module imports out of another package: where, what, line, whether private.

    Modules of the root, which everything stands on, are in no package.
    """
    names = {module.name for module in modules}
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            base = absolute(node, module)
            if base.split(".")[0] != root:
                continue
            for alias in node.names:
                source = f"{base}.{alias.name}" if f"{base}.{alias.name}" in names else base
                if source.count(".") < 2 or family(source) == family(module.name):
                    continue
                yield module.name, f"{source}:{alias.name}", node.lineno, is_private(source)


def family(module: str) -> str:
    """The package right below the root that a module belongs to."""
    return module.split(".")[1] if "." in module else ""


def absolute(node: ast.ImportFrom, module: Module) -> str:
    """What a `from` import names, relative ones resolved."""
    if not node.level:
        return node.module or ""
    package = module.package
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def function_lengths(modules: list[Module]) -> list[int]:
    """Lines of each function."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def table(modules: list[Module], tests: list[Module]) -> list[tuple[str, str]]:
    """The figures, each with its name."""
    names = {n for m in modules for n in top_level_names(m.tree) if not n.startswith("_")}
    twice = duplicates(modules)
    bound = [name for module in modules for name, _ in bindings(module.tree)]
    vague = sum(name in VAGUE for name in bound)
    crossing = list(crossing_imports(modules, modules[0].name.split(".")[0]))
    private = sum(hidden for *_, hidden in crossing)
    lines = sum((module.lines for module in modules), Counter[str]())
    size = sum(len(module.text.splitlines()) for module in modules)
    test_size = sum(len(module.text.splitlines()) for module in tests)
    lengths = function_lengths(modules)
    long = sum(length > 40 for length in lengths)
    longest = max(modules, key=lambda m: len(m.text.splitlines()))
    return [
        ("modules, lines", f"{len(modules)}, {size:,}"),
        ("public top-level names in several modules", share(len(twice), len(names))),
        ("the same within private modules", str(len(duplicates(modules, private_only=True)))),
        ("bindings with vague names", share(vague, len(bound))),
        ("names imported across packages from private modules", share(private, len(crossing))),
        ("comment lines / code lines", f"{100 * lines['comment'] / lines['code']:.1f} %"),
        ("test lines / source lines", f"{test_size / size:.2f}" if tests else "-"),
        ("functions: median, over 40 lines",
         f"{statistics.median(lengths):.0f}, {share(long, len(lengths))}"),
        ("largest module", f"{len(longest.text.splitlines())} ({longest.name})"),
    ]  # fmt: skip


def share(count: int, total: int) -> str:
    """A count as a share of a total."""
    return f"{100 * count / total:.1f} % ({count} of {total:,})" if total else "-"


def listing(what: str, modules: list[Module]) -> Iterator[str]:
    """What a figure counts."""
    if what == "duplicates":
        for name, homes in duplicates(modules).items():
            yield f"{name}: {', '.join(homes)}"
    elif what == "vague":
        for module in modules:
            for name, line in bindings(module.tree):
                if name in VAGUE:
                    yield f"{module.path}:{line}: {name}"
    else:
        for module, source, line, hidden in crossing_imports(modules, modules[0].name):
            if hidden:
                yield f"{module}:{line}: {source}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("package", nargs="?", type=Path, default=ROOT / "src" / "wengert")
    parser.add_argument("tests", nargs="?", type=Path)
    parser.add_argument("--list", choices=["duplicates", "vague", "private"])
    options = parser.parse_args(arguments)
    modules = read(options.package.resolve())
    if options.list:
        print("\n".join(listing(options.list, modules)))
        return
    own = options.package == ROOT / "src" / "wengert"
    tests = options.tests or (ROOT / "tests" if own else None)
    rows = table(modules, read(tests.resolve()) if tests else [])
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main(sys.argv[1:])
