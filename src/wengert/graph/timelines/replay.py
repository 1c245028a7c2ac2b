"""From the log of a recording to a timeline.

Nodes begin to hold at their own number. They cease to at the tick of their death, or between
the ticks at which the walk that released them began and ended, newest first. A storage counts
from the first node that holds it until the last, for the oldest of those that hold it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from wengert.core.storage import location_of, source_text
from wengert.graph.timelines.recording import GraphRecording, Passage
from wengert.graph.timelines.timeline import (
    DROPPED,
    HELD,
    OTHERS,
    BackwardCall,
    Band,
    Holding,
    Peak,
)

POINTS = 4000  # of a timeline; of more, the least and the most in each of half as many intervals
BANDS = 8
_NO_MODULE = "(no module)"

Array = np.ndarray
T = TypeVar("T")


@dataclass(slots=True)
class LogEntry:
    """A node that held storages: their ids and bytes."""

    number: int
    line: int
    module: int
    kind: int
    storages: dict[int, int]
    end: float = float("inf")
    call: int | None = None  # that released it


class SourceLines:
    """Lines of code by number."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, int], int] = {}
        self.lines: dict[tuple[str, str], int] = {}

    def number(self, code: CodeType, lasti: int) -> int:
        """The number of an instruction's line."""
        key = id(code), lasti
        if key not in self.known:
            self.known[key] = self.lines.setdefault(line(code, lasti), len(self.lines))
        return self.known[key]


def line(code: CodeType, lasti: int) -> tuple[str, str]:
    """``file:line`` of an instruction, and the text of that line."""
    return location_of(code, lasti), source_text(code, lasti)


class Replay:
    """The entries of a log, and what happened to them in the order in which it did."""

    def __init__(self, recording: GraphRecording) -> None:
        self.recording = recording
        self.source_lines = SourceLines()
        self.passages = list(recording.passages)
        self.entries = list({entry.number: entry for entry in self._entries()}.values())
        self._ends()
        clock = sorted(recording.times)
        self.ticks = np.array([t for t, _ in clock], np.float64)
        # Of two threads the one that was first at the clock may have been second at the time.
        self.moments = np.maximum.accumulate([s for _, s in clock]) - clock[0][1]
        self.last = self.ticks[-1]
        # What happened: an entry begins, or (below zero) ends; behind them, the same of leaves.
        count, leaves = len(self.entries), list(recording.leaves)
        begins = np.array([e.number for e in self.entries], np.float64)
        ends = np.array([e.end for e in self.entries], np.float64)
        ended = np.flatnonzero(np.isfinite(ends))
        owned = np.arange(count, count + len(leaves))
        at = np.concatenate([begins, ends[ended], [float(t) for t, _ in leaves]])
        what = np.concatenate([np.arange(count), ~ended, owned])
        order = np.argsort(at, kind="stable")
        # Nodes from before the start were there at the start.
        self.at = np.maximum(at[order], self.ticks[0])
        self.events: list[int] = what[order].tolist()
        self.leaves = [storage for _, storage in leaves]

    def _entries(self) -> Iterator[LogEntry]:
        for number, code, lasti, module, kind, *held in list(self.recording.log):
            storages = dict(zip(held[::2], held[1::2], strict=True))
            yield LogEntry(number, self.source_lines.number(code, lasti), module, kind, storages)

    def _ends(self) -> None:
        by_number = {entry.number: entry for entry in self.entries}
        for index, passage in enumerate(self.passages):
            passed = _moments_of(passage)
            for k, (number, at) in enumerate(passed.items()):
                entry = by_number.get(number)
                if entry is not None and number not in passage.unreleased:
                    entry.end, entry.call = at, index
                    if passage.late and passage.end is not None:
                        entry.end = passage.end - 1 + (k + 1) / (len(passed) + 1)
            for number, again in passage.brought:
                entry = by_number[again]
                entry.end = max(passed.get(number, passage.end or again), again)
                entry.call = index
        for at, number in list(self.recording.deaths):
            entry = by_number.get(number)
            if entry is not None and entry.end > at:
                entry.end = at

    def seconds(self, at: Any) -> Any:
        """When a tick was, or ticks, from the start of the recording."""
        return np.interp(at, self.ticks, self.moments)

    def run(self, visit: Callable[[int, HeldState], None]) -> HeldState:
        """Go through all events, counted from 1, and visit the state behind each."""
        state, count = HeldState(self.entries), len(self.entries)
        for k, event in enumerate(self.events, 1):
            if event < 0:
                state.end(~event)
            elif event < count:
                state.begin(event)
            else:
                state.own(self.leaves[event - count])
            visit(k, state)
        return state


def _moments_of(passage: Passage) -> dict[int, float]:
    """When a walk passed each of its nodes: evenly between the ticks at which it is known."""
    if passage.end is None:
        return {}
    moments: dict[int, float] = {}
    waiting = list(passage.passed)
    low = float(passage.begin)
    for high, oldest in [*passage.pins, (passage.end, -1)]:
        passed = next((k for k, n in enumerate(waiting) if n < oldest), len(waiting))
        for k, number in enumerate(waiting[:passed]):
            moments[number] = low + (high - low) * (k + 1) / (passed + 1)
        waiting, low = waiting[passed:], float(high)
    return moments


class HeldState:
    """What is held at one moment."""

    def __init__(self, entries: list[LogEntry]) -> None:
        self.entries = entries
        self.total = self.leaf_bytes = 0
        self.lines: Counter[int] = Counter()
        self.modules: Counter[int] = Counter()
        self.holders: dict[int, list[int]] = {}  # of each storage, the oldest first
        self.ended = bytearray(len(entries))
        self.first: dict[int, int] = {}  # where in `holders` all before are gone; 0 if not here
        self.sizes: dict[int, int] = {}
        self.owned: Counter[int] = Counter()  # storages of leaves, and of how many

    def begin(self, index: int) -> None:
        """An entry begins to hold its storages."""
        for storage, size in self.entries[index].storages.items():
            held = self.holders.get(storage)
            if held is None:
                self.holders[storage] = [index]
                self.sizes[storage] = size
                self._count(storage, size)
            else:
                held.append(index)

    def end(self, index: int) -> None:
        """An entry holds its storages no longer."""
        self.ended[index] = 1
        for storage in self.entries[index].storages:
            held, first = self.holders[storage], self.first.get(storage, 0)
            if held[first] != index:
                continue
            size = self.sizes[storage]
            self._count(storage, -size)
            while first < len(held) and self.ended[held[first]]:
                first += 1
            self.first[storage] = first
            if first < len(held):
                self._count(storage, size)
            else:
                del self.holders[storage], self.sizes[storage], self.first[storage]

    def _oldest(self, storage: int) -> int:
        """Of the entries that hold a storage, the one for which it counts."""
        return self.holders[storage][self.first.get(storage, 0)]

    def own(self, storage: int) -> None:
        """A storage is a leaf's from now on, or (below zero) is so no longer."""
        change = 1 if storage >= 0 else -1
        storage = max(storage, ~storage)
        size = self.sizes.get(storage, 0)
        if size:
            self._count(storage, -size)
        self.owned[storage] += change
        if not self.owned[storage]:
            del self.owned[storage]
        if size:
            self._count(storage, size)

    def _count(self, storage: int, size: int) -> None:
        if storage in self.owned:
            self.leaf_bytes += size
            return
        entry = self.entries[self._oldest(storage)]
        self.total += size
        self.lines[entry.line] += size
        self.modules[entry.module] += size

    def owners(self) -> Counter[int]:
        """For each entry, the bytes that count as its own."""
        sizes: Counter[int] = Counter()
        for storage, size in self.sizes.items():
            if storage not in self.owned:
                sizes[self._oldest(storage)] += size
        return sizes


def build_timeline(recording: GraphRecording, kind: Callable[..., T]) -> T:
    """What a recording amounts to so far, as a `TimelineData` of that kind."""
    replay = Replay(recording)
    totals = [0]
    last = replay.run(lambda _, state: totals.append(state.total))
    held = np.array(totals)  # behind each event; at 0 before all of them
    at = np.array([replay.ticks[0], *replay.at])
    first = int(np.searchsorted(at, replay.ticks[0], "right")) - 1  # what was there at the start
    top = first + int(np.argmax(held[first:]))
    chosen = [k for k in _plotted_events(held, replay.seconds(at), top) if k >= first]
    copies = _Copies(chosen, top)
    replay.run(copies.visit)
    points, best = [copies.moments[k] for k in chosen], copies.moments[top]
    calls = _calls(replay, at, held)
    describe = _Describer(replay, calls)
    modules = [(name or _NO_MODULE, "") for name in recording.modules]
    return kind(
        seconds=float(replay.moments[-1]),
        times=tuple(np.round(replay.seconds(at[chosen]), 8).tolist()),
        total=tuple(p.total for p in points),
        lines=_bands([p.lines for p in points], best.lines, describe.lines),
        modules=_bands([p.modules for p in points], best.modules, modules),
        calls=calls,
        peak=_peak(replay, at[top], copies, describe),
        left=describe.holdings(last.owners()),
        ended=recording.ended,
    )


@dataclass(slots=True)
class Moment:
    """A copy of the sums of a state."""

    total: int
    lines: dict[int, int]
    modules: dict[int, int]


class _Copies:
    """Copies of chosen states, and what was held at the peak."""

    def __init__(self, chosen: list[int], top: int) -> None:
        self.wanted, self.top = set(chosen), top
        self.moments = {0: Moment(0, {}, {})}
        self.owners: Counter[int] = Counter()
        self.leaf_bytes = 0

    def visit(self, k: int, state: HeldState) -> None:
        """Look at the state behind an event."""
        if k in self.wanted:
            self.moments[k] = Moment(state.total, dict(state.lines), dict(state.modules))
        if k == self.top:
            self.owners, self.leaf_bytes = state.owners(), state.leaf_bytes


def _plotted_events(held: Array, seconds: Array, top: int) -> list[int]:
    """The events that a timeline shows: all, or the least and the most of each interval."""
    if len(held) <= POINTS:
        return list(range(len(held)))
    length = seconds[-1] - seconds[0] or 1.0
    interval = ((seconds - seconds[0]) / length * (POINTS // 2 - 1)).astype(np.int64)
    starts = np.flatnonzero(np.diff(interval, prepend=-1))
    chosen = {0, top, len(held) - 1}
    for first, end in zip(starts, [*starts[1:], len(held)], strict=True):
        values = held[first:end]
        chosen |= {int(first + values.argmin()), int(first + values.argmax())}
    return sorted(chosen)


def _bands(
    points: list[dict[int, int]], peak: dict[int, int], names: list[tuple[str, str]]
) -> tuple[Band, ...]:
    """A band for each of the largest groups, and one for all others."""
    most: dict[int, int] = {}
    for point in points:
        for group, size in point.items():
            if size > most.get(group, 0):
                most[group] = size
    ranked = sorted(most, key=lambda group: (-most[group], group))
    bands = [
        Band(*names[group], tuple(p.get(group, 0) for p in points), peak.get(group, 0))
        for group in ranked[:BANDS]
    ]
    others = ranked[BANDS:]
    if others:
        values = tuple(sum(p.get(group, 0) for group in others) for p in points)
        bands.append(Band(OTHERS, "", values, sum(peak.get(group, 0) for group in others)))
    return tuple(bands)


def _calls(replay: Replay, at: Array, held: Array) -> tuple[BackwardCall, ...]:
    passages, source_lines = replay.passages, replay.source_lines
    numbers = [source_lines.number(p.call.code, p.call.lasti) for p in passages]
    lines = list(source_lines.lines)
    begins = np.array([p.begin for p in passages], np.float64)
    ends = np.array([replay.last if p.end is None else p.end for p in passages], np.float64)
    before, after = (held[np.searchsorted(at, t, "right") - 1].tolist() for t in (begins, ends))
    began, ended = replay.seconds(begins).tolist(), replay.seconds(ends).tolist()
    return tuple(
        BackwardCall(
            what=passage.call.what,
            where=lines[numbers[k]][0],
            text=lines[numbers[k]][1],
            begin=began[k],
            end=ended[k],
            nodes=passage.nodes,
            before=before[k],
            after=after[k],
            released=max(0, before[k] - after[k]),
            retains=passage.retains,
            raised=passage.raised,
        )
        for k, passage in enumerate(passages)
    )


class _Describer:
    """Holdings from entries."""

    def __init__(self, replay: Replay, calls: tuple[BackwardCall, ...]) -> None:
        self.replay, self.calls = replay, calls
        self.lines = list(replay.source_lines.lines)

    def holdings(self, owners: Counter[int]) -> tuple[Holding, ...]:
        """What holds how much, the most first."""
        holdings = [self.holding(self.replay.entries[k], size) for k, size in owners.items()]
        return tuple(sorted(holdings, key=lambda h: (-h.nbytes, h.since)))

    def holding(self, entry: LogEntry, size: int) -> Holding:
        recording = self.replay.recording
        where, text = self.lines[entry.line]
        until = HELD if entry.end > self.replay.last else DROPPED
        if entry.call is not None:
            until = self.calls[entry.call].where
        return Holding(
            op=recording.kinds.names[entry.kind],
            where=where,
            text=text,
            module=recording.modules[entry.module],
            nbytes=size,
            since=float(self.replay.seconds(entry.number)),
            released=entry.call,
            until=until,
        )


def _peak(replay: Replay, at: float, copies: _Copies, describe: _Describer) -> Peak:
    call, during = None, False
    for k, passage in enumerate(replay.passages):
        end = replay.last if passage.end is None else passage.end
        if at <= end:
            call, during = k, bool(passage.begin <= at)
            break
    return Peak(
        nbytes=copies.moments[copies.top].total,
        leaf_bytes=copies.leaf_bytes,
        seconds=round(float(replay.seconds(at)), 8),
        call=call,
        during=during,
        nodes=describe.holdings(copies.owners),
    )
