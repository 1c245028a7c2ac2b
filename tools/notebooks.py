"""Write the tutorials as notebooks: docs/tutorials/NAME.md as docs/notebooks/NAME.ipynb.

    python tools/notebooks.py            # write
    python tools/notebooks.py --check    # fail where one is not up to date

Text becomes Markdown, code becomes cells, without the output beneath: a notebook makes its own. A
cell that is to raise is tagged so, and a run of all cells goes on behind it.
"""

from __future__ import annotations

import json
import posixpath
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pages import BLOCK

ROOT = Path(__file__).resolve().parents[1]
PAGES, NOTEBOOKS = ROOT / "docs" / "tutorials", ROOT / "docs" / "notebooks"
SITE = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"]
RAISES = re.compile(r"^[\w.]*Error: ", re.MULTILINE)
LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|#)([^)#\s]+)")


def main() -> None:
    """Write or check the notebooks."""
    stale = []
    for page in sorted(PAGES.glob("*.md")):
        if "```python" not in page.read_text():
            continue
        target, text = NOTEBOOKS / f"{page.stem}.ipynb", written(page)
        if "--check" not in sys.argv[1:]:
            NOTEBOOKS.mkdir(exist_ok=True)
            target.write_text(text)
        elif not target.exists() or target.read_text() != text:
            stale.append(target.name)
    if stale:
        sys.exit(f"not up to date: {', '.join(stale)}: python tools/notebooks.py")


def written(page: Path) -> str:
    """The notebook of a page, as JSON."""
    notebook = {
        "cells": [
            cell | {"id": f"{page.stem}-{n}".replace("_", "-")}
            for n, cell in enumerate(cells(page.read_text()))
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def cells(text: str) -> Iterator[dict[str, Any]]:
    """The cells of a page."""
    yield code("%pip install --quiet wengert scikit-learn")
    position = 0
    for block in BLOCK.finditer(text):
        yield from prose(text[position : block.start()])
        tags = ["raises-exception"] if RAISES.match(block["output"] or "") else []
        yield code(block["code"].rstrip(), tags)
        position = block.end()
    yield from prose(text[position:])


def prose(text: str) -> Iterator[dict[str, Any]]:
    """Text as a cell, with links to the site."""
    if text.strip():
        source = LINK.sub(lambda m: m[1] + absolute(m[2]), text.strip())
        yield {"cell_type": "markdown", "metadata": {}, "source": lines(source)}


def code(text: str, tags: list[str] | None = None) -> dict[str, Any]:
    """Code as a cell that was not run."""
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": tags} if tags else {},
        "outputs": [],
        "source": lines(text),
    }


def lines(text: str) -> list[str]:
    """As notebooks have it: each line with its end."""
    return text.splitlines(keepends=True)


def absolute(link: str) -> str:
    """The address on the site of a link beside the page."""
    path = posixpath.normpath(posixpath.join("tutorials", link))
    if path.endswith(".md"):
        path = path.removesuffix(".md").removesuffix("index") + "/"
    return SITE + path.replace("//", "/")


if __name__ == "__main__":
    main()
