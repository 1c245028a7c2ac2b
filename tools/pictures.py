"""Draw the pictures of docs/ from the code of their pages.

python tools/pictures.py             # write docs/drawing.svg and docs/timeline.svg
python tools/pictures.py --check     # fail where one that is the same each time is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pages import BLOCK, output_of

import wengert

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """Write or check the pictures."""
    picture, target = run("drawing.md", "train.py")["drawing"].svg(), DOCS / "drawing.svg"
    if "--check" not in sys.argv[1:]:
        target.write_text(picture)
        least_disturbed(run("timeline.md", "gan.py")["train"]).save(DOCS / "timeline.svg")
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


if __name__ == "__main__":
    main()
