"""Pages in a headless Chromium: `open_page(path)`, which no page leaves with an error.

The fixtures are in `tests/conftest.py` for everybody. Tests that use them are skipped where
playwright or a Chromium is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
TIMEOUT = 10_000  # milliseconds for what a page does at a click


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One Chromium for all tests of a process."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a file as a page of playwright's; options such as ``color_scheme="dark"``.

    The test fails at its end if a page logged an error, raised one, or asked for anything
    beside itself.
    """
    contexts, complaints = [], []

    def opened(path: str | Path, **options: Any) -> Any:
        own = Path(path).resolve().as_uri()
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda r: complaints.append(r.url) if foreign(r.url, own) else None)
        page.goto(own)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def foreign(url: str, own: str) -> bool:
    """Whether a request goes anywhere but to the page itself and to what stands in it."""
    return url.partition("#")[0] != own and not url.startswith("data:")


# The page is no wider than its window, and nothing reaches out of it but what scrolls by itself.
STICKING_OUT = """() => {
    const width = document.documentElement.clientWidth;
    const isClipped = (part) => {
        for (let p = part.parentElement; p && p !== document.body; p = p.parentElement) {
            if (getComputedStyle(p).overflowX !== "visible") return true;
        }
        return false;
    };
    const out = [...document.body.querySelectorAll("*")].filter((part) => {
        const { left, right, width: own } = part.getBoundingClientRect();
        return own > 0 && (left < -0.5 || right > width + 0.5) && !isClipped(part);
    });
    const scrolls = document.documentElement.scrollWidth > width ? ["the page"] : [];
    return [...scrolls, ...out.map((part) => part.outerHTML.slice(0, 80))];
}"""
SIZES = ((390, 844), (1280, 800))


def sticking_out(page: Any) -> list[str]:
    """What of a page is beside its window."""
    found: list[str] = page.evaluate(STICKING_OUT)
    return found
