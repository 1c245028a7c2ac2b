"""The last results as a table in Markdown.

    python benchmarks/report.py            # print it
    python benchmarks/report.py --write    # put it into README.md, between its markers

`make bench` measures anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
README = FOLDER.parent / "README.md"
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def number(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def table(result: dict[str, Any]) -> str:
    """One result file as a table."""
    lines = [
        "| | wengert | torch | wengert / torch |",
        "|---|---:|---:|---:|",
    ]
    for row in result["rows"]:
        cells = [f"{row['name']} ({row['unit']})", number(row["wengert"]), number(row["torch"]),
                 number(row["ratio"])]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def report() -> str:
    """All results, with the machine that they come from."""
    parts: list[str] = []
    for name in ("overhead", "steps", "examples", "transforms", "checkpoint"):
        path = FOLDER / "results" / f"{name}.json"
        if not path.exists():
            sys.exit(f"{path} does not exist: run make bench first")
        result = json.loads(path.read_text())
        parts.append(f"`benchmarks/{name}.py` on {result['machine']}:\n\n{table(result)}")
    return "\n\n".join(parts)


def main() -> None:
    """Print the report or write it into the README."""
    text = report()
    if "--write" not in sys.argv[1:]:
        print(text)
        return
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
