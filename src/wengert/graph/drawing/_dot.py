"""A drawing as text for Graphviz, which lays it out by itself."""

from __future__ import annotations

from wengert.graph.drawing._boxes import Box, DrawingData
from wengert.graph.drawing._layout import GraphLayout
from wengert.graph.drawing._svg import leaving_text, tooltip
from wengert.graph.drawing._tree import DATA, OP, PARAMETER


def dot_of(drawing: DrawingData, layout: GraphLayout) -> str:
    """The visible boxes and what depends on what; open boxes are clusters."""
    lines = [
        "digraph graph_of_a_loss {",
        '  node [shape=box style="rounded" fontname="sans-serif" fontsize=11];',
        '  edge [fontname="sans-serif" fontsize=9 color="#667085"];',
        *_members(drawing, drawing.boxes[0], layout, "  "),
    ]
    visible = {k for k in layout.boxes if not drawing.boxes[k].opened}
    joined: dict[tuple[int, int], list[int]] = {}
    for source, target in drawing.edges:
        pair = _visible(drawing, source, visible), _visible(drawing, target, visible)
        if pair[0] != pair[1]:
            joined.setdefault(pair, []).append(source)
    for (source, target), tensors in joined.items():
        label = _quoted(leaving_text(drawing, tensors))
        lines.append(f"  box{source} -> box{target} [label={label}];")
    return "\n".join([*lines, "}", ""])


def _members(drawing: DrawingData, box: Box, layout: GraphLayout, indent: str) -> list[str]:
    lines = []
    for k in box.members:
        member = drawing.boxes[k]
        if member.opened:
            lines += [
                f"{indent}subgraph cluster_{k} {{",
                f"{indent}  label={_quoted(f'{member.title} {member.tag}'.strip())};",
                *_members(drawing, member, layout, indent + "  "),
                f"{indent}}}",
            ]
        else:
            lines.append(f"{indent}box{k} [{_look(drawing, member)}];")
    return lines


def _look(drawing: DrawingData, box: Box) -> str:
    rows = [f"{box.title} {box.tag}".strip(), box.detail, box.note]
    look = f"label={_quoted(chr(10).join(filter(None, rows)))}"
    if box.kind in (PARAMETER, DATA):
        look += " shape=oval"
    elif box.kind != OP:
        look += ' style="rounded,filled" fillcolor="#e9effc"'
    if box.all_released:
        look += ' color="#9aa4b4" fontcolor="#9aa4b4"'
    return f"{look} tooltip={_quoted(tooltip(drawing, box))}"


def _visible(drawing: DrawingData, index: int, visible: set[int]) -> int:
    """The box itself, or the closed one that it is in."""
    while index not in visible:
        parent = drawing.boxes[index].parent
        assert parent is not None
        index = parent
    return index


def _quoted(text: str) -> str:
    """A string of Graphviz: only quotes and backslashes mean anything in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
