"""For the reference pages: a line like ``[[wengert.nn]]`` becomes everything in that namespace.

A hook that mkdocs.yml names. What is public is known when the package is imported, so that no
page has to be changed when an operation is added. Only what is defined below the namespace is
taken; ``[[wengert wengert.ops]]`` takes what is in the first and defined below the second.
"""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

DIRECTIVE = re.compile(r"^\[\[(?P<namespace>[\w.]+)(?: (?P<below>[\w.]+))?\]\]$", re.MULTILINE)

ENTRY = """\
::: {module}.{name}
    options:
      heading: {namespace}.{name}
      heading_level: 3
"""


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Called by mkdocs for each page."""
    return DIRECTIVE.sub(lambda m: sections(m["namespace"], m["below"] or m["namespace"]), markdown)


def sections(namespace: str, below: str) -> str:
    """A section for each module that the public names of a namespace come from."""
    found: dict[str, list[str]] = {}
    for name, value in public(importlib.import_module(namespace)):
        home = value.__module__
        if home == below or home.startswith(f"{below}."):
            found.setdefault(home, []).append(name)
    text = ""
    for module, names in sorted(found.items()):
        text += f"## {title(module)}\n\n"
        text += "\n".join(
            ENTRY.format(module=module, name=name, namespace=namespace) for name in sorted(names)
        )
        text += "\n"
    return text


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """The functions and classes that a namespace offers, each under the name it was given."""
    names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
    values = ((n, getattr(module, n)) for n in names)
    return [(n, v) for n, v in values if callable(v) and getattr(v, "__name__", None) == n]


def title(module: str) -> str:
    """The first line of a module's docstring, without its full stop."""
    text = inspect.getdoc(importlib.import_module(module)) or module
    return text.partition("\n")[0].rstrip(".")
