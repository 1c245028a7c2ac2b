"""Ratios as a bar chart in SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

WIDTH, NAMES, ROW, TOP = 860, 430, 26, 62
FASTER, SLOWER, TEXT, FAINT = "#2a9d8f", "#d1495b", "#22303c", "#8a97a3"


def bars(ratios: dict[str, float], title: str) -> str:
    """A bar for each ratio, and a line at 1; longer is slower."""
    height = TOP + ROW * len(ratios) + 16
    largest = max(1.0, *ratios.values())
    scale = (WIDTH - NAMES - 60) / largest
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
            f' width="{WIDTH}" height="{height}" role="img" aria-label="{escape(title)}"'
            ' font-family="system-ui, sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff"/>',
            f'<text x="20" y="28" font-size="15" font-weight="600" fill="{TEXT}">'
            f"{escape(title)}</text>",
            *_axis(largest, scale, height),
            *_bars(ratios, scale),
            "</svg>\n",
        ]
    )


def _axis(largest: float, scale: float, height: int) -> Iterator[str]:
    for half in range(math.floor(largest * 2) + 1):
        x, colour = NAMES + scale * half / 2, TEXT if half == 2 else "#dfe4e8"
        yield (
            f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP - 8}" y2="{height - 12}" stroke="{colour}"/>'
        )
        yield (
            f'<text x="{x:.0f}" y="{TOP - 14}" text-anchor="middle" font-size="11"'
            f' fill="{FAINT}">{half / 2:g}</text>'
        )


def _bars(ratios: dict[str, float], scale: float) -> Iterator[str]:
    for row, (name, ratio) in enumerate(ratios.items()):
        y, width = TOP + ROW * row, scale * ratio
        colour = FASTER if ratio <= 1 else SLOWER
        yield (
            f'<text x="{NAMES - 12}" y="{y + 16}" text-anchor="end" fill="{TEXT}">'
            f"{escape(name)}</text>"
        )
        yield (
            f'<rect x="{NAMES}" y="{y + 3}" width="{width:.0f}" height="18" rx="3"'
            f' fill="{colour}"/>'
        )
        yield (
            f'<text x="{NAMES + width + 7:.0f}" y="{y + 16}" font-weight="600" fill="{TEXT}">'
            f"{ratio:.2f}</text>"
        )
