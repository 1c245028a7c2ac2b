"""What a profile found, as plain data: bytes over time, the calls, the peak and what made it up."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wengert.graph.formatting import format_bytes, format_memory, shorten_path, text_table

HELD, DROPPED = "still held", "dropped"
OTHERS = "(others)"
_ROWS = 20


@dataclass(frozen=True, slots=True)
class Band:
    """The bytes of one line, or of one module, over time.

    Attributes:
        name: ``file:line``, or the path of a module; ``"(others)"`` for all that have no band.
        text: the text of the line.
        values: bytes at each of the timeline's `times`.
        at_peak: bytes at the peak.
    """

    name: str
    text: str
    values: tuple[int, ...]
    at_peak: int


@dataclass(frozen=True, slots=True)
class BackwardCall:
    """A backward or grad call.

    Attributes:
        what: ``"backward()"`` or ``"grad()"``.
        where: ``file:line``.
        text: that line.
        begin, end: seconds since the start; `end` is that of the profile for a call that had not
            ended.
        nodes: how many nodes it was to pass, leaves among them.
        before, after: bytes that graphs held when it began and when it had ended.
        released: bytes that it released.
        retains: whether it was told to keep the graph.
        raised: whether it ended with an exception.
    """

    what: str
    where: str
    text: str
    begin: float
    end: float
    nodes: int
    before: int
    after: int
    released: int
    retains: bool
    raised: bool


@dataclass(frozen=True, slots=True)
class Holding:
    """A node that held memory at the peak, or at the end.

    Attributes:
        op: the operation, as it was called.
        where: ``file:line``.
        text: that line.
        module: the module inside of which it ran, or nothing.
        nbytes: bytes of the storages that no older node held.
        since: seconds from the start of the profile to when it was recorded.
        released: the index of the call that released it; None for none.
        until: ``file:line`` of that call, ``"dropped"`` or ``"still held"``.
    """

    op: str
    where: str
    text: str
    module: str
    nbytes: int
    since: float
    released: int | None
    until: str


@dataclass(frozen=True, slots=True)
class Share:
    """The holdings of one line, or of one module: how many, and their bytes."""

    name: str
    text: str
    nodes: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Peak:
    """When graphs held the most.

    Attributes:
        nbytes: bytes, each storage once, leaves apart.
        leaf_bytes: bytes of leaves (parameters, mostly) that were saved then.
        seconds: when, from the start of the profile.
        call: the index of the call during or before which it was; None after the last.
        during: whether it was during that call.
        nodes: what held them, the most bytes first.
    """

    nbytes: int
    leaf_bytes: int
    seconds: float
    call: int | None
    during: bool
    nodes: tuple[Holding, ...]

    def by_line(self) -> list[Share]:
        """The peak by lines of code, the most bytes first."""
        return shares((n.where, n.text, n) for n in self.nodes)

    def by_module(self) -> list[Share]:
        """The peak by modules, the most bytes first."""
        return shares((n.module or "(no module)", "", n) for n in self.nodes)


@dataclass(frozen=True, slots=True)
class TimelineData:
    """What a `Timeline` knows and says in text."""

    seconds: float
    times: tuple[float, ...]
    total: tuple[int, ...]
    lines: tuple[Band, ...]
    modules: tuple[Band, ...]
    calls: tuple[BackwardCall, ...]
    peak: Peak
    left: tuple[Holding, ...]
    ended: str

    @property
    def left_bytes(self) -> int:
        """Bytes held at the end."""
        return sum(node.nbytes for node in self.left)

    @property
    def telling(self) -> str:
        """``"line"``, or ``"module"`` where one line holds nearly all and modules tell more."""
        line, module = (max((b.at_peak for b in g), default=0) for g in (self.lines, self.modules))
        return "module" if line > 0.85 * self.peak.nbytes and module < 0.85 * line else "line"

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)

    def to_json(self, **options: Any) -> str:
        """`to_dict` as JSON; the options are those of ``json.dumps``."""
        return json.dumps(self.to_dict(), **options)

    def table(self, by: str = "line", rows: int = _ROWS) -> str:
        """What made up the peak, by ``"line"``, ``"module"`` or ``"node"``.

        Raises ValueError for another `by`.
        """
        if by == "node":
            head, cells = ["bytes", "share", "op", "module", "until", "line"], self._by_node()
        elif by in ("line", "module"):
            head = ["bytes", "share", "nodes", by]
            cells = self._by_share(self.peak.by_line() if by == "line" else self.peak.by_module())
        else:
            raise ValueError(f"by must be 'line', 'module' or 'node', and is {by!r}")
        more = f"\n... and {len(cells) - rows:,} more" if len(cells) > rows else ""
        return text_table(head, cells[:rows], {0, 1} | ({2} if by != "node" else set())) + more

    def _by_node(self) -> list[list[str]]:
        return [
            [
                format_bytes(n.nbytes), self.share(n.nbytes), n.op, n.module,
                shorten_path(n.until), f"{shorten_path(n.where)}  {n.text}".rstrip(),
            ]
            for n in self.peak.nodes
        ]  # fmt: skip

    def _by_share(self, groups: list[Share]) -> list[list[str]]:
        return [
            [
                format_bytes(s.nbytes), self.share(s.nbytes), f"{s.nodes:,}",
                f"{shorten_path(s.name)}  {s.text}".rstrip(),
            ]
            for s in groups
        ]  # fmt: skip

    def share(self, nbytes: int) -> str:
        """Bytes as a part of the peak, in per cent."""
        return f"{nbytes / self.peak.nbytes:.0%}" if self.peak.nbytes else "0%"

    def summary(self) -> str:
        """The peak in a sentence, and what is left."""
        peak, count = self.peak, len(self.calls)
        text = f"graphs held at most {format_memory(peak.nbytes, peak.leaf_bytes)}"
        if peak.call is not None:
            call = self.calls[peak.call]
            when = "during" if peak.during else "before"
            text += f", {when} {call.what} at {shorten_path(call.where)}"
            text += f", call {peak.call + 1:,} of {count:,}"
        elif count:
            text += f", after the last of {count:,} calls"
        return f"{text}; {format_bytes(self.left_bytes)} at the end"

    def __str__(self) -> str:
        ended = f"\nrecording ended early: {self.ended}" if self.ended else ""
        if not self.peak.nodes:
            return self.summary() + ended
        return f"{self.summary()}\n{self.table()}{ended}"

    __repr__ = __str__  # an interactive session shows it as it prints


def shares(holdings: Iterable[tuple[str, str, Holding]]) -> list[Share]:
    """Holdings by name and text, the most bytes first."""
    groups: dict[tuple[str, str], list[Holding]] = {}
    for name, text, holding in holdings:
        groups.setdefault((name, text), []).append(holding)
    ranked = [
        Share(name, text, len(held), sum(h.nbytes for h in held))
        for (name, text), held in groups.items()
    ]
    return sorted(ranked, key=lambda share: share.nbytes, reverse=True)
