"""The graphs of a run, as data: of each line that calls backward, the graph of its first call.

And that of the first call that was refused: of a second backward, for one.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from wengert.autograd.engine import Walk
from wengert.core.storage import line_of
from wengert.graph.description import GraphReport, describe

_LINES = 6
_NODES = 10_000


@dataclass(frozen=True, slots=True)
class Capture:
    """The graph that a backward call was about to go through.

    Attributes:
        where: ``file:line`` of the call.
        text: that line.
        what: ``"backward()"`` or ``"grad()"``.
        call: which of the run's backward calls it was, from 1.
        nodes: how many nodes it was to pass, leaves among them.
        graph: the graph before anything of it was released; None if it was too large.
        refused: whether the call raised before it changed anything: a part of its graph was
            released before, or a saved value overwritten.
    """

    where: str
    text: str
    what: str
    call: int
    nodes: int
    graph: GraphReport | None
    refused: bool = False


class Captures:
    """Describes the first graph of each line, of so many lines, if it has not too many nodes."""

    def __init__(self, lines: int = _LINES, nodes: int = _NODES) -> None:
        self.found: list[Capture] = []
        self._lines, self._nodes = lines, nodes
        self._known: set[tuple[str, int]] = set()
        self._calls = 0

    def before(self, walk: Walk) -> None:
        """Look at a walk that is about to begin."""
        self._calls += 1
        if len(self._known) == self._lines:
            return
        line = _line(walk)
        if line not in self._known:
            self._known.add(line)
            self._add(walk, line, self._calls)

    def refused(self, walk: Walk) -> None:
        """Look at a walk that will not begin."""
        if walk.roots and not any(capture.refused for capture in self.found):
            self._add(walk, _line(walk), self._calls + 1, refused=True)

    def _add(self, walk: Walk, line: tuple[str, int], call: int, refused: bool = False) -> None:
        few = walk.nodes <= self._nodes
        self.found.append(
            Capture(
                where=f"{line[0]}:{line[1]}",
                text=linecache.getline(*line).strip(),
                what=walk.call.what,
                call=call,
                nodes=walk.nodes,
                graph=describe(*walk.roots) if few else None,
                refused=refused,
            )
        )


def _line(walk: Walk) -> tuple[str, int]:
    _, code, lasti = walk.call
    return code.co_filename, line_of(code, lasti)
