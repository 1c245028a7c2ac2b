"""Draw the picture of docs/drawing.md from the page's own first block.

python tools/pictures.py             # write docs/drawing.svg
python tools/pictures.py --check     # fail where it is not up to date
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pages import BLOCK, output_of

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """Write or check the picture."""
    block = BLOCK.search((DOCS / "drawing.md").read_text())
    assert block is not None
    namespace: dict[str, Any] = {"__name__": "__main__"}
    output_of(block["code"], "train.py", namespace)
    picture, target = namespace["drawing"].svg(), DOCS / "drawing.svg"
    if "--check" not in sys.argv[1:]:
        target.write_text(picture)
    elif target.read_text() != picture:
        sys.exit("docs/drawing.svg is not up to date: python tools/pictures.py")


if __name__ == "__main__":
    main()
