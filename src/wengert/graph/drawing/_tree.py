"""From the nodes of a report to a tree: calls of modules, repetitions, stretches of code.

Every part of the tree is a stretch of the nodes in the order in which they were recorded, and
inputs come first in that order. So no two parts of a level depend on each other both ways, and
every level can be drawn downwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wengert.graph.description import LEAF, NodeInfo
from wengert.graph.drawing._repeats import Run, runs

OP, MODULE, REPEAT, SECTION, PARAMETER, DATA = "op", "module", "repeat", "section", "leaf", "data"
SERIES = 8  # colours for roots
_MANY = 40  # members of a level
_NAME = 20  # characters of a name that is made of two
_FEW = 20  # members of a repetition that is shown item by item


class Part:
    """An operation, or several that are drawn as one box until it is opened."""

    __slots__ = (
        "count", "kind", "label", "leaves", "members", "node", "shape", "sign", "title", "weight",
    )  # fmt: skip

    def __init__(self, kind: str, title: str, members: Sequence[Part] = ()) -> None:
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
            part = waiting.pop()
            if part.kind == OP and part.node is not None:
                yield part.node
            waiting += reversed(part.members)

    def first(self) -> NodeInfo:
        """The first operation below."""
        return next(self.ops())


def tree(nodes: Sequence[NodeInfo], roots: int) -> Part:
    """The tree of all operations behind so many roots; leaves are not in it yet."""
    root = _nested([n for n in nodes if n.state != LEAF])
    signs = _Signs(coloured=roots <= SERIES)
    for part in _bottom_up(root):
        part.members = [_flat(member) for member in part.members]
        signs.put(part)
    for part in _bottom_up(root):
        part.members = _bounded(_folded(part.members))
    for part in _bottom_up(root):
        part.members = [_short(member) for member in part.members]
    return root


def _bottom_up(root: Part) -> list[Part]:
    found, waiting = [], [root]
    while waiting:
        part = waiting.pop()
        found.append(part)
        waiting += part.members
    return found[::-1]


def _nested(ops: Sequence[NodeInfo]) -> Part:
    root = Part(MODULE, "")
    around: list[tuple[tuple[str, int] | None, Part]] = [(None, root)]
    made: dict[int | None, Part] = {}
    for node in ops:
        depth = 0
        while (
            depth < min(len(node.calls), len(around) - 1)
            and around[depth + 1][0] == node.calls[depth]
        ):
            depth += 1
        del around[depth + 1 :]
        for call in node.calls[depth:]:
            inner = Part(MODULE, call[0])
            around[-1][1].members.append(inner)
            around.append((call, inner))
        op = Part(OP, node.op)
        op.node, op.shape = node, node.shape
        around[-1][1].members.append(op)
        made[node.index] = op
        if node.output is not None and node.inputs:
            made[node.inputs[0]].shape = None  # it computes several tensors
    return root


def _flat(part: Part) -> Part:
    """A module with a single member is that member, under both names."""
    if part.kind != MODULE or len(part.members) != 1:
        return part
    (only,) = part.members
    if only.kind == OP:
        only.label = f"{part.title}.{only.label}" if only.label else part.title
    else:
        only.title = f"{part.title}.{only.title}"
    return only


def _short(part: Part) -> Part:
    """A module that is one repetition of modules is drawn as that, where both names have room."""
    if part.kind != MODULE or len(part.members) != 1 or part.members[0].kind != REPEAT:
        return part
    (only,) = part.members
    title = f"{part.title}.{only.title}"
    if not _name(only.members[0]) or only.members[0].kind == SECTION or len(title) > _NAME:
        return part
    only.title = title
    return only


class _Signs:
    """Numbers for structures: equal ones have equal numbers."""

    def __init__(self, coloured: bool) -> None:
        self.coloured = coloured  # whether parts of different roots are different
        self.known: dict[object, int] = {}

    def put(self, part: Part) -> None:
        """The signs of a part, from those of its members."""
        for member in part.members:
            if member.kind == OP:
                self._put_op(member)
        name = _without_numbers(part.title)
        exact, loose = (
            self._number((name, *(member.sign[k] for member in part.members))) for k in (0, 1)
        )
        part.sign = exact, loose
        part.weight = sum(member.weight for member in part.members) or 1

    def _put_op(self, part: Part) -> None:
        node = part.node
        assert node is not None
        roots = node.roots if self.coloured else ()
        key = node.op, node.where, _without_numbers(part.label), node.released, roots
        part.sign = self._number((*key, node.shape)), self._number(key)

    def _number(self, key: object) -> int:
        return self.known.setdefault(key, len(self.known) + 1)


def _without_numbers(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _folded(members: list[Part]) -> list[Part]:
    """Members with their repetitions in one box each: of equal shapes, then of any."""
    members = _fold(members, 0)
    return members if len(members) <= _FEW else _fold(members, 1)


def _fold(members: list[Part], which: int) -> list[Part]:
    signs = [member.sign[which] for member in members]
    weights = [member.weight for member in members]
    lines = [split_place(member.first().where)[2] for member in members]
    made: list[Part] = []
    at = 0
    for run in runs(signs, weights, lines):
        made += [*members[at : run.start], _repeat(members, run)]
        at = run.stop
    return made + members[at:]


def _repeat(members: list[Part], run: Run) -> Part:
    """One box for a run: its first item, and then the others, a few at a time."""
    items = members[run.start : run.stop]
    units = items if run.period == 1 else _units(items, run.period)
    whole = _counted(_span(items), units)
    if run.count > 3:
        others = _counted(_span(units[1:]), units[1:])
        others.members = [
            some[0] if len(some) == 1 else _counted(_span(some), some)
            for some in _stretches(units[1:], _FEW)
        ]
        whole.members = [units[0], others]
    return whole


def _units(items: list[Part], period: int) -> list[Part]:
    """The bodies of a loop, each with its own loops folded."""
    bodies = [items[k : k + period] for k in range(0, len(items), period)]
    numbered = all(re.search(r"\d$", _name(item)) for item in items)
    return [
        _section(_span(body) if numbered else f"#{k}", _bounded(_folded(body)))
        for k, body in enumerate(bodies)
    ]


def _stretches(items: list[Part], most: int) -> list[list[Part]]:
    """At most so many stretches of equal length, the last one apart."""
    step = -(-len(items) // most)
    return [items[k : k + step] for k in range(0, len(items), step)]


def _counted(title: str, units: list[Part]) -> Part:
    part = _section(title, units)
    part.kind, part.count = REPEAT, len(units)
    return part


def _section(title: str, members: Sequence[Part]) -> Part:
    part = Part(SECTION, title, members)
    part.weight = sum(member.weight for member in members)
    part.sign = hash(tuple(m.sign[0] for m in members)), hash(tuple(m.sign[1] for m in members))
    return part


def _name(item: Part) -> str:
    return item.label if item.kind == OP else item.title


def _span(items: Sequence[Part]) -> str:
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
    return lines_of([node for item in items for node in item.ops()])


def lines_of(nodes: Sequence[NodeInfo]) -> str:
    """``file:first-last`` of nodes, or the file of the first and three dots."""
    places = [split_place(node.where) for node in nodes]
    name, between, first = places[0]
    if len({file for file, _, _ in places}) > 1:
        return f"{name}{between}{first} \N{HORIZONTAL ELLIPSIS}"
    numbers = sorted(line for _, _, line in places)
    if numbers[0] == numbers[-1]:
        return f"{name}{between}{first}"
    return f"{name}{between.replace('line', 'lines')}{numbers[0]}\N{EN DASH}{numbers[-1]}"


def split_place(where: str) -> tuple[str, str, int]:
    """Of ``file:3`` or ``cell [2], line 3`` the file's own name, what is between, and the line."""
    found = re.fullmatch(r"(.*)(:|, line )(\d+)", where, re.DOTALL)
    assert found is not None
    return base_name(found[1]), found[2], int(found[3])


def base_name(path: str) -> str:
    """The last part of a path, of this system's or of another one's."""
    return re.split(r"[/\\]", path)[-1]


def _bounded(members: list[Part]) -> list[Part]:
    """At most so many members: those of one line together, then stretches of equal length."""
    if len(members) <= _MANY:
        return members
    by_line: list[list[Part]] = []
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
