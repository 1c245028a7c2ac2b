"""What ranks noted, put together: who computed, who waited for whom, what was hidden.

Spans are arrays of shape (n, 2): begin and end, on the clock that the ranks share.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from wengert.cli._data import Ending

STARTING = ("init_process_group", "new_group")  # collectives that come before the work
PHASES = ("forward", "backward", "optimizer")
_INSIDE = {"forward": ("backward",), "optimizer": ("forward", "backward")}


def union(spans: np.ndarray) -> np.ndarray:
    """The same stretches of time, without overlaps, in order."""
    if not len(spans):
        return spans.reshape(0, 2)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    ends = np.maximum.accumulate(spans[:, 1])
    first = np.concatenate([[True], spans[1:, 0] > ends[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([spans[first, 0], ends[last]], 1)


def intersection(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The time in both of two unions."""
    return _where(a, b, lambda in_a, in_b: in_a & in_b)


def without(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The time in one union and not in another."""
    return _where(a, b, lambda in_a, in_b: in_a & ~in_b)


def _where(a: np.ndarray, b: np.ndarray, chosen: Any) -> np.ndarray:
    edges = np.unique(np.concatenate([a.ravel(), b.ravel()]))
    pieces = np.stack([edges[:-1], edges[1:]], 1) if len(edges) else edges.reshape(0, 2)
    middles = pieces.mean(1)
    return union(pieces[chosen(_inside(middles, a), _inside(middles, b))])


def _inside(times: np.ndarray, spans: np.ndarray) -> np.ndarray:
    return np.searchsorted(spans.ravel(), times) % 2 == 1


def covered(spans: np.ndarray, by: np.ndarray) -> np.ndarray:
    """How many seconds of each span are in a union."""
    if not len(by):
        return np.zeros(len(spans))
    lengths = np.concatenate([[0.0], np.cumsum(by[:, 1] - by[:, 0])])
    edges = by.ravel()
    known = np.repeat(lengths, 2)[1:-1]
    reached = np.interp(spans, edges, known)
    return np.asarray(reached[:, 1] - reached[:, 0])


def total(spans: np.ndarray) -> float:
    """The seconds of a union."""
    return float((spans[:, 1] - spans[:, 0]).sum())


def _spans(rows: Iterable[Sequence[float]]) -> np.ndarray:
    return np.array(list(rows), float).reshape(-1, 2)


@dataclass
class RankTimes:
    """What one rank noted.

    Attributes:
        rank: which one.
        began: when its script began.
        ended: when it ended, or when it last wrote.
        ending: how it ended; ``"running"`` of a rank that was killed.
        complete: whether all was noted.
        phases: when it was in calls of modules, in backward calls and in steps of optimizers.
        blocked: when its script waited for an exchange.
        exchanges: its exchanges: index into `calls`, number, begin, end, bytes sent.
        calls: name, place and group of exchanges.
        late: until when each exchange waited for another rank to enter.
    """

    rank: int
    began: float
    ended: float
    ending: Ending
    complete: bool
    phases: dict[str, np.ndarray]
    blocked: np.ndarray
    exchanges: np.ndarray
    calls: list[tuple[str, str, str]]
    late: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def read(cls, path: Path) -> RankTimes:
        """Read what a rank wrote."""
        data = json.loads(path.read_text())
        spans = data["spans"]
        exchanges = np.array(data["exchanges"], float).reshape(-1, 5)
        return cls(
            data["rank"], data["began"], data["ended"], Ending(**data["ending"]),
            data["complete"], {phase: union(_spans(spans[phase])) for phase in PHASES},
            union(_spans(spans["waiting"])), exchanges, [tuple(call) for call in data["calls"]],
        )  # fmt: skip

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.ended - self.began

    @cached_property
    def waits(self) -> np.ndarray:
        """When an exchange waited for other ranks to enter it."""
        return union(np.stack([self.exchanges[:, 2], self.late], 1))

    @cached_property
    def transfers(self) -> np.ndarray:
        """When an exchange went on, with all ranks in it."""
        return union(np.stack([self.late, self.exchanges[:, 3]], 1))

    @cached_property
    def waiting(self) -> np.ndarray:
        """When the script waited for another rank."""
        return without(intersection(self.blocked, self.waits), self.transfers)

    @cached_property
    def communication(self) -> np.ndarray:
        """When the script waited for an exchange that went on."""
        return without(self.blocked, self.waiting)

    def phase(self, name: str) -> np.ndarray:
        """When it was in a phase and computed.

        A forward within a backward is part of that, a step's closure is no part of the step.
        """
        spans = without(self.phases[name], self.blocked)
        for other in _INSIDE.get(name, ()):
            spans = without(spans, self.phases[other])
        return spans

    @cached_property
    def hiding(self) -> np.ndarray:
        """When a backward went on."""
        return self.phase("backward")

    @property
    def hidden(self) -> float:
        """Seconds of exchange behind a backward that went on."""
        return float(covered(self.transfers, self.hiding).sum())

    def figures(self) -> dict[str, float]:
        """The seconds of each kind; they add up to those of the script."""
        seconds = {name: total(self.phase(name)) for name in PHASES}
        seconds["communication"] = total(self.communication)
        seconds["waiting"] = total(self.waiting)
        seconds["other"] = max(0.0, self.seconds - sum(seconds.values()))
        return seconds


@dataclass
class ExchangeRow:
    """The exchanges of one name at one line, over all ranks.

    Attributes:
        name: such as ``"all_reduce"``.
        where: ``file:line``.
        calls: how many the ranks made.
        sent: bytes that all ranks sent.
        seconds: of exchange, on the average rank.
        waited: seconds of waiting for others to enter, on the average rank.
        hidden: seconds of exchange behind a backward that went on, on the average rank.
    """

    name: str
    where: str
    calls: int = 0
    sent: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    hidden: float = 0.0


class RunTimes:
    """All ranks of a run.

    Attributes:
        ranks: what each noted.
        held_up: seconds that the others waited for each rank, all of them together, by rank.
    """

    def __init__(self, ranks: Sequence[RankTimes]) -> None:
        self.ranks = sorted(ranks, key=lambda rank: rank.rank)
        self.held_up = {rank.rank: 0.0 for rank in self.ranks}
        self._find_late()

    @classmethod
    def read(cls, folder: str, attempt: int) -> RunTimes:
        """Read what the ranks of an attempt wrote."""
        files = sorted(Path(folder).glob(f"{attempt}-*.json"))
        return cls([RankTimes.read(file) for file in files])

    def _find_late(self) -> None:
        """Find until when each collective waited, and for whom.

        A group's last one in which a rank is missing failed, because that rank never came.
        """
        entries: dict[tuple[str, int], list[tuple[float, int, int]]] = {}
        members: dict[str, set[int]] = {}
        numbers: dict[str, int] = {}
        for i, rank in enumerate(self.ranks):
            rank.late = rank.exchanges[:, 2].copy()
            groups = [group for _, _, group in rank.calls]
            for k, (call, number, begin, _, _) in enumerate(rank.exchanges.tolist()):
                if number < 0:
                    continue
                group = groups[int(call)]
                entries.setdefault((group, int(number)), []).append((begin, i, k))
                members.setdefault(group, set()).add(i)
                numbers[group] = max(numbers.get(group, 0), int(number))
        for (group, number), entered in entries.items():
            last, slow, _ = max(entered)
            missing = members[group] - {i for _, i, _ in entered}
            if missing and number == numbers[group]:
                last, slow = np.inf, min(missing)
            for begin, i, k in entered:
                rank = self.ranks[i]
                rank.late[k] = min(last, rank.exchanges[k, 3])
                if rank.calls[int(rank.exchanges[k, 0])][0] not in STARTING:
                    self.held_up[self.ranks[slow].rank] += float(rank.late[k] - begin)

    @property
    def begin(self) -> float:
        """When the first rank began."""
        return min(rank.began for rank in self.ranks)

    @property
    def end(self) -> float:
        """When the last rank ended."""
        return max(rank.ended for rank in self.ranks)

    def hidden(self) -> float | None:
        """The share of exchange that was hidden behind backwards; None if there was none."""
        seconds = sum(total(rank.transfers) for rank in self.ranks)
        return sum(rank.hidden for rank in self.ranks) / seconds if seconds else None

    def slowest(self) -> int | None:
        """The rank that the others waited for the most; None if nobody waited."""
        rank = max(self.held_up, key=lambda rank: self.held_up[rank])
        return rank if self.held_up[rank] else None

    def rows(self) -> list[ExchangeRow]:
        """The exchanges by name and line, those with the most bytes first."""
        rows: dict[tuple[str, str], ExchangeRow] = {}
        for rank in self.ranks:
            index = rank.exchanges[:, 0].astype(int)
            transfers = np.stack([rank.late, rank.exchanges[:, 3]], 1)
            waited = rank.late - rank.exchanges[:, 2]
            hidden = covered(transfers, rank.hiding)
            share = 1 / len(self.ranks)
            for k, (name, where, _) in enumerate(rank.calls):
                row, own = rows.setdefault((name, where), ExchangeRow(name, where)), index == k
                row.calls += int(own.sum())
                row.sent += int(rank.exchanges[own, 4].sum())
                row.seconds += share * float((transfers[own, 1] - transfers[own, 0]).sum())
                row.waited += share * float(waited[own].sum())
                row.hidden += share * float(hidden[own].sum())
        return sorted(rows.values(), key=lambda row: (-row.sent, -row.seconds))

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "hidden": self.hidden(),
            "slowest": self.slowest(),
            "ranks": [
                {
                    "rank": rank.rank, "seconds": rank.seconds, "ending": rank.ending.kind,
                    "complete": rank.complete, "held_up": self.held_up[rank.rank],
                    **rank.figures(), "hidden": rank.hidden,
                }
                for rank in self.ranks
            ],
            "collectives": [vars(row) for row in self.rows()],
        }  # fmt: skip
