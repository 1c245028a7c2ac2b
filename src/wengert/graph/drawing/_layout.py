"""Coordinates for the boxes that are visible, from their layers and sizes.

``_assets/drawing-layout.js`` is the same in JavaScript, for when somebody opens a box: the same
operations on the same numbers in the same order, so that both come to the same coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from wengert.graph.drawing._boxes import Box
from wengert.graph.drawing._levels import LayeredEdge

GAP, BEND_GAP, LAYER_GAP = 28.0, 14.0, 46.0
HEAD, FOOT, SIDE = 44.0, 26.0, 18.0  # of an open box, around its members
MARGIN = 24.0  # around all
SWEEPS = 15  # odd: after the last one boxes stand below what they are computed from

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """One line of a drawing.

    Attributes:
        source: the box that it leaves, None for the border of an open one.
        target: the box that it comes to, None for the border of an open one.
        tensors: the boxes whose results it stands for.
        points: its course: straight down where x stays, a curve where it changes.
    """

    source: int | None
    target: int | None
    tensors: tuple[int, ...]
    points: tuple[Point, ...]


@dataclass(slots=True)
class GraphLayout:
    """Coordinates of everything visible."""

    width: float = 0.0
    height: float = 0.0
    boxes: dict[int, tuple[float, float, float, float]] = field(default_factory=dict)
    lines: list[EdgeLine] = field(default_factory=list)


def lay_out(boxes: Sequence[Box], opened: Collection[int]) -> GraphLayout:
    """Coordinates of all visible boxes, x, y, width, height, and of the lines between them."""
    levels: dict[int, _Level] = {}
    _measure(boxes, opened, levels)
    layout = GraphLayout()
    layout.width, layout.height = levels[0].width + 2 * MARGIN, levels[0].height + 2 * MARGIN
    waiting = [(0, MARGIN, MARGIN)]
    for index, x, y in waiting:  # which grows
        level = levels.get(index)
        if level is None:
            layout.boxes[index] = (x, y, float(boxes[index].width), float(boxes[index].height))
            continue
        layout.boxes[index] = (x, y, level.width, level.height)
        for k, member in enumerate(boxes[index].members):
            waiting.append((member, x + level.left(k), y + level.tops[k]))
        level.draw(layout.lines, x, y)
    return layout


def _measure(boxes: Sequence[Box], opened: Collection[int], levels: dict[int, _Level]) -> None:
    """The levels of all open boxes, inner ones first: an open box is as large as its inside."""
    order, waiting = [], [0]
    while waiting:
        index = waiting.pop()
        if index in opened:
            order.append(index)
            waiting += boxes[index].members
    for index in reversed(order):
        levels[index] = _Level(boxes, index, levels)


class _Level:
    """The inside of one open box: the centres and sizes of its vertices."""

    width: float
    height: float

    def __init__(self, boxes: Sequence[Box], index: int, levels: dict[int, _Level]) -> None:
        self.box = boxes[index]
        inside = self.box.interior
        assert inside is not None
        self.inside = inside
        self.members = len(self.box.members)
        # Not `levels`, which hold this one: a cycle.
        self.opened = [levels.get(member) for member in self.box.members]
        self.ports = len(inside.entries), len(inside.exits)
        self.port_of = (
            _numbers(inside.entries, self.members),
            _numbers(inside.exits, self.members + self.ports[0]),
        )
        count = sum(map(len, inside.layers))
        self.widths, self.heights = [0.0] * count, [0.0] * count
        for k, (member, level) in enumerate(zip(self.box.members, self.opened, strict=True)):
            self.widths[k] = float(boxes[member].width) if level is None else level.width
            self.heights[k] = float(boxes[member].height) if level is None else level.height
        outermost = self.box.parent is None  # and has no frame and no title
        self.head, self.foot, self.side, self.least = (
            (0.0, 0.0, 0.0, 0.0) if outermost else (HEAD, FOOT, SIDE, float(self.box.heading))
        )
        self.x = [0.0] * count
        self.tops = [0.0] * count
        self.bands: list[Point] = []  # of each layer: where it begins and ends
        self.ends = [self._ends(way) for way in inside.ways]
        self._set_x()
        self._set_y()

    def left(self, v: int) -> float:
        """The left side of a vertex."""
        return self.x[v] - self.widths[v] / 2

    def _ends(self, way: LayeredEdge) -> list[Point]:
        """Where lines of a way begin and end, from the centres of its first and last vertex."""
        first, last = way.path[0], way.path[-1]
        return list(
            dict.fromkeys((self._port(first, t, 1), self._port(last, t, 0)) for t in way.tensors)
        )

    def _port(self, v: int, tensor: int, side: int) -> float:
        level = self.opened[v] if v < self.members else None
        if level is None:
            return 0.0
        return level.x[level.port_of[side][tensor]] - level.width / 2

    def _set_x(self) -> None:
        """Each vertex as near to its neighbours above and below as the order allows."""
        neighbours = self._neighbours()
        for row in self.inside.layers:
            right = 0.0
            for k, v in enumerate(row):
                right += self._apart(row[k - 1], v) if k else 0.0
                self.x[v] = right
            for v in row:
                self.x[v] -= right / 2
        for sweep in range(SWEEPS):
            side = sweep % 2
            rows = self.inside.layers[::-1] if side else self.inside.layers
            for row in rows:
                self._settle(row, [neighbours[v][side] for v in row])
        left = min((self.left(v) for v in range(len(self.x))), default=0.0)
        right = max((self.x[v] + self.widths[v] / 2 for v in range(len(self.x))), default=0.0)
        self.width = max(2 * math.floor((right - left) / 2 + 0.5) + 2 * self.side, self.least)
        shift = self.width / 2 - (left + right) / 2
        self.x = [math.floor(x + shift + 0.5) for x in self.x]

    def _neighbours(self) -> list[list[list[tuple[int, float, float]]]]:
        """Of each vertex, above and below: who, how far aside it would like to be, how much."""
        neighbours: list[list[list[tuple[int, float, float]]]] = [[[], []] for _ in self.x]
        for way, ends in zip(self.inside.ways, self.ends, strict=True):
            last = len(way.path) - 2
            start = sum(a for a, _ in ends) / len(ends)
            stop = sum(b for _, b in ends) / len(ends)
            for k in range(last + 1):
                u, v = way.path[k], way.path[k + 1]
                shift = (start if k == 0 else 0.0) - (stop if k == last else 0.0)
                weight = 1.0 + 3.0 * (k > 0) + 3.0 * (k < last)
                neighbours[v][0].append((u, shift, weight))
                neighbours[u][1].append((v, -shift, weight))
        return neighbours

    def _apart(self, u: int, v: int) -> float:
        """How far the centres of neighbours in a layer are apart at least."""
        bend = self.widths[u] == 0 or self.widths[v] == 0
        return (self.widths[u] + self.widths[v]) / 2 + (BEND_GAP if bend else GAP)

    def _settle(self, row: Sequence[int], wishes: list[list[tuple[int, float, float]]]) -> None:
        """Move a layer to where it is nearest to its wishes: least squares, order kept.

        Neighbours that would come too near to each other form a block, which stands at the mean
        of their wishes; blocks that would overlap become one.
        """
        blocks: list[list[float]] = []  # where, weight, how many
        offset = 0.0
        offsets = []
        for k, v in enumerate(row):
            offset += self._apart(row[k - 1], v) if k else 0.0
            offsets.append(offset)
            weight = sum(w for _, _, w in wishes[k])
            wish = self.x[v]
            if weight > 0:
                wish = sum((self.x[u] + shift) * w for u, shift, w in wishes[k]) / weight
            block = [wish - offset, weight + 0.01, 1]
            while blocks and blocks[-1][0] >= block[0]:
                where, heavy, many = blocks.pop()
                total = heavy + block[1]
                block = [(where * heavy + block[0] * block[1]) / total, total, many + block[2]]
            blocks.append(block)
        k = 0
        for where, _, many in blocks:
            for _ in range(int(many)):
                self.x[row[k]] = where + offsets[k]
                k += 1

    def _set_y(self) -> None:
        """Layers below each other; ports in the borders; vertices in the middle of their layer."""
        ins, outs = self.ports
        y = 0.0 if ins else self.head
        for row in self.inside.layers:
            port = self.members <= row[0] < self.members + ins + outs
            high = max(self.heights[v] for v in row)
            if port and row[0] >= self.members + ins:
                y += self.foot - LAYER_GAP
            for v in row:
                self.tops[v] = y + math.floor((high - self.heights[v]) / 2)
            self.bands.append((y, y + high))
            y += self.head if port else high + LAYER_GAP
        self.height = self.bands[-1][1] + (0.0 if outs else self.foot)

    def draw(self, lines: list[EdgeLine], x: float, y: float) -> None:
        """Add the lines between the members, the box being at x, y."""
        layer = {v: k for k, row in enumerate(self.inside.layers) for v in row}
        for way, ends in zip(self.inside.ways, self.ends, strict=True):
            first, last = way.path[0], way.path[-1]
            for start, stop in ends:
                points = []
                for k, v in enumerate(way.path):
                    at = x + self.x[v] + (start if v == first else stop if v == last else 0.0)
                    top, bottom = self.bands[layer[v]]
                    if k > 0:
                        points.append((at, y + top))
                        points.append((at, y + self.tops[v]))
                    if k < len(way.path) - 1:
                        points.append((at, y + self.tops[v] + self.heights[v]))
                        points.append((at, y + bottom))
                lines.append(
                    EdgeLine(self._end(first), self._end(last), way.tensors, _distinct(points))
                )

    def _end(self, v: int) -> int | None:
        """The box at the end of a line, if the line ends there."""
        if v >= self.members or self.opened[v] is not None:
            return None
        return self.box.members[v]


def _numbers(ports: Sequence[Sequence[int]], first: int) -> dict[int, int]:
    """The vertex of the port that each tensor takes."""
    return {tensor: first + k for k, tensors in enumerate(ports) for tensor in tensors}


def _distinct(points: Sequence[Point]) -> tuple[Point, ...]:
    """Points without those that repeat the one before."""
    return tuple(p for k, p in enumerate(points) if k == 0 or p != points[k - 1])
