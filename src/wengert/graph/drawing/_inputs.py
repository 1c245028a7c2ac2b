"""What goes into a graph, put into the tree of its operations: tensors that nothing computed."""

from __future__ import annotations

import re

from wengert.graph.description import LEAF, LIVE, GraphReport, NodeInfo, SavedInfo
from wengert.graph.drawing._tree import DATA, OP, PARAMETER, Part

_PILLS = 4  # with the same users; more are drawn as one


class Numbered:
    """The parts of a tree in the order in which they are recorded."""

    def __init__(self, root: Part) -> None:
        self.parts: list[Part] = []
        self.parents: list[int | None] = []
        self.index: dict[int, int] = {}
        waiting: list[tuple[Part, int | None]] = [(root, None)]
        while waiting:
            part, parent = waiting.pop()
            self.index[id(part)] = len(self.parts)
            self.parts.append(part)
            self.parents.append(parent)
            waiting += [(member, self.index[id(part)]) for member in reversed(part.members)]

    def path(self, k: int) -> list[int]:
        """From the outermost part to part `k`."""
        found = [k]
        while (above := self.parents[found[-1]]) is not None:
            found.append(above)
        return found[::-1]


def with_inputs(root: Part, report: GraphReport) -> list[tuple[Part, list[Part]]]:
    """Put what goes into the graph into the tree; return what each operation is computed from."""
    numbered = Numbered(root)
    ops = {part.node.index: part for part in numbered.parts if part.node is not None}
    given: dict[object, Part] = {}  # leaves by their index, data by their storage
    users: dict[int, list[Part]] = {}
    sources: list[tuple[Part, list[Part]]] = []
    for node in report.nodes:
        if node.state == LEAF:
            if not node.name or node.index in report.roots:
                given[node.index] = _leaf(node)
            continue
        target = ops[node.index]
        found = [ops.get(k) or given.get(k) for k in node.inputs if k is not None]
        known = list(dict.fromkeys(part for part in found if part is not None))
        if not known and None in node.inputs and node.state == LIVE:
            saved = _saved_data(node)
            key = ("node", node.index) if saved is None else ("data", saved.storage)
            known = [given.setdefault(key, _data(saved))]
        for part in known:
            if part.kind != OP:
                users.setdefault(id(part), []).append(target)
        sources.append((target, known))
    merged = _placed(numbered, list(given.values()), users)
    return [
        (target, list(dict.fromkeys(merged.get(id(s), s) for s in known)))
        for target, known in sources
    ]


def _leaf(node: NodeInfo) -> Part:
    target = re.match(r"([A-Za-z_][\w.]*)\s*(?::[^=;]+)?=(?!=)[^;]*$", node.text)
    part = Part(PARAMETER, target[1] if target else "leaf")
    part.leaves, part.shape = [node], node.shape
    return part


def _saved_data(node: NodeInfo) -> SavedInfo | None:
    """What the node saved of an input that nothing computed."""
    unknown = {f"input {k}" for k, index in enumerate(node.inputs) if index is None}
    kept = (s for s in node.saved if s.of in unknown and s.storage is not None)
    return next(kept, None)


def _data(saved: SavedInfo | None) -> Part:
    part = Part(DATA, "data")
    part.shape = None if saved is None else saved.shape
    return part


def _placed(numbered: Numbered, given: list[Part], users: dict[int, list[Part]]) -> dict[int, Part]:
    """Put inputs in front of their first users; many with the same users are put in as one.

    Returns that one, by the id of each that it stands for.
    """
    places: dict[tuple[int, tuple[int, ...]], list[Part]] = {}
    for part in given:
        places.setdefault(_place(numbered, users.get(id(part), [])), []).append(part)
    merged: dict[int, Part] = {}
    for (home, children), parts in places.items():
        if len(parts) > _PILLS:
            together = Part(parts[0].kind, f"{len(parts):,} tensors")
            together.leaves = [leaf for part in parts for leaf in part.leaves]
            merged |= {id(part): together for part in parts}
            parts = [together]
        members = numbered.parts[home].members
        first = numbered.parts[children[0]] if children else None
        at = next((k for k, member in enumerate(members) if member is first), 0)
        members[at:at] = parts
    return merged


def _place(numbered: Numbered, users: list[Part]) -> tuple[int, tuple[int, ...]]:
    """The innermost part around some operations, and its members that they are in."""
    if not users:
        return 0, ()
    paths = [numbered.path(numbered.index[id(user)]) for user in users]
    depth = min(map(len, paths)) - 1
    while len({path[depth - 1] for path in paths}) > 1:
        depth -= 1
    return paths[0][depth - 1], tuple(sorted({path[depth] for path in paths}))
