"""The boxes of a drawing as data, made from the tree: texts, sizes, sums, what depends on what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from wengert.graph._flops import Flops, summed
from wengert.graph.description import GraphReport, NodeInfo
from wengert.graph.drawing._inputs import Numbered, with_inputs
from wengert.graph.drawing._levels import Interior, incoming_columns, interior, with_fewer_crossings
from wengert.graph.drawing._text import fit, text_width
from wengert.graph.drawing._tree import (
    DATA,
    OP,
    PARAMETER,
    REPEAT,
    SERIES,
    Element,
    line_range,
    tree,
)
from wengert.graph.formatting import format_bytes, format_count

WIDTH, HEIGHT, PILL_HEIGHT = 208, 48, 24
_LONG = 480  # the most width that a title takes
_SIZE, _SMALL = 12.5, 11.0  # of titles and of everything else, as in drawing-boxes.css


@dataclass(frozen=True, slots=True)
class Box:
    """One box: an operation, an input, or a part of the graph that can be opened.

    Attributes:
        index: its place in `Drawing.boxes`.
        kind: ``"op"``, ``"leaf"`` (a tensor that requires grad), ``"data"`` (one that does not),
            ``"module"``, ``"repeat"`` (equal parts in a row) or ``"section"`` (a stretch of code).
        title: the operation, the name of the module or of the variable.
        short: as much of it as the closed box has room for.
        tag: the module that the operation is all of, or which output of an operation it is; of a
            repetition, how many times.
        detail: the line, or how much is inside.
        note: how many bytes are kept.
        parent: the box that it is in; None for the outermost one.
        depth: how many boxes it is in.
        members: the boxes inside.
        nodes: the nodes that it stands for: indices in the report, those of leaves among them.
        shape: of what it computes, where that is one tensor.
        nbytes: bytes that its operations keep, as in `NodeInfo`.
        leaf_bytes: bytes of leaves that they keep, each storage once.
        frees: bytes that a backward gives back.
        flops: floating-point operations of its calls and of their derivatives.
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
    short: str
    tag: str
    detail: str
    note: str
    parent: int | None
    depth: int
    members: tuple[int, ...]
    nodes: tuple[int, ...]
    shape: tuple[int, ...] | None
    nbytes: int
    leaf_bytes: int
    frees: int
    flops: Flops
    released: int
    roots: tuple[int, ...]
    opened: bool
    width: int
    height: int
    heading: int
    interior: Interior | None

    @property
    def all_released(self) -> bool:
        """Whether each of its operations is released."""
        return 0 < self.released == len(self.nodes)


@dataclass(frozen=True, slots=True)
class DrawingData:
    """What is to be drawn: the fields of a `Drawing`."""

    title: str
    nodes: tuple[NodeInfo, ...]
    roots: tuple[int, ...]
    boxes: tuple[Box, ...]
    edges: tuple[tuple[int, int], ...]

    @property
    def coloured(self) -> bool:
        """Whether each root has a colour: there are several, and no more than colours."""
        return 1 < len(self.roots) <= SERIES


def boxes_of(
    report: GraphReport, limit: int
) -> tuple[tuple[Box, ...], tuple[tuple[int, int], ...]]:
    """The boxes of a report, the outermost first, and the edges between the innermost ones.

    About `limit` boxes are visible at first.
    """
    root = tree(report.nodes, len(report.roots))
    producers = with_inputs(root, report)
    numbered = Numbered(root)
    edges = [
        (numbered.index[id(source)], numbered.index[id(target)])
        for target, sources in producers
        for source in sources
    ]
    opened = _opened(root, limit)
    interiors = _interiors(numbered, edges)
    boxes = tuple(
        _box(numbered, k, id(element) in opened, interiors.get(k))
        for k, element in enumerate(numbered.elements)
    )
    return boxes, tuple(edges)


def _opened(root: Element, limit: int) -> set[int]:
    """Which parts to open, outer ones first, until about `limit` boxes are visible."""
    opened: set[int] = set()
    visible, level = 1, [root]
    while level:
        deeper: list[Element] = []
        for element in sorted(level, key=lambda p: len(p.members)):
            if element is root or visible - 1 + len(element.members) <= limit:
                opened.add(id(element))
                visible += len(element.members) - 1
                inside = [member for member in element.members if member.members]
                # One of those that repeat shows what all of them are like.
                deeper += inside[:1] if element.kind == REPEAT else inside
        level = deeper
    return opened


def _interiors(numbered: Numbered, edges: Iterable[tuple[int, int]]) -> dict[int, Interior]:
    """The layers of every part that has members."""
    inner: dict[int, dict[tuple[int, int], list[int]]] = {}
    entries: dict[int, dict[int, set[int]]] = {}  # of a part: producer outside, members inside
    exits: dict[int, dict[int, int]] = {}  # of a part: producer inside, the member that it is in
    paths = [numbered.path(k) for k in range(len(numbered.elements))]
    for source, target in edges:
        start, end = paths[source], paths[target]
        depth = 0
        while start[depth] == end[depth]:
            depth += 1
        pair = start[depth], end[depth]
        inner.setdefault(start[depth - 1], {}).setdefault(pair, []).append(source)
        for element, member in pairwise(start[depth:]):
            exits.setdefault(element, {})[source] = member
        for element, member in pairwise(end[depth:]):
            entries.setdefault(element, {}).setdefault(source, set()).add(member)
    interiors: dict[int, Interior] = {}
    orders: dict[object, Any] = {}
    below = {
        k: [numbered.index[id(member)] for member in element.members]
        for k, element in enumerate(numbered.elements)
        if element.members
    }
    for k, members in below.items():
        interiors[k] = interior(
            members, inner.get(k, {}), entries.get(k, {}), exits.get(k, {}), orders
        )
    for k, members in below.items():  # outer ones first
        columns = incoming_columns(interiors[k])
        for v, member in enumerate(members):
            if member in interiors:
                interiors[member] = with_fewer_crossings(interiors[member], columns[v])
    return interiors


def _box(numbered: Numbered, k: int, opened: bool, inside: Interior | None) -> Box:
    element = numbered.elements[k]
    ops = list(element.ops())
    own = ops or element.leaves
    pill = element.kind in (PARAMETER, DATA)
    of_leaves = {s.storage: s.nbytes for n in ops for s in n.saved if s.leaf}
    nbytes = sum(n.nbytes for n in ops)
    title, tag, detail = fit(element.title, _SIZE, _LONG), _tag(element), _detail(element, ops)
    note = format_bytes(nbytes) if nbytes else ""
    return Box(
        index=k,
        kind=element.kind,
        title=title,
        short=_short(element),
        tag=tag,
        detail=detail,
        note=note,
        parent=numbered.parents[k],
        depth=len(numbered.path(k)) - 1,
        members=tuple(numbered.index[id(member)] for member in element.members),
        nodes=tuple(n.index for n in own),
        shape=None if element.shape is None else tuple(element.shape),
        nbytes=nbytes,
        leaf_bytes=sum(of_leaves.values()),
        frees=sum(n.frees for n in ops),
        flops=summed([n.flops for n in ops]),
        released=sum(n.released for n in ops),
        roots=tuple(sorted({r for n in own for r in n.roots})),
        opened=opened,
        width=min(max(56, _even(text_width(element.title, _SIZE)) + 24), WIDTH) if pill else WIDTH,
        height=PILL_HEIGHT if pill else HEIGHT,
        heading=_even(text_width(title + tag, _SIZE) + text_width(detail + note, _SMALL)) + 92,
        interior=inside,
    )


def _even(width: float) -> int:
    """Rounded so that half of it is whole: lines between centres stay straight."""
    return 2 * round(width / 2)


def _short(element: Element) -> str:
    if element.kind in (PARAMETER, DATA):
        return fit(element.title, _SIZE, WIDTH - 24)
    tag = 12 + text_width(_tag(element), _SMALL) if element.kind == REPEAT else 0.0
    return fit(element.title, _SIZE, WIDTH - (28 if element.kind == OP else 50) - tag)


def _detail(element: Element, ops: Sequence[NodeInfo]) -> str:
    """The second line of a box."""
    if element.kind == OP:
        return fit(line_range(ops), _SMALL, WIDTH - 84)
    return format_count(len(ops), "operation") if ops else ""


def _tag(element: Element) -> str:
    """What stands at the right of the title, as far as there is room."""
    if element.kind == REPEAT:
        return f"\N{MULTIPLICATION SIGN} {element.count:,}"
    label = element.label
    if not label and element.node is not None and element.node.output is not None:
        label = f"output {element.node.output}"
    room = WIDTH - 40 - text_width(element.title, _SIZE)
    return fit(label, _SMALL, room) if label and room > 24 else ""
