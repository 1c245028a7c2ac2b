"""What is on record of a compiled function: the tree of its operations, its programs, its reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any

from wengert.ops.op import Op
from wengert.replay.signatures import Line, Signatures
from wengert.replay.trace import Entry, OpEntry

MOST_PLANS = 64
# So many entries have to be gone along again, and are let go of where they do not pay.
_MANY = 4096
# Fewer steps at once than this are computed as fast when they are called: those behind a read are,
# after so many times.
_FEW, _OFTEN = 6, 3


class Reads:
    """How often values were read, by line."""

    def __init__(self) -> None:
        # By the identity of the code: to hash it takes microseconds.
        self._counts: Counter[tuple[int, int]] = Counter()
        self._codes: dict[int, CodeType] = {}

    def add(self, line: tuple[CodeType, int]) -> None:
        """Note that a value was read."""
        code, lasti = line
        self._codes[id(code)] = code
        self._counts[id(code), lasti] += 1

    def __iter__(self) -> Iterator[tuple[CodeType, int]]:
        return iter([(self._codes[code], lasti) for code, lasti in self._counts])

    def __bool__(self) -> bool:
        return bool(self._counts)

    def most(self) -> tuple[tuple[CodeType, int], int]:
        """The line where most values were read, and how many."""
        [((code, lasti), count)] = self._counts.most_common(1)
        return (self._codes[code], lasti), count


class Record:
    """All that is on record of a compiled function, and how it has served.

    Attributes:
        exact: whether its programs round as eager mode does.
        fixed: whether Python floats are part of what is recorded, and no inputs.
        root: where runs begin.
        size: how many entries there are.
        settled: how often a run was settled, and `deferred` the steps that were deferred by then.
        planned: the steps that plans were made for when runs had come to need them.
        plans: the programs, by the entry where values were read and what was alive; `peeks` those
            of checks, by the entry and what is looked at, `ways` those of gradients with a graph.
        foreseen: plans that no run has needed so far.
        templates: what its operations are computed by, see `replay.templates`.
        readings: the programs of values that are read ahead of the rest, by the entry, the place
            and the readings before; `keeping` what they keep, by the entry, the place and how
            many are before, and how often that was changed.
        recomputed: which functions of checkpoints run again for a walk, by the entry, where it
            begins, what it is to and what is alive.
        released: the places whose nodes backwards have released, by the entry.
        reads: how often a value was read, by line.
        signatures: where its operations are called.
        brief: how often runs behind a read were read again after a few steps, by their first.
        awaited: how many runs have notes that are made entries of in the background.
        meanwhile: how many calls ran as they are, because of what was made.
        compiled: whether the compiler has come to the end of some program.
        retired: whether runs have turned out not to pay.
    """

    def __init__(self, exact: bool = False, fixed: bool = False) -> None:
        self.exact, self.fixed = exact, fixed
        self.root = Entry(None, None)
        self.size = self.settled = self.deferred = self.awaited = 0
        self.planned = self.meanwhile = 0
        self.plans: dict[Any, Any] = {}
        self.foreseen: dict[Any, Any] = {}
        self.peeks: dict[Any, Any] = {}
        self.templates: dict[Any, Any] = {}
        self.readings: dict[Any, Any] = {}
        self.keeping: dict[Any, Any] = {}
        self.released: dict[Entry, frozenset[int]] = {}
        self.ways: dict[Any, Any] = {}
        self.recomputed: dict[Any, Any] = {}
        self.reads, self.signatures = Reads(), Signatures()
        self.brief: Counter[tuple[int, int, int]] = Counter()
        self.retired = self.compiled = False

    def pays(self) -> bool:
        """Whether runs settle many steps at once, by programs that they have used before."""
        if len(self.plans) > MOST_PLANS and len(self.plans) > self.settled // 2:
            return False
        return self.deferred >= _FEW * self.settled and not self.grows()

    def grows(self) -> bool:
        """Whether runs take ways of their own, for the most part."""
        return self.size > _MANY and self.deferred < self.size

    def gain(self) -> int:
        """How many steps programs have computed that were there, less those that were recorded."""
        return self.deferred - self.planned - self.size

    def note_length(self, start: Entry, end: Entry, steps: int) -> None:
        """Note how many steps a run has taken behind a read, until the next one.

        Where they are few each time, the first of them is computed when it is called from then on,
        and so are those that would be the first after it.
        """
        first = end.after_entry(start)
        if type(first) is not OpEntry or type(first.op) is not Op or first.code is None:
            return
        key = id(first.code), first.lasti, id(first.op)
        self.brief[key] += 1 if steps < _FEW else -_MANY
        if self.brief[key] >= _OFTEN:
            like = [k for k, one in start.children.items() if one.is_like(first)]
            self.size -= sum(start.children.pop(k).count_below() for k in like)
            start.hot = None

    def is_brief(self, op: Any, line: Line) -> bool:
        """Whether runs behind a read that begin with a call have been read after a few steps."""
        return self.brief[id(line.code), line.lasti, id(op)] >= _OFTEN

    def lasts(self) -> bool:
        """Whether no program of a value that is read ahead is to be made anew."""
        return self.keeping.keys() <= {one.identity for one in self.readings.values()}

    def programs(self) -> list[Any]:
        """The plans that runs have used, those of values that are read ahead first."""
        return [*self.readings.values(), *self.plans.values()]

    def retire(self) -> None:
        """Let calls run as they are; what a large record has is of no use then."""
        self.retired, self.foreseen = True, {}
        if self.size > _MANY:
            self.root, self.plans = Entry(None, None), {}  # runs hold what they go along
            self.peeks, self.ways, self.recomputed = {}, {}, {}
            self.templates = {}
            self.readings, self.keeping, self.released = {}, {}, {}
