"""From the nodes of a report to a tree: calls of modules, repetitions, stretches of code.

Every element of the tree is a stretch of the nodes in the order in which they were recorded, and
inputs come first in that order. So no two elements of a level depend on each other both ways, and
every level can be drawn downwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wengert.graph.description import LEAF, NodeInfo
from wengert.graph.drawing._repeats import RepeatedRun, runs

OP, MODULE, REPEAT, SECTION, PARAMETER, DATA = "op", "module", "repeat", "section", "leaf", "data"
SERIES = 8  # colours for roots
_MANY = 40  # members of a level
_NAME = 20  # characters of a name that is made of two
_FEW = 20  # members of a repetition that is shown item by item


class Element:
    """A node of the tree: an operation, or several drawn as one box until it is opened."""

    __slots__ = (
        "count", "kind", "label", "leaves", "members", "node", "shape", "sign", "title", "weight",
    )  # fmt: skip

    def __init__(self, kind: str, title: str, members: Sequence[Element] = ()) -> None:
        self.kind, self.title = kind, title
        self.members = list(members)
        self.label = ""  # of an operation: the module that consists of it
        self.count = 1  # of a repetition: how many
        self.node: NodeInfo | None = None
        self.leaves: list[NodeInfo] = []  # of what stands for leaves
        self.shape: tuple[int, ...] | None = None  # of what it computes, or is
        self.sign = (0, 0)  # equal for equal structure: with shapes, and without
        self.weight = 1  # how many operations

    def ops(self) -> Iterator[NodeInfo]:
        """The operations below, in their order."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            if element.kind == OP and element.node is not None:
                yield element.node
            waiting += reversed(element.members)

    def first(self) -> NodeInfo:
        """The first operation below."""
        return next(self.ops())


def tree(nodes: Sequence[NodeInfo], roots: int) -> Element:
    """The tree of all operations behind so many roots; leaves are not in it yet."""
    root = _nested([n for n in nodes if n.state != LEAF])
    signs = _Signs(coloured=roots <= SERIES)
    for element in _bottom_up(root):
        element.members = [_flat(member) for member in element.members]
        signs.put(element)
    for element in _bottom_up(root):
        element.members = _bounded(_folded(element.members))
    for element in _bottom_up(root):
        element.members = [_short(member) for member in element.members]
    return root


def _bottom_up(root: Element) -> list[Element]:
    order, waiting = [], [root]
    while waiting:
        element = waiting.pop()
        order.append(element)
        waiting += element.members
    return order[::-1]


def _nested(ops: Sequence[NodeInfo]) -> Element:
    root = Element(MODULE, "")
    around: list[tuple[tuple[str, int] | None, Element]] = [(None, root)]
    ops_by_index: dict[int | None, Element] = {}
    for node in ops:
        depth = 0
        while (
            depth < min(len(node.calls), len(around) - 1)
            and around[depth + 1][0] == node.calls[depth]
        ):
            depth += 1
        del around[depth + 1 :]
        for call in node.calls[depth:]:
            inner = Element(MODULE, call[0])
            around[-1][1].members.append(inner)
            around.append((call, inner))
        op = Element(OP, node.op)
        op.node, op.shape = node, node.shape
        around[-1][1].members.append(op)
        ops_by_index[node.index] = op
        if node.output is not None and node.inputs:
            ops_by_index[node.inputs[0]].shape = None  # it computes several tensors
    return root


def _flat(element: Element) -> Element:
    """A module with a single member is that member, under both names."""
    if element.kind != MODULE or len(element.members) != 1:
        return element
    (only,) = element.members
    if only.kind == OP:
        only.label = f"{element.title}.{only.label}" if only.label else element.title
    else:
        only.title = f"{element.title}.{only.title}"
    return only


def _short(element: Element) -> Element:
    """A module that is one repetition of modules is drawn as that, where both names have room."""
    if element.kind != MODULE or len(element.members) != 1 or element.members[0].kind != REPEAT:
        return element
    (only,) = element.members
    title = f"{element.title}.{only.title}"
    if not _name(only.members[0]) or only.members[0].kind == SECTION or len(title) > _NAME:
        return element
    only.title = title
    return only


class _Signs:
    """Numbers for structures: equal ones have equal numbers."""

    def __init__(self, coloured: bool) -> None:
        self.coloured = coloured  # whether parts of different roots are different
        self.known: dict[object, int] = {}

    def put(self, element: Element) -> None:
        """The signs of a part, from those of its members."""
        for member in element.members:
            if member.kind == OP:
                self._put_op(member)
        name = _without_numbers(element.title)
        exact, loose = (
            self._number((name, *(member.sign[k] for member in element.members))) for k in (0, 1)
        )
        element.sign = exact, loose
        element.weight = sum(member.weight for member in element.members) or 1

    def _put_op(self, element: Element) -> None:
        node = element.node
        assert node is not None
        roots = node.roots if self.coloured else ()
        key = node.op, node.where, _without_numbers(element.label), node.released, roots
        element.sign = self._number((*key, node.shape)), self._number(key)

    def _number(self, key: object) -> int:
        return self.known.setdefault(key, len(self.known) + 1)


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _folded(members: list[Element]) -> list[Element]:
    """Members with their repetitions in one box each: of equal shapes, then of any."""
    members = _fold(members, 0)
    return members if len(members) <= _FEW else _fold(members, 1)


def _fold(members: list[Element], which: int) -> list[Element]:
    signs = [member.sign[which] for member in members]
    weights = [member.weight for member in members]
    lines = [split_location(member.first().where)[2] for member in members]
    folded: list[Element] = []
    at = 0
    for run in runs(signs, weights, lines):
        folded += [*members[at : run.start], _repeat(members, run)]
        at = run.stop
    return folded + members[at:]


def _repeat(members: list[Element], run: RepeatedRun) -> Element:
    """One box for a run: its first item, and then the others, a few at a time."""
    items = members[run.start : run.stop]
    units = items if run.period == 1 else _units(items, run.period)
    repetition = _counted(_span(items), units)
    if run.count > 3:
        others = _counted(_span(units[1:]), units[1:])
        others.members = [
            some[0] if len(some) == 1 else _counted(_span(some), some)
            for some in _stretches(units[1:], _FEW)
        ]
        repetition.members = [units[0], others]
    return repetition


def _units(items: list[Element], period: int) -> list[Element]:
    """The bodies of a loop, each with its own loops folded."""
    bodies = [items[k : k + period] for k in range(0, len(items), period)]
    numbered = all(re.search(r"\d$", _name(item)) for item in items)
    return [
        _section(_span(body) if numbered else f"#{k}", _bounded(_folded(body)))
        for k, body in enumerate(bodies)
    ]


def _stretches(items: list[Element], most: int) -> list[list[Element]]:
    """At most so many stretches of equal length, the last one apart."""
    step = -(-len(items) // most)
    return [items[k : k + step] for k in range(0, len(items), step)]


def _counted(title: str, units: list[Element]) -> Element:
    element = _section(title, units)
    element.kind, element.count = REPEAT, len(units)
    return element


def _section(title: str, members: Sequence[Element]) -> Element:
    element = Element(SECTION, title, members)
    element.weight = sum(member.weight for member in members)
    element.sign = hash(tuple(m.sign[0] for m in members)), hash(tuple(m.sign[1] for m in members))
    return element


def _name(item: Element) -> str:
    return item.label if item.kind == OP else item.title


def _span(items: Sequence[Element]) -> str:
    """A name for neighbours: of modules with numbers, of one name, or of their lines."""
    names = [_name(item) for item in items]
    # A name that ends in a number, or in a first and a last one: "layers.3", "0-1".
    first, last = (re.fullmatch(r"(.*?)(\d+)(?:\N{EN DASH}(\d+))?", names[k]) for k in (0, -1))
    if first and last and first[1] == last[1] and names[0] != names[-1]:
        return f"{first[1]}{first[2]}\N{EN DASH}{last[3] or last[2]}"
    if names[0] and len(set(names)) == 1:
        return names[0]
    ops = {item.title for item in items if item.kind == OP}
    if len(ops) == 1 and all(item.kind == OP for item in items):
        return ops.pop()
    return line_range([node for item in items for node in item.ops()])


def line_range(nodes: Sequence[NodeInfo]) -> str:
    """``file:first-last`` of nodes, or the file of the first and three dots."""
    locations = [split_location(node.where) for node in nodes]
    name, between, first = locations[0]
    if len({file for file, _, _ in locations}) > 1:
        return f"{name}{between}{first} \N{HORIZONTAL ELLIPSIS}"
    numbers = sorted(line for _, _, line in locations)
    if numbers[0] == numbers[-1]:
        return f"{name}{between}{first}"
    return f"{name}{between.replace('line', 'lines')}{numbers[0]}\N{EN DASH}{numbers[-1]}"


def split_location(where: str) -> tuple[str, str, int]:
    """Of ``file:3`` or ``cell [2], line 3`` the file's own name, what is between, and the line."""
    match = re.fullmatch(r"(.*)(:|, line )(\d+)", where, re.DOTALL)
    assert match is not None
    return base_name(match[1]), match[2], int(match[3])


def base_name(path: str) -> str:
    """The last part of a path, of this system's or of another one's."""
    return re.split(r"[/\\]", path)[-1]


def _bounded(members: list[Element]) -> list[Element]:
    """At most so many members: those of one line together, then stretches of equal length."""
    if len(members) <= _MANY:
        return members
    by_line: list[list[Element]] = []
    for member in members:
        same = by_line and by_line[-1][0].first().where == member.first().where
        if same and member.kind == by_line[-1][0].kind == OP:
            by_line[-1].append(member)
        else:
            by_line.append([member])
    if len(by_line) < len(members):
        members = [g[0] if len(g) == 1 else _section(_span(g), g) for g in by_line]
    while len(members) > _MANY:
        stretches = _stretches(members, _MANY)
        members = [s[0] if len(s) == 1 else _section(_span(s), s) for s in stretches]
    return members
