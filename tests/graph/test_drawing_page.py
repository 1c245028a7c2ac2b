"""The page of a drawing in a browser: boxes open, search jumps, the panel tells, keys work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wengert
from tests.browser import SIZES, sticking_out
from tests.graph import drawn
from tests.graph.test_drawing_formats import hostile
from wengert import nn
from wengert.graph import Drawing, draw
from wengert.graph.drawing._layout import lay_out
from wengert.graph.drawing._svg import course
from wengert.graph.formatting import format_bytes, format_flops

Opens = Callable[..., Any]


@pytest.fixture
def shown(tmp_path: Path, open_page: Opens) -> Callable[[Drawing], Any]:
    """Opens the page of a drawing."""

    def opened(drawing: Drawing, **options: Any) -> Any:
        drawing.save(tmp_path / "graph.html")
        return open_page(tmp_path / "graph.html", **options)

    return opened


def boxes(page: Any) -> list[str]:
    """The boxes that are drawn, by their label."""
    labels = page.eval_on_selector_all(
        "[data-box]", "all => all.map((box) => box.getAttribute('aria-label'))"
    )
    assert isinstance(labels, list)
    return labels


def open_ones(page: Any) -> set[int]:
    return set(page.evaluate("[...state.opened]"))


def wait_until(page: Any, condition: str) -> None:
    """Asks again and again: playwright's own waiting needs eval, which the page forbids."""
    for _ in range(500):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(condition)


def resize(page: Any, width: int) -> None:
    """Returns when the page has seen its new size: observers run between a layout and its paint."""
    page.set_viewport_size({"width": width, "height": 900})
    wait_until(page, f"canvas.clientWidth === {width}")
    page.evaluate("new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")


def part(drawing: Drawing, title: str) -> int:
    return next(box.index for box in drawing.boxes if box.title == title and box.members)


@pytest.mark.parametrize("name", drawn.ALL)
def test_both_languages_come_to_the_same_coordinates(name: str, shown: Opens) -> None:
    drawing = drawn.ALL[name]()
    page = shown(drawing)
    parts = [box.index for box in drawing.boxes if box.members]
    for opened in ([b.index for b in drawing.boxes if b.opened], parts, [0, *parts[1::2]]):
        placed = lay_out(drawing.boxes, set(opened))
        text = page.evaluate(
            """(opened) => {
                const placed = place(drawing.boxes, new Set(opened));
                return JSON.stringify({ ...placed, boxes: [...placed.boxes] });
            }""",
            opened,
        )
        there = json.loads(text)
        assert (there["width"], there["height"]) == (placed.width, placed.height)
        assert {k: tuple(at) for k, at in there["boxes"]} == placed.boxes
        lines = [
            (x["source"], x["target"], [tuple(p) for p in x["points"]]) for x in there["lines"]
        ]
        assert lines == [(x.source, x.target, list(x.points)) for x in placed.lines]


def test_the_page_draws_what_the_picture_draws(shown: Opens) -> None:
    drawing = drawn.two_losses()
    page = shown(drawing)
    texts = re.findall(r'<text class="(?:title|shape[^"]*)"[^>]*>([^<]*)', drawing.svg())
    there = page.eval_on_selector_all("#world text", "all => all.map((t) => t.textContent)")
    legend = [text for text in texts if "loss_" in text]
    assert sorted(set(texts) - set(legend) - {""}) == sorted(
        {text for text in there if text in texts}
    )
    courses = page.eval_on_selector_all(
        "#world .line", "all => all.map((l) => l.getAttribute('d'))"
    )
    assert courses == [course(line.points) for line in drawing._layout().lines]
    colours = page.locator(".legend code").all_inner_texts()
    assert len(colours) == 2
    assert all("loss_" in text for text in colours)


def test_a_click_fills_the_panel_and_escape_empties_it(shown: Opens) -> None:
    page = shown(drawn.mlp())
    assert page.locator("#panel").is_hidden()
    page.click("[data-box] .title >> text=relu")
    panel = page.inner_text("#panel")
    for text in ("relu", "ReluBackward0", "Sequential.1", "32 × 50", "live", "6.4 kB",
                 "logits = model(wengert.randn(32, 100))", "result output", "float32"):  # fmt: skip
        assert text in panel
    page.click("#panel .link >> nth=0")
    assert page.inner_text("#panel h2") == "linear"
    assert "0.weight 50 × 100 parameter" in page.inner_text("#panel")
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_boxes_open_and_close(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    others = part(drawing, "layers.1–11")
    assert others not in open_ones(page)
    page.evaluate(f"go({others})")
    before = boxes(page)
    page.click(f"[data-box='{others}'] .toggle")
    assert others in open_ones(page)
    assert len(boxes(page)) == len(before) + 11
    page.click(f"[data-box='{others}'] .toggle")
    assert boxes(page) == before
    page.dblclick(f"[data-box='{others}'] > .title")
    assert others in open_ones(page)
    page.click("#panel .toggle-part")
    assert others not in open_ones(page)


def test_a_box_stays_in_its_place_when_it_opens(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    others = part(drawing, "layers.1–11")
    page.evaluate(f"go({others})")
    corner = f"document.querySelector('[data-box=\"{others}\"]').getBoundingClientRect()"
    before = page.evaluate(f"(({{x, y}}) => [x, y])({corner})")
    page.evaluate(f"toggle({others})")
    after = page.evaluate(f"(({{x, y}}) => [x, y])({corner})")
    assert after == pytest.approx(before, abs=3)


def test_all_open_and_all_closed(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    page.click("#open-all")
    assert open_ones(page) == {box.index for box in drawing.boxes if box.members}
    drawn_now = page.locator("[data-box]").count()
    assert 0 < drawn_now < len(drawing.boxes)  # of so many, those in the view
    page.click("#close-all")
    assert open_ones(page) == {0}
    assert page.locator("[data-box]").count() == len(drawing.boxes[0].members)


def test_search_highlights_jumps_and_opens(shown: Opens) -> None:
    drawing = drawn.recurrent()
    page = shown(drawing)
    page.fill("#search", "TANH rnncell")
    assert page.inner_text("#found") == "300 found"
    marked = page.eval_on_selector_all(".match", "all => all.map((box) => box.dataset.box)")
    assert len(marked) == 1  # the box that all of them are in
    page.press("#search", "Enter")
    page.press("#search", "Enter")
    assert page.inner_text("#found") == "2 of 300 found"
    assert page.inner_text("#panel h2") == "tanh"
    second = [box for box in drawing.boxes if box.title == "tanh"][1]
    box = page.locator(f"[data-box='{second.index}']")
    assert "selected" in box.get_attribute("class")
    at, canvas = box.bounding_box(), page.locator("#canvas").bounding_box()
    assert canvas["x"] < at["x"] < canvas["x"] + canvas["width"]
    assert canvas["y"] < at["y"] < canvas["y"] + canvas["height"]
    page.press("#search", "Shift+Enter")
    page.press("#search", "Shift+Enter")
    assert page.inner_text("#found") == "300 of 300 found"
    page.fill("#search", "no such thing")
    assert page.inner_text("#found") == "0 found"
    assert page.locator(".match").count() == 0


def test_keys_zoom_and_reach_every_box(shown: Opens) -> None:
    page = shown(drawn.mlp())
    scale = page.evaluate("state.view.scale")
    page.keyboard.press("+")
    assert page.evaluate("state.view.scale") == pytest.approx(1.25 * scale)
    page.keyboard.press("-")
    assert page.evaluate("state.view.scale") == pytest.approx(scale)
    page.keyboard.press("0")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    reached = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.dataset.box ?? null"))
    assert {int(k) for k in reached - {None}} == set(
        page.evaluate("[...state.placed.boxes.keys()]")
    ) - {0}
    page.focus("[data-box='1']")
    page.keyboard.press(" ")
    assert 1 not in open_ones(page)
    assert page.evaluate("document.activeElement.dataset.box") == "1"


def test_enter_goes_into_the_panel_and_escape_back(shown: Opens) -> None:
    page = shown(drawn.mlp())
    page.focus("[data-box='3']")
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "linear"
    assert page.evaluate("document.activeElement.id") == "panel"
    page.focus("#panel .link >> nth=0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "panel"
    selected = page.evaluate("state.selected")
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()
    assert page.evaluate("document.activeElement.dataset.box") == str(selected)


def test_arrows_go_from_box_to_box_and_else_move_the_view(shown: Opens) -> None:
    drawing = drawn.two_losses()
    page = shown(drawing)
    x, y = page.evaluate("[state.view.x, state.view.y]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("[state.view.x, state.view.y]") == [x - 80, y - 80]

    def focused() -> str:
        return page.evaluate("document.activeElement.getAttribute('aria-label').split(',')[0]")

    page.focus("[data-box='1']")
    assert focused() == "Sequential"
    seen = []
    for key in ("Down", "Down", "Down", "Down", "Right", "Up", "Left"):
        page.keyboard.press(f"Arrow{key}")
        seen.append(focused())
    assert seen[:3] == ["data", "linear", "tanh"]
    assert set(seen[3:5]) == {"linear"}
    assert seen[5] == "tanh"


def test_the_panel_is_not_in_the_way_of_a_second_click(shown: Opens) -> None:
    page = shown(drawn.resnet())
    page.evaluate("openAll(false)")
    page.evaluate("state.view = {x: canvas.clientWidth - 300, y: 50, scale: 1}; show()")
    page.dblclick("[data-box] .title >> text=ResNet")
    index = part(drawn.resnet(), "ResNet")
    assert index in open_ones(page)
    assert page.inner_text("#panel h2") == "ResNet"
    panel, box = (
        page.locator(name).bounding_box() for name in ("#panel", f"[data-box='{index}'] .toggle")
    )
    assert panel["x"] == page.locator("#canvas").bounding_box()["x"]
    assert box["x"] > panel["x"] + panel["width"]
    page.click("#fit")
    room = "[free().from, free().from + free().width]"
    left, right = page.evaluate(room)
    assert (left, right) == (panel["width"], page.evaluate("canvas.clientWidth"))
    x, width = page.evaluate("[state.view.x, state.placed.width * state.view.scale]")
    assert left <= x + 1e-6
    assert x + width <= right + 1e-6


def test_from_far_away_frames_and_lines_are_left(shown: Opens) -> None:
    page = shown(drawn.recurrent())
    page.click("#open-all")
    page.click("#fit")
    assert page.evaluate("state.view.scale") < 0.02
    assert page.locator("#world text").count() == 0
    assert page.locator("#world .line").count() == 1
    assert page.locator("[data-box]").count() < page.evaluate("state.placed.boxes.size") / 2
    smallest = page.evaluate("state.view.scale")
    page.keyboard.press("-")
    assert page.evaluate("state.view.scale") == smallest
    for _ in range(60):
        page.keyboard.press("+")
    assert page.locator("#world text").count() > 0


def test_everything_fits_beside_the_legend(shown: Opens) -> None:
    page = shown(drawn.two_losses())
    page.set_viewport_size({"width": 500, "height": 700})
    wait_until(page, "canvas.clientWidth === 500")
    page.click("#fit")
    bottom = page.evaluate("state.view.y + state.placed.height * state.view.scale")
    assert bottom <= page.evaluate("legend.offsetTop") + 1e-6


def test_wheel_and_drag_move_the_view(shown: Opens) -> None:
    page = shown(drawn.mlp())
    x, y, scale = page.evaluate("[state.view.x, state.view.y, state.view.scale]")
    page.mouse.move(600, 300)
    page.mouse.down()
    page.mouse.move(650, 320, steps=4)
    page.mouse.up()
    assert page.evaluate("[state.view.x, state.view.y]") == pytest.approx([x + 50, y + 20])
    page.mouse.wheel(0, -200)
    wait_until(page, f"state.view.scale > {scale}")


def test_a_drag_across_a_box_selects_nothing(shown: Opens) -> None:
    page = shown(drawn.mlp())
    at = page.locator("[data-box='3']").bounding_box()
    page.mouse.move(at["x"] + 20, at["y"] + 20)
    page.mouse.down()
    page.mouse.move(at["x"] + 60, at["y"] + 30, steps=4)
    page.mouse.up()
    assert page.locator("#panel").is_hidden()


def test_hostile_names_are_shown_as_they_are(shown: Opens) -> None:
    drawing = hostile()
    page = shown(drawing)
    page.fill("#search", "tanh")
    page.press("#search", "Enter")
    panel = page.inner_text("#panel")
    assert '<script>alert("1")</script>' in panel
    assert page.locator("#panel script").count() == 0


def test_the_first_view_follows_the_size_of_the_window(shown: Opens) -> None:
    page = shown(drawn.mlp())
    resize(page, 700)
    assert page.evaluate("state.first")
    middle = page.evaluate("state.view.x + state.placed.width * state.view.scale / 2")
    assert middle == pytest.approx(350)
    page.keyboard.press("+")
    moved = page.evaluate("state.view.x")
    resize(page, 600)
    assert page.evaluate("state.view.x") == moved


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_page_fits_its_window(size: tuple[int, int], shown: Opens) -> None:
    page = shown(drawn.two_losses(), viewport={"width": size[0], "height": size[1]})
    assert sticking_out(page) == []
    page.click("#side")
    assert sticking_out(page) == []
    page.evaluate("select(1)")
    assert sticking_out(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_boxes_follow_the_colours_of_the_system(scheme: str, shown: Opens) -> None:
    page = shown(drawn.mlp(), color_scheme=scheme)
    fill = page.evaluate("getComputedStyle(document.querySelector('.box.op .frame')).fill")
    assert fill == {"light": "rgb(255, 255, 255)", "dark": "rgb(26, 30, 39)"}[scheme]


def test_a_notebook_shows_the_page_in_a_frame(tmp_path: Path, open_page: Opens) -> None:
    frame = drawn.mlp()._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{frame}</body>")
    page = open_page(tmp_path / "notebook.html")
    inside = page.frame_locator("iframe")
    box, frame = inside.locator("[data-box='3']"), page.locator("iframe").bounding_box()
    middle = box.bounding_box()["x"] + box.bounding_box()["width"] / 2
    side = inside.locator("#overview").bounding_box()["width"]
    assert middle == pytest.approx(frame["x"] + (side + frame["width"]) / 2, abs=2)
    box.click()
    assert "linear" in inside.locator("#panel h2").inner_text()


def fits(page: Any) -> bool:
    """Whether all of the drawing is in view, beside what lies over it."""
    whole: bool = page.evaluate(
        """(() => {
            const { x, y, scale } = state.view;
            const { width, height } = state.placed;
            return x >= -1 && y >= -1 && x + width * scale <= canvas.clientWidth + 1
                && y + height * scale <= canvas.clientHeight + 1;
        })()"""
    )
    return whole


@pytest.mark.parametrize("name", ["transformer", "recurrent", "resnet"])
@pytest.mark.parametrize("size", [(1280, 800), (1040, 544), (390, 844)])
def test_the_first_view_is_all_of_it_and_can_be_read(
    name: str, size: tuple[int, int], shown: Opens
) -> None:
    page = shown(drawn.ALL[name](), viewport={"width": size[0], "height": size[1]})
    assert fits(page)
    assert page.evaluate("state.view.scale") > 0.5
    assert page.locator("#map").is_hidden()


def test_repetitions_are_closed_where_there_is_no_room_for_all(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing, viewport={"width": 1280, "height": 700})
    layers = part(drawing, "layers.0–11")
    assert page.locator(f"[data-box='{layers}']").get_attribute("aria-expanded") == "false"
    small = shown(drawn.mlp())
    assert open_ones(small) == {box.index for box in drawn.mlp().boxes if box.opened}


def rows(page: Any) -> list[list[str]]:
    """The rows of the tree: level, name and tag, number."""
    found: list[list[str]] = page.eval_on_selector_all(
        "[role=treeitem]",
        """all => all.map((row) => [
            row.getAttribute("aria-level"),
            ...[".name", ".tag", ".number"].map((c) => row.querySelector(c)?.textContent ?? ""),
        ])""",
    )
    return found


def test_the_overview_has_figures_and_a_tree(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    figures = dict(
        zip(
            page.locator(".summary dt").all_inner_texts(),
            page.locator(".summary dd").all_inner_texts(),
            strict=True,
        )
    )
    whole = drawing.boxes[0]
    assert figures["operations"] == str(len(whole.nodes))
    assert figures["keeps"] == format_bytes(whole.nbytes)
    assert figures["of leaves"] == format_bytes(whole.leaf_bytes)
    assert figures["forward"] == format_flops(whole.flops.forward)
    assert figures["backward"] == format_flops(whole.flops.backward)
    first = [["1", "embedding", "Embedding"], ["1", "TransformerEncoder", ""]]
    assert [row[:3] for row in rows(page)][:2] == first
    times = next(row for row in rows(page) if row[1] == "layers.0–11")
    assert times[2] == "× 12"
    layers = drawing.boxes[part(drawing, "layers.0–11")]
    assert times[3] == format_bytes(layers.nbytes)


def test_the_tree_folds_and_its_bars_have_measures(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    layers = part(drawing, "layers.0–11")
    row = page.locator(f"[data-row='{layers}']")
    assert row.get_attribute("aria-expanded") == "false"
    before = rows(page)
    row.locator(".fold").click()
    assert [r[1] for r in rows(page) if r not in before] == ["layers.0", "layers.1–11"]
    row.locator(".fold").click()
    assert rows(page) == before
    box, whole = drawing.boxes[layers], drawing.boxes[0]
    page.click("#overview .choice >> text=nodes")
    assert row.locator(".number").inner_text() == str(len(box.nodes))
    page.click("#overview .choice >> text=FLOP")
    assert row.locator(".number").inner_text() == format_flops(sum(box.flops)).removesuffix("FLOP")
    width = row.locator(".share i").evaluate("bar => parseFloat(bar.style.width)")
    assert width == pytest.approx(100 * sum(box.flops) / sum(whole.flops), abs=0.1)


def test_a_row_of_the_tree_leads_to_its_box_and_back(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing)
    layers = part(drawing, "layers.0–11")
    page.click(f"[data-row='{layers}'] .name")
    assert page.inner_text("#panel h2") == "layers.0–11 × 12"
    first = next(box.index for box in drawing.boxes if box.title == "layer_norm")
    page.evaluate(f"go({first})")
    assert page.locator(f"[data-row='{first}']").get_attribute("aria-selected") == "true"


def test_the_tree_is_walked_with_keys(shown: Opens) -> None:
    page = shown(drawn.transformer())
    page.focus("[role=treeitem][tabindex='0']")

    def focused() -> str:
        name: str = page.evaluate("document.activeElement.querySelector('.name').textContent")
        return name

    seen = [focused()]
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        seen.append(focused())
    assert seen == [
        "embedding", "TransformerEncoder", "layers.0–11", "layers.0–11", "layers.0", "layers.0–11",
        "layers.0–11",
    ]  # fmt: skip
    assert page.evaluate("state.selected") is None
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "layers.0–11 × 12"


@pytest.mark.parametrize("name", drawn.ALL)
def test_from_left_to_right_nothing_overlaps_and_lines_go_on(name: str, shown: Opens) -> None:
    drawing = drawn.ALL[name]()
    page = shown(drawing)
    parts = [box.index for box in drawing.boxes if box.members]
    for opened in ([b.index for b in drawing.boxes if b.opened], parts, [0, *parts[1::2]]):
        text = page.evaluate(
            """(opened) => {
                const placed = place(drawing.boxes, new Set(opened), true);
                return JSON.stringify({ ...placed, boxes: [...placed.boxes] });
            }""",
            opened,
        )
        there = json.loads(text)
        at = {k: tuple(lay_out) for k, lay_out in there["boxes"]}
        for box in drawing.boxes:
            shown_ones = sorted(at[k] for k in box.members if k in at)
            for k, (x, y, width, height) in enumerate(shown_ones):
                for left, top, _, high in shown_ones[k + 1 :]:
                    assert left > x + width or y + height < top or top + high < y
            if box.index in at and box.parent is not None:
                x, y, width, height = at[box.index]
                left, top, wide, high = at[box.parent]
                assert left <= x
                assert x + width <= left + wide
                assert top <= y
                assert y + height <= top + high
        begins, ends = set(), set()
        for line in there["lines"]:
            xs = [x for x, _ in line["points"]]
            assert xs == sorted(xs)
            assert xs[0] < xs[-1]
            first, last = map(tuple, (line["points"][0], line["points"][-1]))
            if line["source"] is None:
                begins.add(first)
            else:
                x, y, width, height = at[line["source"]]
                assert first == (x + width, y + height / 2)
            if line["target"] is None:
                ends.add(last)
            else:
                x, y, _, height = at[line["target"]]
                assert last == (x, y + height / 2)
        assert begins == ends


def test_a_wide_frame_is_filled_from_left_to_right(shown: Opens) -> None:
    model = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(4, 4), nn.Tanh())])
    drawing = draw(model(wengert.randn(2, 4)).sum())
    page = shown(drawing, viewport={"width": 2200, "height": 420})
    assert page.evaluate("state.sideways")
    assert fits(page)
    assert page.locator("#turn").get_attribute("aria-label") == "Lay out downwards"
    page.click("#turn")
    assert not page.evaluate("state.sideways")
    tall = shown(drawing, viewport={"width": 900, "height": 900})
    assert not tall.evaluate("state.sideways")


def test_the_map_shows_what_is_in_view_and_moves_it(shown: Opens) -> None:
    page = shown(drawn.transformer())
    page.click("#open-all")
    assert page.locator("#map").is_visible()
    at = page.locator("#map").bounding_box()
    page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] - 4)
    bottom = page.evaluate("(canvas.clientHeight - state.view.y) / state.view.scale")
    assert bottom > 0.9 * page.evaluate("state.placed.height")
    page.click("#fit")
    assert page.locator("#map").is_hidden()


def test_the_overview_covers_a_narrow_page_when_it_is_asked_for(shown: Opens) -> None:
    drawing = drawn.transformer()
    page = shown(drawing, viewport={"width": 390, "height": 844})
    assert page.locator("#overview").is_hidden()
    page.click("#side")
    assert page.locator("#overview").is_visible()
    page.click(f"[data-row='{part(drawing, 'layers.0–11')}'] .name")
    assert page.locator("#overview").is_hidden()
    assert page.inner_text("#panel h2") == "layers.0–11 × 12"
