"""What goes into a graph, put into the tree of its operations: tensors that nothing computed."""

from __future__ import annotations

import re

from wengert.graph.description import LEAF, LIVE, GraphReport, NodeInfo, SavedInfo
from wengert.graph.drawing._tree import DATA, OP, PARAMETER, Element

_PILLS = 4  # with the same users; more are drawn as one


class Numbered:
    """The parts of a tree in the order in which they are recorded."""

    def __init__(self, root: Element) -> None:
        self.elements: list[Element] = []
        self.parents: list[int | None] = []
        self.index: dict[int, int] = {}
        waiting: list[tuple[Element, int | None]] = [(root, None)]
        while waiting:
            element, parent = waiting.pop()
            self.index[id(element)] = len(self.elements)
            self.elements.append(element)
            self.parents.append(parent)
            waiting += [(member, self.index[id(element)]) for member in reversed(element.members)]

    def path(self, k: int) -> list[int]:
        """From the outermost part to part `k`."""
        path = [k]
        while (above := self.parents[path[-1]]) is not None:
            path.append(above)
        return path[::-1]


def with_inputs(root: Element, report: GraphReport) -> list[tuple[Element, list[Element]]]:
    """Put what goes into the graph into the tree; return what each operation is computed from."""
    numbered = Numbered(root)
    ops = {element.node.index: element for element in numbered.elements if element.node is not None}
    inputs: dict[object, Element] = {}  # leaves by their index, data by their storage
    users: dict[int, list[Element]] = {}
    sources: list[tuple[Element, list[Element]]] = []
    for node in report.nodes:
        if node.state == LEAF:
            if not node.name or node.index in report.roots:
                inputs[node.index] = _leaf(node)
            continue
        target = ops[node.index]
        candidates = [ops.get(k) or inputs.get(k) for k in node.inputs if k is not None]
        producers = list(dict.fromkeys(element for element in candidates if element is not None))
        if not producers and None in node.inputs and node.state == LIVE:
            saved = _saved_data(node)
            key = ("node", node.index) if saved is None else ("data", saved.storage)
            producers = [inputs.setdefault(key, _data(saved))]
        for element in producers:
            if element.kind != OP:
                users.setdefault(id(element), []).append(target)
        sources.append((target, producers))
    merged = _insert_inputs(numbered, list(inputs.values()), users)
    return [
        (target, list(dict.fromkeys(merged.get(id(s), s) for s in producers)))
        for target, producers in sources
    ]


def _leaf(node: NodeInfo) -> Element:
    target = re.match(r"([A-Za-z_][\w.]*)\s*(?::[^=;]+)?=(?!=)[^;]*$", node.text)
    element = Element(PARAMETER, target[1] if target else "leaf")
    element.leaves, element.shape = [node], node.shape
    return element


def _saved_data(node: NodeInfo) -> SavedInfo | None:
    """What the node saved of an input that nothing computed."""
    unknown = {f"input {k}" for k, index in enumerate(node.inputs) if index is None}
    values = (s for s in node.saved if s.of in unknown and s.storage is not None)
    return next(values, None)


def _data(saved: SavedInfo | None) -> Element:
    element = Element(DATA, "data")
    element.shape = None if saved is None else saved.shape
    return element


def _insert_inputs(
    numbered: Numbered, inputs: list[Element], users: dict[int, list[Element]]
) -> dict[int, Element]:
    """Put inputs in front of their first users; many with the same users are put in as one.

    Returns that one, by the id of each that it stands for.
    """
    groups: dict[tuple[int, tuple[int, ...]], list[Element]] = {}
    for element in inputs:
        groups.setdefault(_insertion_point(numbered, users.get(id(element), [])), []).append(
            element
        )
    merged: dict[int, Element] = {}
    for (home, children), elements in groups.items():
        if len(elements) > _PILLS:
            merged_element = Element(elements[0].kind, f"{len(elements):,} tensors")
            merged_element.leaves = [leaf for element in elements for leaf in element.leaves]
            merged |= {id(element): merged_element for element in elements}
            elements = [merged_element]
        members = numbered.elements[home].members
        first = numbered.elements[children[0]] if children else None
        at = next((k for k, member in enumerate(members) if member is first), 0)
        members[at:at] = elements
    return merged


def _insertion_point(numbered: Numbered, users: list[Element]) -> tuple[int, tuple[int, ...]]:
    """The innermost part around some operations, and its members that they are in."""
    if not users:
        return 0, ()
    paths = [numbered.path(numbered.index[id(user)]) for user in users]
    depth = min(map(len, paths)) - 1
    while len({path[depth - 1] for path in paths}) > 1:
        depth -= 1
    return paths[0][depth - 1], tuple(sorted({path[depth] for path in paths}))
