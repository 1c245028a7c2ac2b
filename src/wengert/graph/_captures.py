"""The graphs of a run, as data: of each line that calls backward, the graph of its first call."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

from wengert._storage import line_of
from wengert.autograd._engine import Walk
from wengert.graph._describe import GraphReport, describe

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
    """

    where: str
    text: str
    what: str
    call: int
    nodes: int
    graph: GraphReport | None


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
        if len(self.found) == self._lines:
            return
        what, code, lasti = walk.call
        line = code.co_filename, line_of(code, lasti)
        if line in self._known:
            return
        self._known.add(line)
        few = walk.nodes <= self._nodes
        self.found.append(
            Capture(
                where=f"{line[0]}:{line[1]}",
                text=linecache.getline(*line).strip(),
                what=what,
                call=self._calls,
                nodes=walk.nodes,
                graph=describe(*walk.roots) if few else None,
            )
        )
