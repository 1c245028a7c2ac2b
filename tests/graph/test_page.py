"""The shell of pages: hostile text stays text, nothing is fetched, both colour schemes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wengert.graph import formatting, html_page

HOSTILE = '</script><script>document.title = "owned"</script><!-- "quoted\' & \u2028 é'


def test_data_arrive_as_they_were(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    made = html_page.page(
        HOSTILE, "<main>body</main>", data={"values": {"text": HOSTILE, "n": [1]}}
    )
    html_page.write_text(tmp_path / "page.html", made)
    page = open_page(tmp_path / "page.html")
    assert page.title() == HOSTILE
    assert page.evaluate("readData('values')") == {"text": HOSTILE, "n": [1]}
    assert page.inner_text("main") == "body"


def test_other_scripts_and_requests_are_refused(tmp_path: Path, browser: Any) -> None:
    body = "<script>document.title = 'owned'</script><img src='https://example.org/x.png'>"
    html_page.write_text(tmp_path / "page.html", html_page.page("mine", body))
    page = browser.new_page()
    failed: list[str] = []
    page.on("console", lambda message: failed.append(message.text))
    page.goto((tmp_path / "page.html").as_uri())
    assert page.title() == "mine"
    assert len(failed) == 2
    assert all("Content Security Policy" in text for text in failed)
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system(
    scheme: str, tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    html_page.write_text(tmp_path / "page.html", html_page.page("colours", "<main>text</main>"))
    page = open_page(tmp_path / "page.html", color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 21, 27)"}[scheme]


def test_elements_hold_text_and_listen(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    html_page.write_text(tmp_path / "page.html", html_page.page("elements", ""))
    page = open_page(tmp_path / "page.html")
    made = "element('b', {title: '&', hidden: false, click: () => {}}, '<u>', null).outerHTML"
    assert page.evaluate(made) == '<b title="&amp;">&lt;u&gt;</b>'


def test_sizes_read_the_same_in_both_languages(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    counts = [0, 999, 1000, 999_949, 999_951, 12_345_678, 5e12]
    html_page.write_text(
        tmp_path / "page.html", html_page.page("sizes", "", data={"counts": counts})
    )
    page = open_page(tmp_path / "page.html")
    assert page.evaluate("readData('counts').map(formatSize)") == list(
        map(formatting.format_bytes, counts)
    )


def test_a_path_that_is_no_text_can_be_written(tmp_path: Path) -> None:
    html_page.write_text(tmp_path / "page.html", html_page.page("bad \udcff name", ""))
    assert "bad ? name" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_values_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        html_page.page("nan", "", data={"values": [float("nan")]})
