"""A drawing as SVG: the first view, with titles to point at, in light and dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from wengert.graph.description import NodeInfo
from wengert.graph.drawing._boxes import Box, DrawingData
from wengert.graph.drawing._layout import MARGIN, EdgeLine, GraphLayout, Point
from wengert.graph.drawing._text import escape, fit, shape_text
from wengert.graph.drawing._tree import DATA, OP, PARAMETER, REPEAT
from wengert.graph.formatting import format_bytes, format_flops, format_memory, shorten_path
from wengert.graph.html_page import asset

STACK = 3  # how far the boxes behind a repetition look out
_BAR, _LEAST, _ROW = 180, 3, 22
_TIP = 200  # characters of a line of a tooltip, at most


def svg_of(drawing: DrawingData, layout: GraphLayout, *, schemes: bool = True) -> str:
    """The picture; without `schemes` in light colours alone."""
    legend = list(_legend(drawing))
    top = len(legend) * _ROW + (_ROW if legend else 0)
    width = max(layout.width, 560.0 if legend else 0.0)
    height = layout.height + top
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    visible = [drawing.boxes[k] for k in sorted(layout.boxes)]
    closed = [box for box in visible if not box.opened]
    scale = {  # operations are compared with operations, what can be opened with its like
        opens: max((b.nbytes + b.leaf_bytes for b in closed if bool(b.members) is opens), default=0)
        for opens in (False, True)
    }
    inner = [
        *(_open(box, layout) for box in visible if box.opened),
        *map(_line, layout.lines),
        *(_heading(box, layout) for box in visible if box.opened),
        *_shapes(drawing, layout),
        *(_closed(drawing, box, layout, scale[bool(box.members)]) for box in closed),
    ]
    shift = (width - layout.width) / 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" {size} role="img">',
        f"<title>{escape(drawing.title)}</title>",
        f"<style>{styles(schemes)}</style>",
        f'<rect class="ground" width="{width:g}" height="{height:g}"/>',
        *legend,
        f'<g transform="translate({shift:g} {top:g})">',
        *inner,
        "</g>",
        "</svg>",
        "",
    ]
    return "\n".join(lines)


@cache
def styles(schemes: bool) -> str:
    """The rules for boxes with the colours of the pages in the place of variables."""
    rules = asset("drawing-boxes.css").partition("*/")[2]
    rules += ".drawing .ground { fill: var(--ground); }\n"
    light, dark = (_coloured(rules, colours(dark)) for dark in (False, True))
    return f"{light}@media (prefers-color-scheme: dark) {{{dark}}}\n" if schemes else light


def _coloured(rules: str, palette: dict[str, str]) -> str:
    return re.sub(r"var\(--([\w-]+)\)", lambda name: palette[name[1]], rules)


@cache
def colours(dark: bool = False) -> dict[str, str]:
    """The variables of the pages."""
    light, other = (
        dict(re.findall(r"--([\w-]+):\s*([^;]+);", block))
        for block in asset("base.css").split("@media (prefers-color-scheme: dark)", 1)
    )
    return light | other if dark else light


def _classes(drawing: DrawingData, box: Box) -> str:
    opens = box.kind not in (OP, PARAMETER, DATA)
    names = ["box", "part" if opens else box.kind]
    if box.all_released:
        names.append("released")
    if not opens and set(box.nodes) & set(drawing.roots):
        names.append("root")
    return " ".join(names)


def _open(box: Box, layout: GraphLayout) -> str:
    if box.parent is None:
        return ""
    x, y, width, height = layout.boxes[box.index]
    return (
        f'<g class="box open {_level(box.depth)}" transform="translate({x:g} {y:g})">'
        f'<rect class="frame" width="{width:g}" height="{height:g}" rx="10"/></g>'
    )


def _heading(box: Box, layout: GraphLayout) -> str:
    if box.parent is None:
        return ""
    x, y, _, _ = layout.boxes[box.index]
    return (
        f'<text class="heading {_level(box.depth)}" x="{x + 16:g}" y="{y + 24:g}">'
        f'<tspan class="title">{escape(box.title)}</tspan>'
        f'<tspan class="tag" dx="8">{escape(box.tag)}</tspan>'
        f'<tspan dx="8">{escape(" · ".join(filter(None, (box.detail, box.note))))}</tspan></text>'
    )


def _level(depth: int) -> str:
    """Open boxes inside of each other have two colours in turn."""
    return f"level-{depth % 2}"


def _closed(drawing: DrawingData, box: Box, layout: GraphLayout, largest: int) -> str:
    x, y, width, height = layout.boxes[box.index]
    head = f'<g class="{_classes(drawing, box)}" transform="translate({x:g} {y:g})">'
    tip = f"<title>{escape(tooltip(drawing, box))}</title>"
    frame = f'width="{width:g}" height="{height:g}"'
    if box.kind in (PARAMETER, DATA):
        return (
            f'{head}{tip}<rect class="frame" {frame} rx="12"/>'
            f'<text class="title middle" x="{width / 2:g}" y="16">{escape(box.short)}</text></g>'
        )
    behind = "".join(
        f'<rect class="frame" x="{k}" y="{k}" {frame} rx="8"/>'
        for k in ((2 * STACK, STACK) if box.kind == REPEAT else ())
    )
    return (
        f'{head}{tip}{behind}<rect class="frame" {frame} rx="8"/>{_strip(drawing, box)}'
        f'<text class="title" x="14" y="19">{escape(box.short)}</text>'
        f'<text class="tag end" x="{width - 12:g}" y="19">{escape(box.tag)}</text>'
        f'<text x="14" y="34">{escape(box.detail)}</text>'
        f'<text class="end" x="{width - 12:g}" y="34">{escape(box.note)}</text>'
        f"{_bar(box, largest)}</g>"
    )


def _strip(drawing: DrawingData, box: Box) -> str:
    """The colours of the roots that the box is a part of."""
    if not drawing.coloured:
        return ""
    high = 30 / max(len(box.roots), 1)
    return "".join(
        f'<rect class="root-{root}" x="4" y="{8 + k * high:.6g}" width="4" height="{high:.6g}"/>'
        for k, root in enumerate(box.roots)
    )


def _bar(box: Box, largest: int) -> str:
    if not box.nbytes + box.leaf_bytes:
        return ""
    own, leaves = (
        max(_BAR * count / largest, _LEAST) if count else 0.0
        for count in (box.nbytes, box.leaf_bytes)
    )
    elements = f'<rect class="bytes" x="14" y="40" width="{own:.6g}" height="4"/>' if own else ""
    if leaves:
        elements += (
            f'<rect class="leaves" x="{14.5 + own:.6g}" y="40.5" width="{leaves:.6g}" height="3"/>'
        )
    return elements


def course(points: Iterable[Point]) -> str:
    """The path of a line: straight where x stays, a curve from layer to layer."""
    commands: list[str] = []
    x = y = 0.0
    for k, (to_x, to_y) in enumerate(points):
        if k == 0:
            commands.append(f"M{to_x:g} {to_y:g}")
        elif to_x == x:
            commands.append(f"V{to_y:g}")
        else:
            middle = (y + to_y) / 2
            commands.append(f"C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}")
        x, y = to_x, to_y
    return "".join(commands)


def _line(line: EdgeLine) -> str:
    elements = f'<path class="line" d="{course(line.points)}"/>'
    if line.target is not None:
        x, y = line.points[-1]
        elements += f'<path class="arrow" d="M{x - 3.5:g} {y - 6:g}h7L{x:g} {y:g}z"/>'
    return elements


def _shapes(drawing: DrawingData, layout: GraphLayout) -> Iterator[str]:
    """At the lower side of each box, the shape of what leaves it there: where no line bends."""
    leaving: dict[int, list[int]] = {}
    aside: dict[int, float] = {}
    for line in layout.lines:
        if line.source is not None:
            leaving.setdefault(line.source, []).extend(line.tensors)
            way = line.points[-1][0] - line.points[0][0]
            aside[line.source] = aside.get(line.source, 0.0) + way
    for index, tensors in leaving.items():
        x, y, width, height = layout.boxes[index]
        left, side = (-6, "shape end") if aside[index] > 0 else (6, "shape")
        high = height + 14 + (2 * STACK if drawing.boxes[index].kind == REPEAT else 0)
        side += f" {_level(drawing.boxes[index].depth - 1)}"
        yield (
            f'<text class="{side}" x="{x + width / 2 + left:g}" y="{y + high:g}">'
            f"{escape(leaving_text(drawing, tensors))}</text>"
        )


def leaving_text(drawing: DrawingData, tensors: Iterable[int]) -> str:
    """The shape of the tensors that leave a box, or how many there are."""
    different = set(tensors)
    shapes = {drawing.boxes[k].shape for k in different}
    shape = shapes.pop()
    if shapes or shape is None:
        return f"{len(different):,} tensors" if len(different) > 1 else ""
    return shape_text(shape)


def _legend(drawing: DrawingData) -> Iterator[str]:
    """Which colour is which root."""
    for k, name in enumerate(root_names(drawing)):
        y = MARGIN + k * _ROW
        yield (
            f'<rect class="root-{k}" x="{MARGIN:g}" y="{y:g}" width="12" height="12"'
            f' rx="3"/><text class="title" x="{MARGIN + 20:g}" y="{y + 10:g}">'
            f"{escape(fit(name, 12.0, 500))}</text>"
        )


def root_names(drawing: DrawingData) -> list[str]:
    """The roots that have colours: numbered, since several may be of one line."""
    tops = [drawing.nodes[index] for index in drawing.roots] if drawing.coloured else []
    return [f"{k + 1}  {_line_of(node)}" for k, node in enumerate(tops)]


def _line_of(node: NodeInfo) -> str:
    return f"{shorten_path(node.where)}  {node.text}".rstrip()


def tooltip(drawing: DrawingData, box: Box) -> str:
    """What pointing at a box tells."""
    rows = [" ".join(filter(None, (box.title, box.tag)))]
    if box.shape is not None:
        rows.append(shape_text(box.shape))
    if box.kind == OP:
        node = drawing.nodes[box.nodes[0]]
        rows += [node.module, _line_of(node), node.state]
    elif box.detail:
        rows.append(box.detail)
    elif len(box.nodes) == 1:
        rows.append(_line_of(drawing.nodes[box.nodes[0]]))
    if box.nbytes or box.leaf_bytes:
        rows.append(
            f"keeps {format_memory(box.nbytes, box.leaf_bytes)}; backward frees"
            f" {format_bytes(box.frees)}"
        )
    if any(box.flops):
        rows.append("{} forward, {} backward".format(*map(format_flops, box.flops)))
    if box.kind != OP and box.released:
        rows.append(f"{box.released:,} released")
    return "\n".join(
        row if len(row) <= _TIP else f"{row[:_TIP]}\N{HORIZONTAL ELLIPSIS}" for row in rows if row
    )
