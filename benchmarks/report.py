"""The last results as tables in Markdown.

    python benchmarks/report.py            # print them
    python benchmarks/report.py --write    # put them into docs/performance.md

Writing replaces what this machine had in docs/performance.md and its line in README.md, and draws
docs/pictures/speed.svg. What the page has of scripts that have not run again stays, with its date.

`make bench` measures anew.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from _chart import bars
from sweeps.reasons import reason

FOLDER = Path(__file__).resolve().parent
README = FOLDER.parent / "README.md"
PAGE = FOLDER.parent / "docs" / "performance.md"
CHART = FOLDER.parent / "docs" / "pictures" / "speed.svg"
SCRIPTS = (
    "compare", "sweep", "overhead", "examples", "inference", "bfloat16", "transforms", "checkpoint",
    "graph",
)  # fmt: skip
# Rows of sweep.py in the report, and what it says of each.
WORST, COLUMNS = 50, ("wengert", "torch", "ratio")
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


def number(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def table(result: dict[str, Any]) -> str:
    """One result file as a table, of the columns that have any number."""
    rows = result["rows"]
    heads = {"wengert": "wengert", "torch": "torch", "onnxruntime": "ONNX Runtime",
             "ratio": "wengert / torch", "onnxruntime_ratio": "wengert / ONNX Runtime"}  # fmt: skip
    heads = {c: head for c, head in heads.items() if any(row.get(c) is not None for row in rows)}
    lines = [
        [f"{row['name']} ({row['unit']})", *(number(row.get(c)) for c in heads)] for row in rows
    ]
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
    "gradients": "Gradients without a step, and many small operations",
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
        [f"{row['name']}, {row['part']}, 1e{row['exponent']}", *(number(row[c]) for c in COLUMNS),
         reason(row["name"], row["exponent"])]
        for row in worst
    ]  # fmt: skip
    return "\n\n".join([
        "Functions and layers, wengert / torch:",
        markdown(["", "rows", "geometric mean", "above 1", "above 2", "above 5"], counts),
        f"The {len(lines)} rows with the largest ratios (us):",
        markdown(["", "wengert", "torch", "wengert / torch", "why"], lines),
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


# What each script's tables are about.
SECTIONS = {
    "compare": "Against torch, torch.compile and jax.jit",
    "sweep": "Every function",
    "overhead": "Overhead",
    "examples": "The examples",
    "inference": "Inference",
    "bfloat16": "Under autocast to bfloat16",
    "transforms": "Hooks and transforms",
    "checkpoint": "Checkpoints",
    "graph": "The graph tools",
}


def results() -> dict[str, dict[str, Any]]:
    """What the scripts saved last, by script."""
    paths = {name: FOLDER / "results" / f"{name}.json" for name in SCRIPTS}
    found = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    if not found:
        sys.exit(f"{FOLDER / 'results'} has no results: run make bench first")
    return found


def section(found: dict[str, dict[str, Any]], page: str = "") -> str:
    """All results of a machine, under its name; those that are not new as the page has them."""
    processor, versions = split_machine(next(iter(found.values()))["machine"])
    head = f"## {processor}"
    before = re.split(r"^### ", section_of(page, head), flags=re.MULTILINE)[1:]
    kept = {part.partition("\n")[0]: part.rstrip() for part in before}
    parts = [head, f"{versions}."]
    for name in SCRIPTS:
        title = SECTIONS[name]
        if name in found:
            result = found[name]
            text = {"compare": comparison, "sweep": sweep}.get(name, table)(result)
            parts += [f"### {title}", f"`benchmarks/{name}.py`, {result['date']}:", text]
        elif title in kept:
            parts.append(f"### {kept[title]}")
    return "\n\n".join(parts)


def section_of(page: str, head: str) -> str:
    """What a page has of a machine."""
    found = re.search(rf"^{re.escape(head)}$.*?(?=^## |^{END}|\Z)", page, re.MULTILINE | re.DOTALL)
    return found[0] if found else ""


def split_machine(machine: str) -> tuple[str, str]:
    """The processor with its cores, and the versions of what ran on it."""
    processor, python, versions = machine.partition("Python ")
    return processor.rstrip(", "), python + versions


def summary_line(found: dict[str, dict[str, Any]]) -> str:
    """A machine's line of the README: geometric means of wengert / torch."""
    means = found["compare"]["means"]
    overhead = [row["ratio"] for row in found["overhead"]["rows"] if "us/" in row["unit"]]
    ratios = [
        *(means[kind]["torch"] for kind in ("training", "optimizers", "kernels")),
        geometric_mean(overhead),
        means["memory"]["torch"],
    ]
    cells = [split_machine(found["compare"]["machine"])[0], *map(number, ratios)]
    return f"| {' | '.join(cells)} |"


def with_section(page: str, text: str) -> str:
    """A page whose section of the same machine is this one; it comes last if there is none."""
    before, _, rest = page.partition(f"{BEGIN}\n")
    inside, _, after = rest.partition(END)
    sections = [s.rstrip() for s in re.split(r"^(?=## )", inside, flags=re.MULTILINE) if s.strip()]
    heads = [s.partition("\n")[0] for s in sections]
    head = text.partition("\n")[0]
    if head in heads:
        sections[heads.index(head)] = text
    else:
        sections.append(text)
    return f"{before}{BEGIN}\n" + "\n\n".join(sections) + f"\n{END}{after}"


def with_line(page: str, line: str) -> str:
    """A page whose table has this line for its machine; it comes last if there is none."""
    before, _, rest = page.partition(f"{BEGIN}\n")
    inside, _, after = rest.partition(END)
    lines = inside.rstrip().splitlines()
    key = line.split("|")[1]
    others = [
        n for n, other in enumerate(lines) if other.startswith("|") and other.split("|")[1] == key
    ]
    if others:
        lines[others[0]] = line
    else:
        lines.append(line)
    return f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}"


def chart(found: dict[str, dict[str, Any]]) -> str:
    """The training steps of compare.py as bars."""
    rows = [row for row in found["compare"]["rows"] if row["kind"] == "training"]
    ratios = {row["name"]: row["ratios"]["torch"] for row in rows}
    processor, _ = split_machine(found["compare"]["machine"])
    return bars(ratios, f"Time of a training step, PyTorch = 1 ({processor})")


def main() -> None:
    """Print the tables or write them into the documentation."""
    found = results()
    if "--write" not in sys.argv[1:]:
        print(section(found))
        return
    page = PAGE.read_text()
    PAGE.write_text(with_section(page, section(found, page)))
    if {"compare", "overhead"} <= found.keys():  # the summary is of both
        README.write_text(with_line(README.read_text(), summary_line(found)))
        CHART.write_text(chart(found))


if __name__ == "__main__":
    main()
