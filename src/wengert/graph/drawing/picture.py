"""`draw`, and what it returns."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wengert.autograd.edges import GradientEdge
from wengert.core.tensor import Node, Tensor
from wengert.graph import _optional, html_page
from wengert.graph.description import GraphReport, describe
from wengert.graph.drawing._boxes import DrawingData, boxes_of
from wengert.graph.drawing._dot import dot_of
from wengert.graph.drawing._layout import GraphLayout, lay_out
from wengert.graph.drawing._png import png_of
from wengert.graph.drawing._svg import svg_of
from wengert.graph.drawing.html_format import html_of
from wengert.graph.formatting import shorten_path
from wengert.graph.roots import describers

_BOXES = 60
_LINES = 4  # of these the title tells


@dataclass(frozen=True, slots=True)
class Drawing(DrawingData):
    """A drawing of a graph, as data; a notebook shows it, with everything that can be clicked.

    Attributes:
        title: the lines of the roots, of many the first ones.
        nodes: those of the report, as `describe` gives them.
        roots: the indices of the nodes that were asked about.
        boxes: what is drawn, the outermost box first.
        edges: from the box of a tensor to that of an operation that uses it.
    """

    def _layout(self) -> GraphLayout:
        """Where the boxes of the first view are."""
        return lay_out(self.boxes, {box.index for box in self.boxes if box.opened})

    def html(self) -> str:
        """A page of its own: zoom, search, boxes that open, what each node saved."""
        return html_of(self)

    def svg(self) -> str:
        """The first view as a picture, light or dark as the reader's system is."""
        return svg_of(self, self._layout())

    def png(self) -> bytes:
        """The first view as pixels, in light colours.

        Raises ImportError without ``resvg-py``, and RuntimeError where no font is installed.
        """
        return png_of(svg_of(self, self._layout(), schemes=False))

    def dot(self) -> str:
        """The first view for Graphviz, open boxes as clusters."""
        return dot_of(self, self._layout())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file; its suffix says how. Raises ValueError for an unknown one."""
        path = Path(path)
        form = _form(path)
        if form == "png":
            path.write_bytes(self.png())
        else:
            html_page.write_text(path, getattr(self, form)())

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def _repr_html_(self) -> str:
        return html_page.frame(self.html())

    def __repr__(self) -> str:
        return f"<Drawing of {len(self.nodes):,} nodes in {len(self.boxes):,} boxes>"


def draw(
    *roots: Tensor | Node | GradientEdge | Callable[..., Any] | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    boxes: int = _BOXES,
) -> Drawing:
    """Draw the graph behind tensors, nodes or edges, and write it to a file.

    Calls of modules are boxes that can be opened, and so are repetitions: the layers of a
    network, the steps of a loop. Inputs are at the top. Needs ``pip install 'wengert[graph]'``.

    Args:
        roots: one or several, such as the losses of a step, or compiled functions, whose programs
            are drawn; a path may follow them.
        path: a file that ends in ``.html``, ``.svg``, ``.png`` or ``.dot``.
        boxes: about how many the first view shows.

    Raises TypeError for another kind of root, RuntimeError for a tensor without a graph or a
    function without a program, ValueError for another suffix, and ImportError where the extra is
    not installed.

    >>> import wengert
    >>> w = wengert.ones(2, 3, requires_grad=True)
    >>> drawing = wengert.graph.draw((w * w).exp().sum())
    >>> [(box.kind, box.title, box.shape) for box in drawing.boxes[1:]]
    [('leaf', 'w', (2, 3)), ('op', 'mul', (2, 3)), ('op', 'exp', (2, 3)), ('op', 'sum', ())]
    """
    if roots and isinstance(roots[-1], (str, os.PathLike)):
        if path is not None:
            raise TypeError("draw() got two paths: behind the roots, and path=")
        *roots, path = roots  # type: ignore[assignment]
    if not isinstance(boxes, int) or boxes < 1:
        raise ValueError(f"draw(): boxes must be a number above 0, and is {boxes!r}")
    if not roots:
        raise TypeError("draw() takes at least one tensor, node or edge")
    if path is not None:
        _form(Path(path))  # before the work
    _optional.igraph()
    drawing = drawing_of(_report_of(roots), boxes)
    if path is not None:
        drawing.save(path)
    return drawing


def _report_of(roots: Sequence[Any]) -> GraphReport:
    for described in describers:
        if (report := described(roots)) is not None:
            return report
    return describe(*roots)


def drawing_of(report: GraphReport, boxes: int = _BOXES) -> Drawing:
    """The drawing of a graph that was described before; the rest is as for `draw`."""
    _optional.igraph()
    return Drawing(_title(report), report.nodes, report.roots, *boxes_of(report, boxes))


_FORMS = ("html", "svg", "png", "dot")


def _form(path: Path) -> str:
    form = path.suffix.removeprefix(".").lower()
    if form not in _FORMS:
        suffixes = ", ".join(f".{name}" for name in _FORMS)
        raise ValueError(
            f"draw(): the suffix of a file says how to draw, and {str(path)!r} has"
            f" {path.suffix!r}: one of {suffixes} is expected"
        )
    return form


def _title(report: GraphReport) -> str:
    tops = [report.nodes[index] for index in report.roots]
    lines = list(dict.fromkeys(f"{shorten_path(n.where)} {n.text}".rstrip() for n in tops))
    more = [f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return ", ".join([*lines[:_LINES], *more])
