"""Texts of a drawing, and how wide they become: no font is asked, so estimates from above."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

_NARROW, _WIDE = set("iljtfrI.,:;|!'`()[]{} /\\-"), set("mwMW@%")


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """About how many pixels a text takes in a sans-serif font; rather more than less."""
    return size * sum(map(_em, text))


def _em(char: str) -> float:
    if char in _NARROW:
        return 0.4
    if char in _WIDE or unicodedata.east_asian_width(char) in "WF":
        return 1.0
    return 0.72 if char.isupper() else 0.63


@lru_cache(maxsize=4096)
def fit(text: str, size: float, width: float) -> str:
    """The text, or as much of its beginning as is about so wide, and three dots."""
    text = printable(text)
    if text_width(text, size) <= width:
        return text
    dots = "\N{HORIZONTAL ELLIPSIS}"
    widths = accumulate(map(_em, text), initial=_em(dots))
    room = sum(size * w <= width for w in widths) - 1
    return text[: max(room, 0)].rstrip() + dots


def printable(text: str) -> str:
    """The text without control characters, which XML does not have."""
    return "".join(
        char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


def escape(text: str) -> str:
    """The text as it stands in XML."""
    return html.escape(printable(text))


def shape_text(shape: Sequence[int]) -> str:
    """A shape as edges carry it."""
    return " \N{MULTIPLICATION SIGN} ".join(map(str, shape)) if shape else "scalar"
