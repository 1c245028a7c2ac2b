"""The last results as a table in Markdown.

    python benchmarks/report.py            # print it
    python benchmarks/report.py --write    # put it into README.md, between its markers

`make bench` measures anew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import Any

FOLDER = Path(__file__).resolve().parent
README = FOLDER.parent / "README.md"
SCRIPTS = ("compare", "sweep", "overhead", "examples", "transforms", "checkpoint", "graph")
# Rows of sweep.py in the report, and what it says of each.
WORST, COLUMNS = 20, ("wengert", "torch", "ratio")
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def number(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def table(result: dict[str, Any]) -> str:
    """One result file as a table, of the columns that have any number."""
    rows = result["rows"]
    heads = {"wengert": "wengert", "torch": "torch", "ratio": "wengert / torch"}
    heads = {c: head for c, head in heads.items() if any(row[c] is not None for row in rows)}
    lines = [[f"{row['name']} ({row['unit']})", *(number(row[c]) for c in heads)] for row in rows]
    return markdown(["", *heads.values()], lines)


NAMES = {
    "wengert": "wengert",
    "compiled": "wengert, compiled",
    "torch": "torch",
    "compile": "torch.compile",
    "jax": "jax.jit",
}
# Kinds of compare.py's rows.
TITLES = {
    "training": "Training steps",
    "optimizers": "Optimizers",
    "kernels": "Convolutions and matrix products",
    "memory": "Memory",
    "cold": "The first step of a process",
}


def comparison(result: dict[str, Any]) -> str:
    """The results of compare.py: a table of each kind of row, the means first."""
    rows = result["rows"]
    parts = ["Geometric means of wengert's times as multiples of its peers':", means(result)]
    for kind, title in TITLES.items():
        found = [row for row in rows if row["kind"] == kind]
        if found:
            parts += [f"{title}:", against_peers(found)]
    operations = [row for row in rows if row["kind"] == "ops"]
    if operations:
        parts += ["Single operations by their number of elements, wengert / torch:",
                  by_size(operations)]  # fmt: skip
    return "\n\n".join(parts)


def means(result: dict[str, Any]) -> str:
    """A line for each kind of row."""
    peers = [peer for peer in NAMES if any(peer in found for found in result["means"].values())]
    lines = [[kind, *(number(found.get(peer)) for peer in peers)]
             for kind, found in result["means"].items()]  # fmt: skip
    return markdown(["", *(f"wengert / {NAMES[peer]}" for peer in peers)], lines)


def against_peers(rows: list[dict[str, Any]]) -> str:
    """Medians and ratios of all peers that have any; a dash where one has none."""
    peers = [peer for peer in NAMES if any(peer in row["medians"] for row in rows)]
    others = [peer for peer in peers if peer != "wengert"]
    lines = [
        [f"{row['name']} ({row['unit']})",
         *(number(row["medians"].get(peer)) or "-" for peer in peers),
         *(number(row["ratios"].get(peer)) or "-" for peer in others)]
        for row in rows
    ]  # fmt: skip
    heads = [*(NAMES[peer] for peer in peers), *(f"/ {NAMES[peer]}" for peer in others)]
    return markdown(["", *heads], lines)


def by_size(rows: list[dict[str, Any]]) -> str:
    """A line for each operation, a column for each size."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        name, _, size = row["name"].rpartition(", ")
        found.setdefault(name, {})[size] = number(row["ratios"].get("torch"))
    sizes = sorted({size for cells in found.values() for size in cells})
    lines = [[name, *(cells.get(size, "-") for size in sizes)] for name, cells in found.items()]
    return markdown(["", *sizes], lines)


def sweep(result: dict[str, Any]) -> str:
    """The results of sweep.py: how its rows are distributed, and those with the largest ratios."""
    rows = result["rows"]
    counts = []
    for exponent in sorted({row["exponent"] for row in rows}):
        for part in ("forward", "backward"):
            ratios = [r["ratio"] for r in rows if (r["exponent"], r["part"]) == (exponent, part)]
            if ratios:
                above = [sum(ratio > bound for ratio in ratios) for bound in (1, 2, 5)]
                counts.append([f"{part}, 1e{exponent} elements", str(len(ratios)),
                               number(geometric_mean(ratios)), *map(str, above)])  # fmt: skip
    worst = sorted(rows, key=lambda row: -row["ratio"])[:WORST]
    lines = [
        [f"{row['name']}, {row['part']}, 1e{row['exponent']}", *(number(row[c]) for c in COLUMNS)]
        for row in worst
    ]
    return "\n\n".join([
        "Functions and layers, wengert / torch:",
        markdown(["", "rows", "geometric mean", "above 1", "above 2", "above 5"], counts),
        f"The {len(lines)} rows with the largest ratios (us):",
        markdown(["", "wengert", "torch", "wengert / torch"], lines),
    ])  # fmt: skip


def markdown(heads: list[str], lines: list[list[str]]) -> str:
    """A table whose first column is text and whose others are numbers."""
    rule = ["---", *("---:" for _ in heads[1:])]
    return "\n".join(
        [
            f"| {' | '.join(heads)} |",
            f"|{'|'.join(rule)}|",
            *(f"| {' | '.join(c)} |" for c in lines),
        ]
    )


def report() -> str:
    """All results, with the machine that they come from."""
    parts: list[str] = []
    for name in SCRIPTS:
        path = FOLDER / "results" / f"{name}.json"
        if not path.exists():
            sys.exit(f"{path} does not exist: run make bench first")
        result = json.loads(path.read_text())
        text = {"compare": comparison, "sweep": sweep}.get(name, table)(result)
        parts.append(f"`benchmarks/{name}.py` on {result['machine']}:\n\n{text}")
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
