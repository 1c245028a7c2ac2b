"""The boxes of a drawing as data, made from the tree: texts, sizes, sums, what depends on what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from wengert.graph import _format
from wengert.graph._describe import LEAF, LIVE, GraphReport, NodeInfo, SavedInfo
from wengert.graph._drawing._levels import Interior, interior
from wengert.graph._drawing._text import fit, text_width
from wengert.graph._drawing._tree import DATA, OP, PARAMETER, REPEAT, Part, lines_of, tree

WIDTH, HEIGHT, PILL_HEIGHT = 208, 48, 24
_SIZE, _SMALL = 12.5, 11.0  # of titles and of everything else, as in drawing-boxes.css
_PILLS = 4  # with the same consumers; more are drawn as one


@dataclass(frozen=True, slots=True)
class Box:
    """One box: an operation, an input, or a part of the graph that can be opened.

    Attributes:
        index: its place in `Drawing.boxes`.
        kind: ``"op"``, ``"leaf"`` (a tensor that requires grad), ``"data"`` (one that does not),
            ``"module"``, ``"repeat"`` (equal parts in a row) or ``"section"`` (a stretch of code).
        title: the operation, the name of the module or of the variable.
        tag: the module that the operation is all of; of a repetition, how many times.
        detail: the line, or how much is inside.
        note: how many bytes are kept.
        parent: the box that it is in; None for the outermost one.
        depth: how many boxes it is in.
        members: the boxes inside.
        nodes: the nodes that it stands for: indices in the report, those of leaves among them.
        shape: of what it computes, where that is one tensor.
        nbytes: bytes that its operations keep, as in `NodeInfo`.
        parameter_bytes: bytes of parameters that they keep, each storage once.
        frees: bytes that a backward gives back.
        released: how many of its operations are released.
        roots: of which roots it is a part: positions in the report's `roots`.
        opened: whether the first view shows its members.
        width: of the closed box.
        height: of the closed box.
        heading: how much width the texts take above its members, if it is open.
        interior: the layers of its members; None where there are none.
    """

    index: int
    kind: str
    title: str
    tag: str
    detail: str
    note: str
    parent: int | None
    depth: int
    members: tuple[int, ...]
    nodes: tuple[int, ...]
    shape: tuple[int, ...] | None
    nbytes: int
    parameter_bytes: int
    frees: int
    released: int
    roots: tuple[int, ...]
    opened: bool
    width: int
    height: int
    heading: int
    interior: Interior | None


def boxes_of(
    report: GraphReport, limit: int
) -> tuple[tuple[Box, ...], tuple[tuple[int, int], ...]]:
    """The boxes of a report, the outermost first, and the edges between the innermost ones.

    About `limit` boxes are visible at first.
    """
    root = tree(report.nodes)
    producers = _with_inputs(root, report.nodes)
    numbered = _Numbered(root)
    edges = [
        (numbered.index[id(source)], numbered.index[id(target)])
        for target, sources in producers
        for source in sources
    ]
    opened = _opened(root, limit)
    interiors = _interiors(numbered, edges)
    boxes = tuple(
        _box(numbered, k, id(part) in opened, interiors.get(k))
        for k, part in enumerate(numbered.parts)
    )
    return boxes, tuple(edges)


class _Numbered:
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


def _with_inputs(root: Part, nodes: Sequence[NodeInfo]) -> list[tuple[Part, list[Part]]]:
    """Put what goes into the graph into the tree; return what each operation is computed from."""
    numbered = _Numbered(root)
    ops = {part.node.index: part for part in numbered.parts if part.node is not None}
    given: dict[object, Part] = {}  # leaves by their index, data by their storage
    users: dict[int, list[Part]] = {}
    sources: list[tuple[Part, list[Part]]] = []
    for node in nodes:
        if node.state == LEAF:
            if not node.name:
                given[node.index] = _leaf(node)
            continue
        target = ops[node.index]
        found = [ops.get(k) or given.get(k) for k in node.inputs if k is not None]
        known = list(dict.fromkeys(part for part in found if part is not None))
        if not known and None in node.inputs:
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


def _placed(
    numbered: _Numbered, given: list[Part], users: dict[int, list[Part]]
) -> dict[int, Part]:
    """Put inputs in front of their first users; many with the same users are put in as one."""
    places: dict[tuple[int, tuple[int, ...]], list[Part]] = {}
    for part in given:
        if part.kind == PARAMETER and id(part) not in users:
            places.setdefault((0, ()), []).append(part)  # it is a root itself
            continue
        paths = [numbered.path(numbered.index[id(user)]) for user in users[id(part)]]
        depth = min(len(path) for path in paths) - 1
        while len({path[depth - 1] for path in paths}) > 1:
            depth -= 1
        places.setdefault(
            (paths[0][depth - 1], tuple(sorted({path[depth] for path in paths}))), []
        ).append(part)
    merged: dict[int, Part] = {}
    for (home, children), parts in places.items():
        if len(parts) > _PILLS:
            together = Part(PARAMETER, f"{len(parts):,} tensors")
            together.leaves = [leaf for part in parts for leaf in part.leaves]
            merged |= {id(part): together for part in parts}
            parts = [together]
        members = numbered.parts[home].members
        first = numbered.parts[children[0]] if children else None
        at = next((k for k, member in enumerate(members) if member is first), 0)
        members[at:at] = parts
    return merged


def _opened(root: Part, limit: int) -> set[int]:
    """Which parts to open, outer ones first, until about `limit` boxes are visible."""
    opened: set[int] = set()
    visible, level = 1, [root]
    while level:
        deeper: list[Part] = []
        for part in sorted(level, key=lambda p: len(p.members)):
            if part is root or visible - 1 + len(part.members) <= limit:
                opened.add(id(part))
                visible += len(part.members) - 1
                inside = [member for member in part.members if member.members]
                # One of those that repeat shows what all of them are like.
                deeper += inside[:1] if part.kind == REPEAT else inside
        level = deeper
    return opened


def _interiors(numbered: _Numbered, edges: Iterable[tuple[int, int]]) -> dict[int, Interior]:
    """The layers of every part that has members."""
    inner: dict[int, dict[tuple[int, int], list[int]]] = {}
    entries: dict[int, dict[int, set[int]]] = {}  # of a part: producer outside, members inside
    exits: dict[int, dict[int, int]] = {}  # of a part: producer inside, the member that it is in
    paths = [numbered.path(k) for k in range(len(numbered.parts))]
    for source, target in edges:
        above, below = paths[source], paths[target]
        depth = 0
        while above[depth] == below[depth]:
            depth += 1
        pair = above[depth], below[depth]
        inner.setdefault(above[depth - 1], {}).setdefault(pair, []).append(source)
        for part, member in zip(above[depth:], above[depth + 1 :], strict=False):
            exits.setdefault(part, {})[source] = member
        for part, member in zip(below[depth:], below[depth + 1 :], strict=False):
            entries.setdefault(part, {}).setdefault(source, set()).add(member)
    found = {}
    for k, whole in enumerate(numbered.parts):
        if whole.members:
            members = [numbered.index[id(member)] for member in whole.members]
            found[k] = interior(members, inner.get(k, {}), entries.get(k, {}), exits.get(k, {}))
    return found


def _box(numbered: _Numbered, k: int, opened: bool, inside: Interior | None) -> Box:
    part = numbered.parts[k]
    ops = list(part.ops())
    own = ops or part.leaves
    pill = part.kind in (PARAMETER, DATA)
    parameters = {s.storage: s.nbytes for n in ops for s in n.saved if s.parameter}
    nbytes = sum(n.nbytes for n in ops)
    title, tag, detail = _title(part), _tag(part), _detail(part, ops)
    note = _format.size(nbytes) if nbytes else ""
    return Box(
        index=k,
        kind=part.kind,
        title=title,
        tag=tag,
        detail=detail,
        note=note,
        parent=numbered.parents[k],
        depth=len(numbered.path(k)) - 1,
        members=tuple(numbered.index[id(member)] for member in part.members),
        nodes=tuple(n.index for n in own),
        shape=None if part.shape is None else tuple(part.shape),
        nbytes=nbytes,
        parameter_bytes=sum(parameters.values()),
        frees=sum(n.frees for n in ops),
        released=sum(n.state != LIVE for n in ops),
        roots=tuple(sorted({r for n in own for r in n.roots})),
        opened=opened,
        width=min(max(56, _even(text_width(part.title, _SIZE)) + 24), WIDTH) if pill else WIDTH,
        height=PILL_HEIGHT if pill else HEIGHT,
        heading=_even(text_width(title + tag, _SIZE) + text_width(detail + note, _SMALL)) + 92,
        interior=inside,
    )


def _even(width: float) -> int:
    """Rounded so that half of it is whole: lines between centres stay straight."""
    return 2 * round(width / 2)


def _title(part: Part) -> str:
    if part.kind in (PARAMETER, DATA):
        return fit(part.title, _SIZE, WIDTH - 24)
    tag = 12 + text_width(_tag(part), _SMALL) if part.kind == REPEAT else 0.0
    return fit(part.title, _SIZE, WIDTH - (28 if part.kind == OP else 50) - tag)


def _detail(part: Part, ops: Sequence[NodeInfo]) -> str:
    """The second line of a box."""
    if part.kind == OP:
        return fit(lines_of(ops), _SMALL, WIDTH - 84)
    return f"{len(ops):,} operations" if ops else ""


def _tag(part: Part) -> str:
    """What stands at the right of the title, as far as there is room."""
    if part.kind == REPEAT:
        return f"\N{MULTIPLICATION SIGN} {part.count:,}"
    room = WIDTH - 28 - text_width(part.title, _SIZE)
    return fit(part.label, _SMALL, room) if part.label and room > 24 else ""
