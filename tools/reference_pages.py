"""The reference: a line like ``[[wengert.fft]]`` becomes an entry for each public name in there.

A hook that mkdocs.yml names. ``[[wengert.nn: conv pooling]]`` takes the names that are defined in
modules called so; ``[[wengert.nn]]``, anywhere in the reference, takes those that are left.
``[[wengert.Tensor.*]]`` stands for the members of a class. Entries come from signatures and
docstrings, headings and anchors are public paths: what users type is what they find.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
DIRECTIVE = re.compile(
    r"^\[\[(?P<namespace>[\w.]+)(?P<members>\.\*)?(?:: (?P<modules>[\w ]+))?\]\]$", re.MULTILINE
)
NAME = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
WIDTH = 84  # of signatures


@dataclass(frozen=True)
class Entry:
    """A public name: `path` is its dotted path, `level` that of its heading.

    `alias_of` is the path under which the same function or class is described.
    """

    path: str
    value: Any
    level: int
    alias_of: str = ""

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Called by mkdocs for each page."""
    folder, _, name = page.file.src_uri.rpartition("/")
    return expanded(name, markdown) if folder == FOLDER.name and name in plan() else markdown


def on_post_build(config: Any, **kwargs: Any) -> None:
    """Called by mkdocs at the end: every entry has its anchor in the site's search index."""
    index = json.loads(Path(config["site_dir"], "search", "search_index.json").read_text())
    anchors = {doc["location"].partition("#")[2] for doc in index["docs"]}
    missing = sorted(set(pages_by_path()) - anchors)
    if missing:
        raise SystemExit(f"names that the site does not have: {', '.join(missing)}")


def expanded(page: str, markdown: str) -> str:
    """A page's Markdown with entries in place of its directives."""
    taken = plan()[page]

    def entries(match: re.Match[str]) -> str:
        return "\n".join(written(entry, page) for entry in taken[match[0]])

    return DIRECTIVE.sub(entries, markdown)


@cache
def plan() -> dict[str, dict[str, list[Entry]]]:
    """The entries of each directive of each page; those that name modules choose first."""
    found: dict[str, dict[str, list[Entry]]] = {}
    taken: dict[int, str] = {}
    paths: set[str] = set()
    directives = [
        (path.name, match)
        for path in sorted(FOLDER.glob("*.md"))
        for match in DIRECTIVE.finditer(path.read_text())
    ]
    directives.sort(
        key=lambda d: (bool(d[1]["members"]), d[1]["modules"] is None, d[1]["namespace"].count("."))
    )
    for page, match in directives:
        if match["members"]:
            found_members = members(match["namespace"], value_at(match["namespace"]), 3, [])
            entries = [replace(m, alias_of=taken.get(id(m.value), "")) for m in found_members]
        else:
            entries = [
                Entry(f"{match['namespace']}.{name}", value, 3, taken.get(id(value), ""))
                for name, value in names(match["namespace"], match["modules"])
                if f"{match['namespace']}.{name}" not in paths
            ]
            for entry in entries:
                taken.setdefault(id(entry.value), entry.path)
            paths.update(entry.path for entry in entries)
        found.setdefault(page, {})[match[0]] = entries
    for directives_of_page in found.values():
        for directive, entries in directives_of_page.items():
            directives_of_page[directive] = with_members(entries, taken)
    return found


@cache
def pages_by_path() -> dict[str, str]:
    """The page of every entry, by its dotted path."""
    return {
        entry.path: page
        for page, directives in plan().items()
        for entries in directives.values()
        for entry in entries
    }


def names(namespace: str, modules: str | None) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a namespace offers, of some modules or of all."""
    module = importlib.import_module(namespace)
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = {name for name in vars(module) if name[0] != "_"} - imported(module)
    for name in sorted(listed, key=str.lower):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        if not callable(value) or isinstance(value, ModuleType) or not home.startswith("wengert"):
            continue
        if modules is None or home.rpartition(".")[2] in modules.split():
            yield name, value


def imported(module: ModuleType) -> set[str]:
    """What a module imports for its own use: not by `import *`, nor `a as a`."""
    body = ast.parse(inspect.getsource(module)).body
    statements = (node for node in body if isinstance(node, ast.ImportFrom))
    return {a.name for node in statements for a in node.names if a.asname is None}


def value_at(path: str) -> Any:
    """What a dotted path leads to."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def with_members(entries: list[Entry], described: dict[int, str]) -> list[Entry]:
    """Each class followed by its members, but for Tensor, which has a page for them."""
    found = []
    for entry in entries:
        found.append(entry)
        has_members = isinstance(entry.value, type) and not entry.alias_of
        if has_members and entry.path != "wengert.Tensor":
            bases = [base for base in entry.value.__mro__[1:] if id(base) in described]
            found += members(entry.path, entry.value, entry.level + 1, bases)
    return found


def members(path: str, cls: type, level: int, described: list[type]) -> Iterator[Entry]:
    """The methods and properties of a class that none of the described bases has."""
    others = [base for base in cls.__mro__ if base.__module__.split(".")[0] != "wengert"]
    inherited = {name for base in [*described, *others] for name in dir(base)}
    for name in sorted(dir(cls), key=str.lower):
        value = inspect.getattr_static(cls, name)
        is_documented = inspect.isroutine(value) or isinstance(value, property)
        if name[0] != "_" and name not in inherited and is_documented:
            yield Entry(f"{path}.{name}", getattr(cls, name), level)


def written(entry: Entry, page: str) -> str:
    """An entry in Markdown: heading, signature, description."""
    label = f'{{ #{entry.path} data-toc-label="{entry.name}" }}'
    head = f"{'#' * entry.level} `{entry.path.removeprefix('wengert.')}` {label}\n"
    if entry.alias_of:
        summary = linked((inspect.getdoc(entry.value) or "").partition("\n\n")[0], entry, page)
        return f"{head}\n{summary} The same as {link(entry.alias_of, entry, page)}.\n"
    parameters = parameters_of(entry.value)
    lines = [head]
    if parameters is not None:
        is_member = entry.level == 4 or page == "tensor.md"
        shown = parameters[1:] if is_member and is_bound(parameters) else parameters
        lines.append(f"```python\n{call(entry, shown)}\n```\n")
    text = documentation(entry, page, {p.name: p for p in parameters or []})
    return "\n".join([*lines, text, ""])


def is_bound(parameters: list[inspect.Parameter]) -> bool:
    """Whether the first parameter is what a method is called on."""
    return bool(parameters) and parameters[0].name in ("self", "cls")


def parameters_of(value: Any) -> list[inspect.Parameter] | None:
    """The parameters without their annotations; None for what is not called."""
    if isinstance(value, property) or not callable(value):
        return None
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    found: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.VAR_KEYWORD and "Unpack[" in str(parameter.annotation):
            found += unpacked(value, str(parameter.annotation))
        else:
            found.append(parameter.replace(annotation=parameter.empty, default=plain(parameter)))
    return found


def unpacked(value: Any, annotation: str) -> Iterator[inspect.Parameter]:
    """The options of `**options: Unpack[Options]`, one by one."""
    home = inspect.unwrap(value)
    options = getattr(inspect.getmodule(home), annotation.removeprefix("Unpack[")[:-1])
    for name in options.__annotations__:
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=Shown("..."))


class Shown:
    """A default as signatures show it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def plain(parameter: inspect.Parameter) -> Any:
    """A default; what has no literal is shown without its address in memory."""
    default = parameter.default
    if default is parameter.empty or not re.search(r"<.*>", repr(default)):
        return default
    return Shown(getattr(default, "__name__", "..."))


def call(entry: Entry, parameters: list[inspect.Parameter]) -> str:
    """A signature on one line, or on as many as it takes."""
    head = entry.path if entry.level == 3 else entry.name
    signature = str(inspect.Signature(parameters, __validate_parameters__=False))
    if len(head + signature) <= WIDTH:
        return head + signature
    body = textwrap.indent(
        textwrap.fill(signature[1:-1], WIDTH - 4, break_on_hyphens=False), "    "
    )
    return f"{head}(\n{body},\n)"


SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields|Shapes):\n", re.MULTILINE)
HEADS = {"Args": "Parameters"}


def documentation(entry: Entry, page: str, parameters: dict[str, inspect.Parameter]) -> str:
    """A docstring in Markdown."""
    text = inspect.getdoc(entry.value) or ""
    inplace = re.fullmatch(r"In-place form of `([\w.]+)`\.", text)
    first, *rest = SECTION.split(text)
    parts = [examples(linked(first, entry, page))]
    if inplace:
        parts = [f"In-place form of {link(inplace[1], entry, page)}."]
    for head, body in zip(rest[::2], rest[1::2], strict=True):
        block, after = indented(body)
        parts.append(f"**{HEADS.get(head, head)}**\n")
        if head in ("Args", "Attributes", "Raises"):
            parts += [f"{i} – {linked(text, entry, page)}" for i, text in items(block, parameters)]
        else:
            parts.append(linked(block, entry, page))
        parts += ["", examples(linked(after, entry, page))]
    return "\n".join(parts)


def indented(text: str) -> tuple[str, str]:
    """The indented lines that a text begins with, without their indentation; and what follows."""
    lines = text.splitlines()
    end = next((n for n, line in enumerate(lines) if line and line[0] != " "), len(lines))
    return textwrap.dedent("\n".join(lines[:end])).strip(), "\n".join(lines[end:])


def items(block: str, parameters: dict[str, inspect.Parameter]) -> Iterator[tuple[str, str]]:
    """Of `name: text` the item of a list, with the default of a parameter, and the text."""
    for item in re.split(r"\n(?=\S)", block):
        name, _, text = item.partition(":")
        name = name.strip().strip("`")
        parameter = parameters.get(name.lstrip("*"))
        has_default = parameter is not None and parameter.default is not parameter.empty
        default = f" = `{parameter.default!r}`" if parameter is not None and has_default else ""
        yield f"- `{name}`{default}", " ".join(text.split())


def examples(text: str) -> str:
    """A text with every run of doctest lines in a fence."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>> ") and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


def linked(text: str, entry: Entry, page: str) -> str:
    """A text whose names in backticks lead to their entries; examples stay as they are."""
    parts = re.split(r"((?:^[ ]*(?:>>>|\.\.\.) .*$\n?)+)", text, flags=re.MULTILINE)
    parts[::2] = [
        re.sub(
            r"(?<!`)`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)", lambda m: link(m[1], entry, page, m[0]), p
        )
        for p in parts[::2]
    ]
    return "".join(parts)


def link(name: str, entry: Entry, page: str, otherwise: str = "") -> str:
    """A link to the entry of a name as it stands in a docstring, or the name alone."""
    space = entry.path.rpartition(".")[0]
    paths = (f"{space}.{name}", f"wengert.{name}", name.replace("torch.", "wengert.", 1), name)
    home = next((p for p in paths if p in pages_by_path() and p != entry.path), None)
    if home is None:
        return otherwise or f"`{name}`"
    file = "" if pages_by_path()[home] == page else pages_by_path()[home]
    return f"[{otherwise or f'`{name}`'}]({file}#{home})"
