"""A drawing as a page: the data of all boxes; scripts lay them out and draw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from wengert.graph import html_page
from wengert.graph.description import LEAF, NodeInfo
from wengert.graph.drawing import _layout
from wengert.graph.drawing._boxes import Box, DrawingData
from wengert.graph.drawing._levels import Interior
from wengert.graph.drawing._svg import root_names, tooltip
from wengert.graph.formatting import shorten_path

SCRIPTS = (
    "drawing-layout.js", "drawing-shapes.js", "drawing-panel.js", "drawing-tree.js",
    "drawing-map.js", "drawing.js",
)  # fmt: skip
_STYLES = ("drawing-boxes.css", "drawing.css")
_NONE: Mapping[str, float] = MappingProxyType({})

_BODY = """\
<header class="bar">
<h1 title="{title}">{title}</h1>
<div class="group find">
<input id="search" type="search" placeholder="operation, line, module" aria-label="Search">
<span id="found" aria-live="polite"></span>
</div>
<div class="group">
<button id="side" aria-controls="overview">overview</button>
<button id="open-all">open all</button><button id="close-all">close all</button>
<button id="fit">fit</button>
<button id="turn" class="square"></button>
<button id="zoom-out" class="square" aria-label="Zoom out">\N{MINUS SIGN}</button>
<button id="zoom-in" class="square" aria-label="Zoom in">+</button>
</div>
</header>
<div class="work">
<aside id="overview" aria-label="Overview"></aside>
<div class="view">
<svg id="canvas" class="drawing" role="group"
aria-label="The graph: arrow keys go from box to box, Space opens one"><g id="world"></g></svg>
<div class="legend" role="group" aria-label="Legend">
{roots}<details><summary>legend</summary>{marks}</details></div>
<canvas id="map" aria-hidden="true" hidden></canvas>
<aside id="panel" aria-label="Details" tabindex="-1" hidden></aside>
</div>
</div>
<noscript><p>Scripts in this file make the drawing, and they are switched off.</p></noscript>
"""


def html_of(drawing: DrawingData, seconds: Mapping[str, float] = _NONE) -> str:
    """The page; `seconds` that modules took, by their paths, are shown if there are any."""
    body = _BODY.format(
        title=escape(drawing.title),
        roots="".join(_roots(drawing)),
        marks="".join(_marks()),
    )
    return html_page.page(
        drawing.title,
        body,
        styles=_STYLES,
        scripts=SCRIPTS,
        data={"drawing": _data(drawing, seconds), "layout": constants()},
    )


def constants() -> dict[str, float]:
    """The numbers of the layout, for the one in JavaScript."""
    return {
        "gap": _layout.GAP,
        "bendGap": _layout.BEND_GAP,
        "layerGap": _layout.LAYER_GAP,
        "head": _layout.HEAD,
        "foot": _layout.FOOT,
        "side": _layout.SIDE,
        "margin": _layout.MARGIN,
        "sweeps": _layout.SWEEPS,
    }


def _data(drawing: DrawingData, seconds: Mapping[str, float]) -> dict[str, Any]:
    locations: dict[tuple[str, str], int] = {}
    nodes = [_node(node, locations) for node in drawing.nodes]
    times = _times(drawing, seconds)
    return {
        "roots": drawing.roots,
        "coloured": drawing.coloured,
        "leaves": sum(node.state == LEAF for node in drawing.nodes),
        "places": list(locations),
        "nodes": nodes,
        "boxes": [_box(drawing, box, times[box.index]) for box in drawing.boxes],
        "edges": drawing.edges,
    }


def _times(drawing: DrawingData, seconds: Mapping[str, float]) -> list[float | None]:
    """For each box the seconds of the modules inside of it, if each of them is there as a whole."""
    if not seconds:
        return [None] * len(drawing.boxes)
    totals = Counter(node.module for node in drawing.nodes if node.state != LEAF)
    times: list[float | None] = []
    for box in drawing.boxes:
        inside = Counter(drawing.nodes[k].module for k in box.nodes)
        complete = box.members and all(totals[module] == n for module, n in inside.items())
        times.append(sum(seconds.get(module, 0.0) for module in inside) if complete else None)
    return times


def _node(node: NodeInfo, locations: dict[tuple[str, str], int]) -> dict[str, Any]:
    location = locations.setdefault((shorten_path(node.where), node.text), len(locations))
    keys = ("op", "kind", "module", "shape", "inputs", "nbytes", "frees", "flops", "state", "name")
    saved = ("name", "of", "shape", "dtype", "nbytes", "leaf")
    return {
        **{key: getattr(node, key) for key in keys},
        "place": location,
        "saved": [{key: getattr(value, key) for key in saved} for value in node.saved],
    }


def _box(drawing: DrawingData, box: Box, seconds: float | None) -> dict[str, Any]:
    keys = (
        "kind", "title", "short", "tag", "detail", "note", "parent", "depth", "members", "shape",
        "nbytes", "leaf_bytes", "frees", "flops", "released", "roots", "opened", "width", "height",
        "heading",
    )  # fmt: skip
    return {
        **{key: getattr(box, key) for key in keys},
        "count": len(box.nodes),
        "nodes": () if box.members else box.nodes,
        "interior": None if box.interior is None else _interior(box.interior),
        "tip": tooltip(drawing, box),
        "seconds": seconds,
    }


def _interior(inside: Interior) -> dict[str, Any]:
    ways = [{"path": way.path, "tensors": way.tensors} for way in inside.ways]
    layers, entries, exits = inside.layers, inside.entries, inside.exits
    return {"layers": layers, "entries": entries, "exits": exits, "ways": ways}


def _roots(drawing: DrawingData) -> Iterator[str]:
    """Which colour is which root."""
    for k, name in enumerate(root_names(drawing)):
        mark = f'<rect class="root-{k}" width="12" height="12" rx="3"/>'
        yield _entry(mark, f'<code title="{escape(name)}">{escape(name)}</code>')


def _marks() -> Iterator[str]:
    """What bars and borders mean."""
    rect = '<rect class="{}" x="1" y="{}" width="22" height="{}" rx="{}"/>'
    yield _entry(rect.format("bytes", 5, 3, 0), "bytes that it keeps for backward")
    yield _entry(rect.format("leaves", 5, 3, 0), "and bytes of leaves, such as parameters")
    for kind, text in (
        ("root", "what was asked about"),
        ("leaf", "a tensor that requires grad"),
        ("data", "one that does not"),
        ("released", "released by a backward"),
    ):
        frame = rect.format("frame", 1, 10, 3)
        yield _entry(f'<g class="{kind}">{frame}</g>', text)


def _entry(mark: str, text: str) -> str:
    svg = f'<svg class="drawing" width="24" height="12" aria-hidden="true">{mark}</svg>'
    return f"<div>{svg}{text}</div>"
