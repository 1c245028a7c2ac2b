"""Lines of code: how they are called, which of them the page shows, and links to those."""

from __future__ import annotations

import linecache
import os
from dataclasses import dataclass
from html import escape

from wengert.graph.formatting import shorten_path
from wengert.graph.hotness import is_users

_FILES = 30
_LINES = 5000


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the user's: its path and its lines."""

    path: str
    lines: tuple[str, ...]


class SourceLinks:
    """The files that a page shows, those that are named first first; links into them.

    Files in the folder of the script are shown, and no others: a page is passed around.
    """

    def __init__(self, folder: str, locations: list[str]) -> None:
        self.sources: list[SourceFile] = []
        self._index: dict[str, int] = {}
        self._inside = inside = os.path.join(os.path.realpath(folder), "")
        for path in dict.fromkeys(where.rpartition(":")[0] for where in locations):
            lines = linecache.getlines(path)
            ours = is_users(path) and os.path.realpath(path).startswith(inside)
            if ours and lines and len(self.sources) < _FILES:
                self._index[path] = len(self.sources)
                self.sources.append(SourceFile(path, tuple(lines[:_LINES])))

    def link(self, where: str) -> str:
        """``file:line`` as HTML: a link to the line, if the page shows it."""
        label = escape(self.name(where))
        name = f'<span class="where">{label}</span>'
        path, _, line = where.rpartition(":")
        if path not in self._index or not line.isdigit():
            return name
        source = self._index[path]
        if int(line) > len(self.sources[source].lines):
            return name
        return f'<a class="where" href="#{anchor(source, int(line))}">{label}</a>'

    def name(self, where: str) -> str:
        """A file, or ``file:line``, relative to the folder of the script."""
        return shorten_path(os.path.normpath(where).removeprefix(self._inside))


def anchor(source: int, line: int) -> str:
    """The id of a line on the page."""
    return f"source-{source}-{line}"
