"""SVG, PNG and DOT: well-formed, with what the graph has, whatever names and lines contain."""

from __future__ import annotations

import io
import linecache
import re
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

import wengert
from tests.graph import drawn
from wengert import nn
from wengert.graph import Drawing, draw
from wengert.graph.drawing._text import fit

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</script><script>alert("1")</script> & \\ \' <!-- ]]> é \x07'


@pytest.fixture(scope="module", params=drawn.ALL)
def drawing(request: pytest.FixtureRequest) -> Drawing:
    """Each of the graphs."""
    return drawn.ALL[request.param]()


def hostile() -> Drawing:
    """A module and a file whose names, and a line whose text, try to be something else."""
    model = nn.Sequential()
    model.add_module(HOSTILE.replace(".", ""), nn.Sequential(nn.Tanh(), nn.ReLU()))
    names = {"model": model, "wengert": wengert}
    line = f"loss = model(wengert.ones(2, requires_grad=True)).sum()  # {HOSTILE}"
    exec(compile(line, f"{HOSTILE}.py", "exec"), names)
    return draw(names["loss"])  # type: ignore[arg-type]


def texts(svg: str) -> list[str]:
    """What an SVG shows as text."""
    return ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_svg_is_well_formed_and_shows_every_visible_box(drawing: Drawing) -> None:
    svg = drawing.svg()
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    shown = texts(svg)
    visible = [drawing.boxes[k] for k in drawing._layout().boxes if k]
    for box in visible:
        assert any(text.startswith(box.title) for text in shown)
    frames = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "frame"]
    behind = sum(2 for box in visible if box.kind == "repeat" and not box.opened)
    assert len(frames) == len(visible) + behind


def test_svg_carries_shapes_bytes_and_lines() -> None:
    shown = texts(drawn.mlp().svg())
    for text in ("32 × 100", "32 × 50", "32 × 10", "12.8 kB", "6.4 kB"):
        assert text in shown
    assert any(re.fullmatch(r"drawn\.py:\d+", text) for text in shown)


def test_bars_are_as_long_as_bytes() -> None:
    root = ElementTree.fromstring(drawn.mlp().svg())
    bars = [float(r.get("width", 0)) for r in root.iter(f"{SVG}rect") if r.get("class") == "bytes"]
    assert bars[:2] == [180, 90]  # the batch, and what the ReLU keeps


def test_svg_has_two_colour_schemes_and_no_variable_left(drawing: Drawing) -> None:
    svg = drawing.svg()
    assert "prefers-color-scheme: dark" in svg
    assert "var(" not in svg


def test_colours_name_the_losses() -> None:
    drawing = drawn.two_losses()
    svg = drawing.svg()
    assert len([text for text in texts(svg) if "loss_" in text]) == 2
    root = ElementTree.fromstring(svg)
    strips = [r.get("class") for r in root.iter(f"{SVG}rect") if r.get("x") == "4"]
    assert strips.count("root-0") == strips.count("root-1") == 2 + 3
    alone = ElementTree.fromstring(drawn.mlp().svg())
    assert not [r for r in alone.iter(f"{SVG}rect") if "root-" in (r.get("class") or "")]


def test_hostile_names_stay_text() -> None:
    drawing = hostile()
    svg = drawing.svg()
    ElementTree.fromstring(svg)
    assert "<script>" not in svg
    page = drawing.html()
    assert page.count("<script>") == page.count("</script>") - 2  # those of the data have a type
    assert "alert(" in page
    parsed(drawing.dot())
    assert "script" in drawing.dot()


def test_released_boxes_are_marked() -> None:
    w = wengert.ones(2, requires_grad=True)
    loss = (w * w).sum()
    assert 'class="box op released' not in draw(loss).svg()
    loss.backward()
    assert 'class="box op released root"' in draw(loss).svg()


@pytest.mark.parametrize("name", ["mlp", "two_losses", "recurrent"])
def test_png_has_twice_the_size_and_shows_something(name: str) -> None:
    drawing = drawn.ALL[name]()
    size = re.search(r'width="(\d+)" height="(\d+)"', drawing.svg())
    assert size is not None
    data = drawing.png()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    image = Image.open(io.BytesIO(data)).convert("RGB")
    assert image.size == (2 * int(size[1]), 2 * int(size[2]))
    assert image.getpixel((0, 0)) == (246, 247, 249)  # the ground, in light colours
    colours = image.getcolors(1 << 24)
    assert colours is not None
    assert len(colours) > 20
    shown = {colour for count, colour in colours if count > 100}
    assert {(255, 255, 255), (28, 34, 48)} <= shown  # boxes, and their titles


def test_a_large_png_is_smaller_than_twice_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wengert.graph.drawing._png._PIXELS", 1e4)
    image = Image.open(io.BytesIO(drawn.mlp().png()))
    assert 0.9e4 < image.width * image.height < 1.1e4


def test_png_without_fonts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import resvg_py

    draws = resvg_py.svg_to_bytes

    def without_fonts(**options: object) -> bytes:
        return draws(skip_system_fonts=True, **options)

    monkeypatch.setattr(resvg_py, "svg_to_bytes", without_fonts)
    with pytest.raises(
        RuntimeError, match=r"needs a font .* none of these is installed: system-ui"
    ):
        drawn.mlp().png()


STRING = r'"(?:[^"\\]|\\.)*"'
NODE = re.compile(rf"box(\d+) \[label=({STRING})(?: [a-z]+=(?:{STRING}|\w+))*\];")
EDGE = re.compile(rf"box(\d+) -> box(\d+) \[label={STRING}\];")
OTHER = re.compile(rf"subgraph cluster_\d+ {{|label={STRING};|}}|(?:node|edge) \[.*\];")


def parsed(dot: str) -> tuple[dict[int, str], list[tuple[int, int]]]:
    """The labels of nodes and the edges, of what `dot()` writes; fails on anything else."""
    first, *lines, last = dot.rstrip("\n").split("\n")
    assert (first, last) == ("digraph graph_of_a_loss {", "}")
    nodes, edges, depth = {}, [], 0
    for line in map(str.strip, lines):
        if node := NODE.fullmatch(line):
            nodes[int(node[1])] = node[2]
        elif edge := EDGE.fullmatch(line):
            edges.append((int(edge[1]), int(edge[2])))
        else:
            assert OTHER.fullmatch(line), line
            depth += line.endswith("{") - (line == "}")
            assert depth >= 0
    assert depth == 0
    return nodes, edges


def test_dot_has_the_visible_boxes_and_their_edges(drawing: Drawing) -> None:
    nodes, edges = parsed(drawing.dot())
    visible = {k for k in drawing._layout().boxes if not drawing.boxes[k].opened}
    assert nodes.keys() == visible
    assert len(set(edges)) == len(edges)
    for source, target in edges:
        assert {source, target} <= visible
    joined = {k for edge in edges for k in edge}
    assert joined == visible or len(visible) == 1


def test_long_lines_are_cut() -> None:
    assert fit("ab" * 10_000, 10.0, 100.0) == "ab" * 7 + "\N{HORIZONTAL ELLIPSIS}"
    assert fit("abc", 10.0, 0.0) == "\N{HORIZONTAL ELLIPSIS}"
    names = {"wengert": wengert}
    line = f"loss = wengert.ones(2, requires_grad=True).sum()  # {'long ' * 1000}"
    exec(compile(line, "long.py", "exec"), names)
    linecache.cache["long.py"] = (len(line), None, [line], "long.py")
    drawing = draw(names["loss"], names["loss"])  # type: ignore[arg-type]
    assert len(drawing.nodes[1].text) > 5000
    assert len(drawing.svg()) < 25_000
    del linecache.cache["long.py"]
