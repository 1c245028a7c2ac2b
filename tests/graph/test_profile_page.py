"""A timeline as a page and as a picture."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import wengert
from tests.browser import SIZES, sticking_out
from wengert import nn
from wengert.graph import html_page
from wengert.graph.timelines.page import fragment, timeline_page
from wengert.graph.timelines.picture import svg


def train(steps=3):
    model = nn.Sequential(nn.Linear(10, 50), nn.Tanh())
    for step in range(steps):
        hidden = model(wengert.randn(20, 10))
        penalty = hidden.exp().sum()
        penalty.backward(retain_graph=True)
        hidden.square().mean().backward()
        if step == 1:
            with pytest.raises(ValueError, match="not today"):
                refused(hidden.detach().requires_grad_() * 2).backward()


def refused(tensor):
    def refuse(g):
        raise ValueError("not today")

    tensor.register_hook(refuse)
    return tensor.sum()


@pytest.fixture(scope="module")
def timeline():
    with wengert.graph.profile() as memory:
        train()
    return evenly(memory.timeline)


def evenly(timeline):
    """The same with equal times between all that happens: on a busy machine calls share pixels."""
    ends = [moment for call in timeline.calls for moment in (call.begin, call.end)]
    moments = {0.0, *timeline.times, timeline.peak.seconds, *ends, timeline.seconds}
    at = {moment: k / 1000 for k, moment in enumerate(sorted(moments))}
    return replace(
        timeline,
        seconds=at[timeline.seconds],
        times=tuple(at[moment] for moment in timeline.times),
        calls=tuple(replace(c, begin=at[c.begin], end=at[c.end]) for c in timeline.calls),
        peak=replace(timeline.peak, seconds=at[timeline.peak.seconds]),
    )


@pytest.fixture
def chart(timeline, tmp_path, open_page):
    path = tmp_path / "timeline.html"
    timeline.save(path)
    return open_page(path)


def paths(chart):
    return [band.get_attribute("data-name") for band in chart.locator(".timeline .band").all()]


def test_bands_and_toggle(chart, timeline):
    lines = [f"{band.name.rpartition('/')[2]}" for band in timeline.lines]
    assert [name.rpartition("/")[2] for name in paths(chart)] == lines
    chart.get_by_role("button", name="By module").click()
    assert paths(chart) == [band.name for band in timeline.modules]
    assert chart.get_by_role("button", name="By module").get_attribute("aria-pressed") == "true"
    assert chart.get_by_role("button", name="By line").get_attribute("aria-pressed") == "false"
    assert chart.locator(".legend button").count() == len(timeline.modules)


def test_peak_is_marked_and_explained(chart, timeline):
    assert chart.locator(".peak-label").text_content() == "peak 12.8 kB"
    rows = chart.locator("details[open] tbody tr")
    assert rows.count() == len(timeline.peak.by_line())
    assert rows.first.locator("code").text_content() == "penalty = hidden.exp().sum()"


def test_hover_says_what_is_held(chart, timeline):
    box = chart.locator(".timeline svg").bounding_box()
    chart.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    tip = chart.locator(".tip")
    assert tip.is_visible()
    assert re.match(r"[\d.]+ k?B at [\d.]+ [mu]?s", tip.text_content())
    assert "backward()" in tip.text_content()
    chart.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] + 300)
    assert not tip.is_visible()


def test_dragging_zooms_and_a_double_click_shows_all(chart):
    def first_label():
        return chart.locator(".timeline svg text[text-anchor=middle]").first.text_content()

    everything = chart.get_by_role("button", name="Show all")
    assert everything.is_disabled()
    box = chart.locator(".timeline svg").bounding_box()
    chart.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 100)
    chart.mouse.down()
    chart.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 100, steps=4)
    assert chart.locator(".selection").count() == 1
    chart.mouse.up()
    assert everything.is_enabled()
    assert not first_label().startswith("0 ")
    chart.mouse.dblclick(box["x"] + box["width"] * 0.5, box["y"] + 100)
    assert everything.is_disabled()
    assert first_label().startswith("0 ")


def test_a_band_is_highlighted_from_the_legend(chart):
    entry = chart.locator(".legend button").first
    entry.click()
    faded = chart.locator(".band.faded").count()
    assert faded == chart.locator(".band").count() - 1
    chart.locator(".legend button").first.click()
    assert chart.locator(".band.faded").count() == 0


def test_a_call_says_what_it_released(chart, timeline):
    assert chart.locator(".call").count() == len(timeline.calls) == 7
    assert chart.locator(".call.retains").count() == 3
    assert chart.locator(".call.raised").count() == 1
    chart.locator("[data-call='1']").dispatch_event("click")
    text = chart.locator(".chosen-call").text_content()
    assert "backward() 2 of 7" in text
    assert "hidden.square().mean().backward()" in text
    assert "passed 6 nodes" in text
    assert "and 4.0 kB after" in text
    chart.locator("[data-call='1']").dispatch_event("click")
    assert not chart.locator(".chosen-call").is_visible()


def test_keys(chart):
    svg = chart.locator(".timeline svg")
    svg.focus()
    svg.press("p")
    assert chart.locator(".tip").text_content().startswith("12.8 kB at ")
    svg.press("+")
    assert chart.get_by_role("button", name="Show all").is_enabled()
    svg.press("ArrowRight")
    svg.press("n")
    assert "backward() 1 of 7" in chart.locator(".chosen-call").text_content()
    svg.press("Escape")
    assert chart.get_by_role("button", name="Show all").is_disabled()


def test_dark(timeline, tmp_path, open_page):
    timeline.save(tmp_path / "dark.html")
    chart = open_page(tmp_path / "dark.html", color_scheme="dark")
    fill = "e => getComputedStyle(e).fill"
    assert chart.locator(".band").first.evaluate(fill) == "rgb(108, 159, 245)"


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_page_fits_its_window(timeline, tmp_path, open_page, size):
    timeline.save(tmp_path / "memory.html")
    page = open_page(tmp_path / "memory.html", viewport={"width": size[0], "height": size[1]})
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert sticking_out(page) == []


def test_texts_are_escaped(tmp_path, open_page, monkeypatch):
    code = compile("def f(x):\n    return x.exp()\n", "</script><b id=evil>'\".py", "exec")
    scope = {}
    exec(code, scope)
    x = wengert.ones(10, requires_grad=True)
    with wengert.graph.profile() as memory:
        scope["f"](x).sum().backward()
    memory.save(tmp_path / "page.html")
    chart = open_page(tmp_path / "page.html")
    assert chart.locator("#evil").count() == 0
    assert paths(chart) == ["</script><b id=evil>'\".py:2"]
    memory.save(tmp_path / "page.svg")
    ElementTree.fromstring((tmp_path / "page.svg").read_text())


def test_a_page_of_nothing(tmp_path, open_page):
    with wengert.graph.profile() as memory:
        pass
    memory.save(tmp_path / "page.html")
    chart = open_page(tmp_path / "page.html")
    assert chart.get_by_text("Nothing was held.").is_visible()
    assert chart.get_by_text("There were none.").is_visible()


def test_fragments_share_a_page(timeline, tmp_path, open_page):
    parts = [fragment(timeline, name) for name in ("first", "second")]
    assert parts[0].scripts == parts[1].scripts == ("timeline.js",)
    text = html_page.page(
        "two",
        parts[0].body + parts[1].body,
        styles=parts[0].styles,
        scripts=parts[0].scripts,
        data=parts[0].data | parts[1].data,
    )
    (tmp_path / "two.html").write_text(text)
    chart = open_page(tmp_path / "two.html")
    assert chart.locator(".timeline svg").count() == 2


def test_what_the_first_step_loads_is_out_of_sight_at_first(tmp_path, open_page):
    x = wengert.ones(10, requires_grad=True)
    with wengert.graph.profile() as memory:
        for step in range(12):
            (x * (step + 1)).exp().sum().backward()
            if not step:
                time.sleep(0.3)
    second = memory.timeline.calls[1].begin
    memory.save(tmp_path / "timeline.html")
    page = open_page(tmp_path / "timeline.html")
    shown = page.locator(".call").evaluate_all("found => found.map((call) => call.dataset.call)")
    assert shown[0] == "1"
    page.click("text=Show all")
    assert page.locator(".call").first.get_attribute("data-call") == "0"
    assert second > 0.3


def test_what_is_left_is_told_by_lines(tmp_path, open_page):
    x = wengert.ones(10, requires_grad=True)
    with wengert.graph.profile() as memory:
        kept = [(x * k).exp() for k in range(3)]
    memory.save(tmp_path / "timeline.html")
    page = open_page(tmp_path / "timeline.html")
    (row,) = page.locator("h2:text('Still held') + .scroll tbody tr").all_inner_texts()
    assert row.split()[:3] == ["132", "B", "6"]
    assert "kept = [(x * k).exp() for k in range(3)]" in row
    assert len(kept) == 3


def test_long_runs_make_small_pages():
    x = wengert.ones(10, requires_grad=True)
    with wengert.graph.profile() as memory:
        for _ in range(3000):
            x.exp().sum().backward()
    assert len(timeline_page(memory.timeline)) < 1_500_000


def test_files(timeline, tmp_path):
    timeline.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == json.loads(timeline.to_json())
    timeline.save(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text() == svg(timeline)
    for bad in ("a.pdf", "a"):
        with pytest.raises(ValueError, match=r"must end with .html, .svg, .png or .json, and is"):
            timeline.save(tmp_path / bad)
    with pytest.raises(TypeError, match="path must be a str or a path, not int"):
        timeline.save(3)


def test_svg(timeline):
    root = ElementTree.fromstring(svg(timeline))
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "peak 12.8 kB" in texts
    assert any("penalty = hidden.exp().sum()" in text for text in texts)


def test_png(timeline, tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py is not installed")
    timeline.save(tmp_path / "a.png")
    found = (tmp_path / "a.png").read_bytes()
    assert found[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(found[16:20]) == 2 * 960


def test_png_without_resvg(timeline, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"pip install 'wengert\[graph\]'"):
        timeline.save(tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_notebook(timeline):
    assert timeline._repr_html_().startswith("<iframe srcdoc=")
