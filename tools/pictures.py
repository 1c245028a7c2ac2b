"""Draw the pictures of docs/ from the code of their pages.

python tools/pictures.py             # write drawing.svg, timeline.svg and the screenshots
python tools/pictures.py --check     # fail where one that is the same each time is not up to date

Screenshots need playwright and a Chromium. benchmarks/report.py draws the chart of speed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pages import BLOCK, output_of

import wengert

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURES = DOCS / "pictures"
# Of the report of pictures/train.py: what is in view, in a window of which size.
SHOTS = {
    "report": ("#findings", (1280, 1000)),
    "report-time": ("#time", (1280, 760)),
    "report-narrow": ("#findings", (390, 844)),
}


def main() -> None:
    """Write or check the pictures."""
    picture, target = run("drawing.md", "train.py")["drawing"].svg(), DOCS / "drawing.svg"
    if "--check" not in sys.argv[1:]:
        target.write_text(picture)
        least_disturbed(run("timeline.md", "gan.py")["train"]).save(DOCS / "timeline.svg")
        screenshots()
    elif target.read_text() != picture:
        sys.exit("docs/drawing.svg is not up to date: python tools/pictures.py")


def least_disturbed(train: Any) -> Any:
    """The profile of the quickest of many trainings."""
    found = []
    for _ in range(300):
        with wengert.graph.profile() as memory:
            train(4)
        found.append(memory.timeline)
    return min(found, key=lambda timeline: timeline.seconds)


def run(page: str, title: str) -> dict[str, Any]:
    """The names that the block of a page with a title defines."""
    blocks = BLOCK.finditer((DOCS / page).read_text())
    code = next(block["code"] for block in blocks if f'title="{title}"' in block[0])
    namespace: dict[str, Any] = {"__name__": "__main__"}
    output_of(code, title, namespace)
    return namespace


def screenshots() -> None:
    """The report of pictures/train.py, whose kernels are compiled by a run before it."""
    import shutil

    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "report.html")
        command = [sys.executable, "-m", "wengert", "run", "--quiet", "--report", page, "train.py"]
        for _ in range(2):
            subprocess.run(command, cwd=PICTURES, check=True)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name, (anchor, (width, height)) in SHOTS.items():
            window = chromium.new_page(viewport={"width": width, "height": height})
            window.goto(page.as_uri() + ("" if anchor == "#findings" else anchor))
            window.wait_for_timeout(500)
            target = PICTURES / f"{name}.png"
            window.screenshot(path=target)
            Image.open(target).convert("RGB").quantize(128).save(target, optimize=True)
        chromium.close()


if __name__ == "__main__":
    main()
