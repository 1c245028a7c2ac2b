"""Checkpoints of a path through the record: what is in them, and programs that compute it again.

A backward that comes to a checkpoint reads what the function has given when it ran again. These
instructions come at that point of the program, and are read from there: their operands are held
back by the cotangent that has arrived, so that no pass makes one of them and of the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wengert.replay.ir import Instruction
from wengert.replay.trace import BackwardEntry, CheckpointEntry, Entry, OpEntry, Ref, reached

if TYPE_CHECKING:
    from wengert.replay.lowering import Lowering


class Called:
    """A call of the function of a checkpoint.

    Attributes:
        begin: where it begins.
        entries: its operations.
        whole: whether it has ended, and all of it is on record.
        walk: of one that runs again, the backward that it does so for, if it is on the path.
    """

    def __init__(self, begin: CheckpointEntry) -> None:
        self.begin, self.number = begin, begin.number
        self.entries: list[OpEntry] = []
        self.whole, self.ended = False, False
        self.walk: BackwardEntry | None = None

    def saving(self, most: int | None = None) -> list[OpEntry]:
        """The operations whose nodes saved something, up to that of so many values."""
        found, count = list[OpEntry](), 0
        for entry in self.entries:
            if most is not None and count >= most:
                break
            if entry.saves is not None and entry.saves.saved:
                found.append(entry)
                count += len(entry.saves.saved)
        return found

    def until(self, places: set[int]) -> int:
        """How many values were saved up to the last of those at some places."""
        count = most = 0
        for entry in self.saving():
            count += len(entry.saves.saved)
            if entry.first in places:
                most = count
        return most


class Checkpoints:
    """Those of a path.

    Attributes:
        first: the first calls, by the number of the checkpoint, and `again` those that followed.
        left: of these the last, for no backward so far.
        of_places: by place of an operation in a first call, the number of the checkpoint.
    """

    def __init__(self, path: Sequence[Entry]) -> None:
        self.first: dict[int, Called] = {}
        self.again: list[Called] = []
        self.left: list[Called] = []
        if any(type(entry) is CheckpointEntry for entry in path):
            self._find(path)
        self.of_places = {e.first: n for n, called in self.first.items() for e in called.entries}

    def _find(self, path: Sequence[Entry]) -> None:
        now: Called | None = None
        for entry in path:
            if isinstance(entry, CheckpointEntry):
                if entry.kind in ("begins", "again"):
                    now = Called(entry)
                    if entry.kind == "begins":
                        self.first[entry.number] = now
                    else:
                        self.again.append(now)
                        self.left.append(now)
                elif now is not None:
                    now.ended, now.whole, now = True, entry.whole, None
            elif isinstance(entry, BackwardEntry):
                for called in self.left:
                    called.walk = entry
                self.left = []
            elif isinstance(entry, OpEntry):
                if now is not None:
                    now.entries.append(entry)
                else:
                    self.left = []

    def needed(
        self, path: list[Entry], walked: set[int], alive: Sequence[int]
    ) -> list[tuple[int, int | None]] | None:
        """Which functions a walk over some places lets run again, the newest first.

        And how many values each is to bring, where it ends early. None if the record cannot hold
        that: the graph of what is alive asks for others, or some are not on record.
        """
        released = {
            k for e in path if isinstance(e, BackwardEntry) and e.releases for k in e.reach.places
        }
        roots = [k for k in alive if k not in released]
        asked = {*reached(path, roots).places} if roots else set[int]()
        found = list[tuple[int, int | None]]()
        for number, called in reversed(self.first.items()):
            own = {e.first for e in called.saving()}
            if own.isdisjoint(walked):
                continue
            if not called.whole or own & walked != own & asked or not released.isdisjoint(asked):
                return None
            found.append((number, called.until(walked)))
        return found


class Recomputing:
    """What a lowering does about the checkpoints of its path."""

    def __init__(self, lowering: Lowering, path: list[Entry]) -> None:
        self.lowering, self.calls = lowering, Checkpoints(path)
        late = [c for c in self.calls.again if c.walk is not None and c.whole]
        self._late = {e: c for c in late for e in c.entries}
        self._makers = {
            e.first + k: c for e, c in self._late.items() for k in range(len(e.outlines))
        }
        self._done: set[Called] = set()
        self._waiting: dict[int, Called] = {}
        self._twins: dict[int, tuple[OpEntry, frozenset[str]]] = {}
        self._held: dict[int, int] | None = None
        self._called: Called | None = None
        self._cotangent = 0

    def is_late(self, entry: OpEntry) -> bool:
        """Whether an operation is to come where a backward needs it."""
        return entry in self._late

    def begin(self, walk: BackwardEntry) -> None:
        """A backward begins."""
        self._waiting = {}
        for called in self.calls.again:
            if called.walk is walk and called.whole:
                first = self.calls.first[called.number].saving(called.begin.most)
                for entry, twin in zip(first, called.saving(), strict=True):
                    self._waiting[entry.first] = called
                    names = frozenset(slot.removeprefix("s_") for slot, _ in entry.saves.slots)
                    self._twins[entry.first] = twin, names

    def arrive(self, place: int, cotangent: int | None) -> None:
        """A backward comes to a place, or has come to its end: what it reads is computed."""
        called = self._waiting.get(place)
        if called is not None and cotangent is not None:
            self._compute(called, cotangent)

    def end(self, cotangent: int) -> None:
        """A backward has come to its end."""
        for called in {*self._waiting.values()}:
            self._compute(called, cotangent)

    def _compute(self, called: Called, cotangent: int) -> None:
        if called in self._done:
            return
        self._done.add(called)
        for entry in called.entries:
            for ref in entry.refs.values():
                other = self._makers.get(ref.index) if ref and ref.kind == "value" else None
                if other is not None:  # a function has kept it, and another reads it
                    self._compute(other, cotangent)
        self._held, self._called, self._cotangent = {}, called, cotangent
        for entry in called.entries:
            self.lowering.forward(entry)
        self._held = None

    def operand(self, ref: Ref, value: int) -> int:
        """The value of an operand, which is there when the walk has come so far."""
        called, program = self._called, self.lowering.program
        if self._held is None or called is None or value in program.constants:
            return value
        if ref.kind == "value" and ref.index >= called.entries[0].first:
            return value
        held = self._held.get(value)
        if held is None:
            held = self._held[value] = program.value(program.types[value])
            program.instructions.append(
                Instruction("again", _first_of, (value, self._cotangent), (held,), called.begin)
            )
        return held

    def twin(self, place: int, name: str) -> OpEntry | None:
        """The operation whose second call gives what a rule reads by a name, if one does."""
        twin, names = self._twins.get(place, (None, frozenset[str]()))
        return twin if name in names else None


def _first_of(value: Any, cotangent: Any) -> Any:
    return value
