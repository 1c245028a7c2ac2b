"""Bytes, places and tables for people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

_SCALES = (("k", 1e3), ("M", 1e6), ("G", 1e9))


def format_bytes(count: float) -> str:
    """Bytes for people: ``"12 B"``, ``"3.4 MB"``."""
    return _scaled(count, "B", _SCALES)


def format_flops(count: float) -> str:
    """Floating-point operations for people: ``"12 FLOP"``, ``"3.4 GFLOP"``."""
    return _scaled(count, "FLOP", (*_SCALES, ("T", 1e12)))


def _scaled(count: float, unit: str, scales: Sequence[tuple[str, float]]) -> str:
    if count < 1000:
        return f"{count:.0f} {unit}"
    prefix, scale = next((s for s in scales if count < 999.95 * s[1]), scales[-1])
    return f"{count / scale:.1f} {prefix}{unit}"


def format_memory(nbytes: float, leaf_bytes: float) -> str:
    """Bytes that graphs keep, and those of leaves: ``"3.4 MB (and 12 B of leaves)"``."""
    return format_bytes(nbytes) + (
        f" (and {format_bytes(leaf_bytes)} of leaves)" if leaf_bytes else ""
    )


def format_seconds(seconds: float) -> str:
    """Seconds for people: ``"1.25 s"``, ``"3.4 ms"``."""
    if seconds >= 1 or not seconds:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} us"


def format_count(count: int, name: str) -> str:
    """How many of something, by the name of one: ``"1 leaf"``, ``"1,200 operations"``."""
    plural = "leaves" if name == "leaf" else f"{name}s"
    return f"{count:,} {name if count == 1 else plural}"


def shorten_path(where: str) -> str:
    """Text with ``file:line`` in it, relative to the current folder if the file lies inside."""
    return where.replace(os.path.join(os.getcwd(), ""), "", 1)


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> str:
    """Columns in plain text; those in `numbers` end at the same place."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]

    def joined(line: list[str]) -> str:
        cells = [
            cell.rjust(width) if k in numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(map(joined, lines))
