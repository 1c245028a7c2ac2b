"""Live tensors, nodes and modules, as found by the garbage collector."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from wengert.core.introspection import bases_of, class_name, is_a, module_of, namespace_of
from wengert.core.tensor import Cut, Leaf, Node, RawCut, Tensor, by_seq


def live_tensors_and_nodes(objects: Sequence[Any]) -> tuple[list[Tensor], list[Node]]:
    """The tensors and the operations among objects, oldest first; never reads `__class__`."""
    kinds = {kind for kind in set(map(type, objects)) if issubclass(kind, (Tensor, Node))}
    candidates = [candidate for candidate in objects if type(candidate) in kinds]
    tensors = [candidate for candidate in candidates if issubclass(type(candidate), Tensor)]
    nodes = [n for n in candidates if issubclass(type(n), Node) and type(n) is not Leaf]
    return tensors, sorted(complete_nodes(nodes), key=by_seq)


def complete_nodes(nodes: Iterable[Node]) -> list[Node]:
    """Drop nodes that another thread is still constructing: these are in no graph yet."""
    return list(filter(_is_whole, nodes) if threading.active_count() > 1 else nodes)


def _is_whole(node: Node) -> bool:
    names = ("seq", "edges", "state", *[slot for slot, _ in node.saved])
    return all(hasattr(node, name) for name in names)


def cuts_of(tensors: Iterable[Tensor], more: Iterable[RawCut] = ()) -> list[Cut]:
    """Where tensors lost their graph, ordered by line, bypassing any class overrides."""
    cuts = [Cut(*raw) for raw in more]
    for tensor in tensors:
        with suppress(AttributeError):  # it has a graph, or is a tracer
            raw = _CUT.__get__(tensor)
            cuts += [] if raw is None else [Cut(*raw)]
    cuts.sort(key=lambda cut: (cut.code.co_filename, cut.code.co_firstlineno, cut.lasti))
    return cuts


_CUT = Tensor.__dict__["_cut"]


def parameter_name(tensor: Tensor | None) -> str:
    """A tensor's name in the live modules, ``Net.encoder.0.weight``, or an empty string.

    Calls none of their methods. Of several names it is the shortest.
    """
    if tensor is None or type(tensor) is Tensor:
        return ""  # parameters have their own class
    modules = _modules(gc.get_objects())
    inner = {id(child) for module in modules for _, child in _entries_of(module, "_modules")}
    roots = [module for module in modules if id(module) not in inner]
    names = [
        f"{class_name(type(root))}.{path}"
        for root in roots
        for path, parameter in _parameters(root)
        if parameter is tensor
    ]
    return min(names, key=lambda name: (name.count("."), name), default="")


def _modules(objects: Sequence[Any]) -> list[Any]:
    kinds = {kind for kind in set(map(type, objects)) if _is_of_modules(kind)}
    return [candidate for candidate in objects if type(candidate) in kinds]


def _is_of_modules(kind: type) -> bool:
    return any(
        class_name(base) == "Module" and module_of(base).startswith(("wengert.nn.", "torch.nn."))
        for base in bases_of(kind)
    )


def _entries_of(module: Any, name: str) -> list[tuple[str, Any]]:
    """The entries of one of a module's dicts."""
    table: Any = (namespace_of(module) or {}).get(name)
    return list(dict.items(table)) if is_a(table, dict) else []


def _parameters(root: Any) -> Iterator[tuple[str, Any]]:
    visited: set[int] = set()
    waiting = [("", root)]
    while waiting:
        prefix, module = waiting.pop()
        if id(module) not in visited:
            visited.add(id(module))
            own = _entries_of(module, "_parameters")
            yield from ((f"{prefix}{name}", value) for name, value in own)
            waiting += [
                (f"{prefix}{name}.", child) for name, child in _entries_of(module, "_modules")
            ]
