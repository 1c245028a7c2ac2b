"""Colours, where the reader is a terminal that has them."""

from __future__ import annotations

import os
from typing import TextIO

_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


class Palette:
    """Paints text for a stream; plain where that is no terminal, or NO_COLOR is set."""

    def __init__(self, stream: TextIO) -> None:
        self.enabled = _has_colours(stream)

    def __call__(self, text: str, colour: str) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.enabled else text


def _has_colours(stream: TextIO) -> bool:
    """As https://no-color.org and https://force-color.org have it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (ValueError, AttributeError):  # closed, or a stand-in
        return False
