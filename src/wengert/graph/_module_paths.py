"""Where nodes ran: paths of modules, calls of modules, names of parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wengert.autograd.saved.packing import SaverSite
from wengert.core.introspection import namespace_of
from wengert.core.tensor import Leaf, Node, Site

Calls = tuple[tuple[str, int], ...]


class ModulePaths:
    """Reads sites; what many of them share is looked up only once."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[str, Calls]] = {}
        self.names: dict[int, dict[int, str]] = {}  # of each module, those of the ones below it

    def path(self, site: Site) -> str:
        """As `site.path()`."""
        return self.read(site)[0]

    def calls(self, site: Site) -> Calls:
        """The calls around a site, outermost first, each with a number of its own."""
        return self.read(site)[1]

    def read(self, site: Site) -> tuple[str, Calls]:
        """The path of a site and the calls around it."""
        if site.module is None or site.parent is None:
            return "", ()
        site = site.plain if isinstance(site, SaverSite) else site
        if id(site) not in self.known:
            number = len(self.known)
            self.known[id(site)] = "", ()  # takes the number
            self.known[id(site)] = self._read(site, number)
        return self.known[id(site)]

    def _read(self, site: Site, number: int) -> tuple[str, Calls]:
        assert site.module is not None
        assert site.parent is not None
        module, above = site.module(), site.parent.module
        path, calls = self.read(site.parent)
        if module is None:
            return "", calls
        around = None if above is None else above()
        name = None if around is None else self._below(around).get(id(module))
        if name is None:
            name = type(module).__name__
            return name, (*calls, (name, number))
        return f"{path}.{name}", (*calls, (name, number))

    def _below(self, module: Any) -> dict[int, str]:
        if id(module) not in self.names:
            self.names[id(module)] = submodule_names(module)
        return self.names[id(module)]


def submodule_names(module: Any) -> dict[int, str]:
    """By the ids of a module and of those below it: their names. No method of theirs is called."""
    names: dict[int, str] = {}
    waiting = [("", module)]
    while waiting:
        name, one = waiting.pop()
        if id(one) not in names:
            names[id(one)] = name
            below = (namespace_of(one) or {}).get("_modules") or {}
            prefix = f"{name}." if name else ""
            inner = [
                (f"{prefix}{key}", child) for key, child in dict.items(below) if child is not None
            ]
            waiting += reversed(inner)
    return names


def parameter_names(nodes: Iterable[Node]) -> dict[int, str]:
    """By the id of a leaf: what the outermost module around its first use calls its tensor."""
    names: dict[int, str] = {}
    names_in: dict[int, dict[int, str]] = {}  # of each outermost module, by the id of a parameter
    for node in nodes:
        for edge in node.edges:
            if type(edge) is Leaf and id(edge) not in names:
                module, tensor = node.site.outermost(), edge.tensor()
                if module is not None and tensor is not None:
                    if id(module) not in names_in:
                        names_in[id(module)] = {
                            id(p): name for name, p in module.named_parameters()
                        }
                    names[id(edge)] = names_in[id(module)].get(id(tensor), "")
    return names
