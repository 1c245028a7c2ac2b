"""The record of a compiled function: a tree of operations, each with the ways it went on.

A run goes down the tree. Where it takes another way than before, a branch grows there. An entry
says of each operand what it was: the value of an earlier entry, the n-th tensor that came from
outside (an *input*), or a number. What it was is its key: the next run's call compares itself
with the keys of the branches.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.storage import location_of, source_text
from wengert.core.tensor import Call, Leaf, tensors
from wengert.kernels.jit.pace import pace
from wengert.replay.deferred import Deferred, Outline
from wengert.replay.signatures import Line, Signature

LEAF, INNER = 1, 2  # how an input requires grad
MOST_ENTRIES = 50_000
MOST_BRANCHES = 16


class Input(NamedTuple):
    """A tensor or array from outside, when a run first meets it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    grad: int  # 0, LEAF or INNER
    is_tensor: bool


def input_of(x: Any) -> Input:
    """What a tensor or array with memory is like."""
    if type(x) is np.ndarray:
        return Input(x.shape, x.strides, x.dtype, 0, False)
    array, edge = x._array, x._edge
    grad = 0 if edge is None else LEAF if type(edge) is Leaf else INNER
    return Input(array.shape, array.strides, array.dtype, grad, True)


class Memo:
    """An input as an argument of an entry: what it has to be like, and which it was last."""

    __slots__ = ("array", "dtype", "input", "tensor")

    def __init__(self, input: Input) -> None:
        self.input, self.dtype = input, input.dtype
        self.tensor: Any = nobody
        self.array: Any = nobody

    def fits(self, x: Any) -> bool:
        """Whether a tensor or array is like it."""
        one = self.input
        if one.is_tensor:
            if type(x) not in tensors or type(x) is Deferred:
                return False
            edge, array = x._edge, x._array
            if (0 if edge is None else LEAF if type(edge) is Leaf else INNER) != one.grad:
                return False
            if self.tensor() is x and self.array() is array:
                return True
        else:
            array = x
        if type(array) is not np.ndarray or array.dtype != self.dtype:
            return False
        if array.shape != one.shape or array.strides != one.strides:
            return False
        if one.is_tensor:
            self.tensor, self.array = weakref.ref(x), weakref.ref(array)
        return True


class Again:
    """An input as an argument of an entry that was one of an earlier entry, or of this one."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot


class Known:
    """An argument that is no operand, or a number of the record.

    Attributes:
        key: what it is in terms of the record.
        value: the argument itself, if it never changes; `lasts` says whether it does.
    """

    __slots__ = ("key", "lasts", "value")

    def __init__(self, key: tuple[Any, ...], value: Any) -> None:
        self.key, self.lasts = key, _is_lasting(value)
        self.value = value if self.lasts else nobody


def _is_lasting(value: Any) -> bool:
    """Whether an object is the same for good."""
    if type(value) is tuple:
        return all(map(_is_lasting, value))
    return value is None or type(value) in (int, bool, str, float)


def nobody() -> None:
    """The reference to nothing: to what is gone, or stands for something later."""
    return


class Ref(NamedTuple):
    """An operand: a value of the run, one of its inputs, or one of its numbers."""

    kind: str  # "value", "input", "number"; "constant" for a number of the record
    index: Any


class Entry:
    """One step of the record.

    Attributes:
        children: the entries that came next, by key.
        hot: the child that was taken last; an `OpEntry` has a `quick` look.
        reaches: what walks from here arrive at, by the places of their roots.
        after: where the record goes on once values were read here.
        first: the place of its first value among those of the run.
        inputs: the inputs that it met first.
        read_at: the line where a value was read here, `read_by` the functions that did.
        replaceable: by place, how its value may be replaced by another here; None if it may not.
    """

    __slots__ = (
        "__weakref__",
        "after",
        "children",
        "code",
        "depth",
        "first",
        "hot",
        "inputs",
        "lasti",
        "outlines",
        "parent",
        "reaches",
        "read_at",
        "read_by",
        "replaceable",
        "storable",
    )  # fmt: skip

    quick: Any = None

    def __init__(self, parent: Entry | None, line: tuple[CodeType, int] | None) -> None:
        self.parent = None if parent is None else weakref.ref(parent)
        self.code: CodeType | None
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.first: int = 0 if parent is None else parent.first + len(parent.outlines)
        self.outlines: tuple[Outline, ...] = ()
        self.inputs: tuple[Input, ...] = ()
        self.children: dict[Any, Entry] = {}
        self.after: Entry | None = None
        self.hot: Entry | None = None
        self.reaches: dict[tuple[int, ...], Reach | None] | None = None  # of few entries
        self.replaceable: dict[int, Any] | None = None
        self.storable: dict[Ref, Any] | None = None
        self.read_at: tuple[CodeType, int] | None = None
        self.read_by: tuple[str, ...] = ()
        self.code, self.lasti = line or (None, 0)

    def path(self) -> list[Entry]:
        """The entries that lead here, oldest first, without the root."""
        entries, entry = [], self
        while entry.parent is not None:
            entries.append(entry)
            parent = entry.parent()
            assert parent is not None  # the record holds it
            entry = parent
        return entries[::-1]

    def after_entry(self, start: Entry) -> Entry:
        """The first entry behind another on the way here."""
        entry = self
        while entry.parent is not None and (parent := entry.parent()) is not start:
            assert parent is not None  # the record holds it
            entry = parent
        return entry

    def count_below(self) -> int:
        """How many entries there are from here on, with this one."""
        return sum(1 for _ in self.below())

    def is_like(self, other: OpEntry) -> bool:
        """Whether it is of the same operation on the same line."""
        return False

    def since(self, place: int) -> list[Entry]:
        """The entries from the one that made a value to this one, oldest first."""
        entries = [self]
        while place < entries[-1].first:
            parent = entries[-1].parent
            assert parent is not None  # the root made nothing
            entry = parent()
            assert entry is not None  # the record holds it
            entries.append(entry)
        return entries[::-1]

    def below(self) -> Iterator[Entry]:
        """This entry and all that came behind it."""
        waiting = [self]
        while waiting:
            entry = waiting.pop()
            yield entry
            waiting += entry.children.values()
            if entry.after is not None:
                waiting.append(entry.after)

    def line(self) -> str:
        """``file:line  source``."""
        if self.code is None:
            return ""
        return f"{location_of(self.code, self.lasti)}  {source_text(self.code, self.lasti)}"


class OpEntry(Entry):
    """A declared operation.

    Attributes:
        refs: its operands, by name; `params` are the other arguments, those of its `signature`.
        records: whether its result has a place in a graph.
        pattern: the keys of its arguments in order, `keywords` the names of the last.
        quick: the operation, if the arguments need no further look than this: `count` of them, of
            which `values` says which are which values of the run, `again` which tensors that it
            has met, and `floats` which are numbers. `others` are arrays that it has met, tensors
            and arrays that it has not (Memos), and what else is Known.
        look: the same for native code, see `looks.packed`.
        end: the last offset of the instruction, which Python gives for it as well.
        grad: whether operations were recorded.
        continues: whether a value of the run is among the operands.
        shows: whether its result shows the memory of the first argument, as its view.
        single: whether it has one result, and nothing else.
        updated: which of its arguments, those by keyword last, are buffers that it writes to.
        saves: in a checkpoint what its node saved, `ends` whether it had all that was asked for.
        reach: how many frames are from `Run.quickly` to the line; `inner` is the code of the first
            that is outside of the operation.
    """

    __slots__ = (
        "again",
        "continues",
        "count",
        "end",
        "ends",
        "floats",
        "grad",
        "inner",
        "keywords",
        "look",
        "op",
        "others",
        "params",
        "pattern",
        "quick",
        "reach",
        "records",
        "refs",
        "saves",
        "shows",
        "signature",
        "single",
        "updated",
        "values",
    )

    continues: bool
    grad: bool
    inner: CodeType
    keywords: tuple[str, ...]
    look: bytes
    reach: int
    pattern: tuple[Any, ...]
    shows: bool
    single: bool
    updated: tuple[int, ...]

    def __init__(
        self, parent: Entry, line: Line, op: Any, refs: dict[str, Ref | None], signature: Signature,
        records: bool,
    ) -> None:  # fmt: skip
        super().__init__(parent, (line.code, line.lasti))
        self.op, self.refs, self.signature, self.params = op, refs, signature, signature.params
        self.records, self.updated, self.end = records, signature.updated, line.end
        self.saves: Any = None
        self.ends = False
        self.quick: Any = None
        self.count = 0
        self.values: tuple[tuple[int, int], ...] = ()
        self.again: tuple[tuple[int, int], ...] = ()
        self.floats: tuple[int, ...] = ()
        self.others: tuple[tuple[int, Any], ...] = ()

    def is_like(self, other: OpEntry) -> bool:
        """Whether it is of the same operation on the same line."""
        return self.op is other.op and self.code is other.code and self.lasti == other.lasti

    def expect(self, keys: Sequence[Any], shared: dict[Any, Any]) -> None:
        """Let the next arguments be compared with these, by their keys."""
        pattern: list[Any] = []
        for key in keys:
            if type(key) is tuple and key[0] == "i":
                slot = ~key[1]  # no key of another thing that is shared
                again = shared.get(slot)
                pattern.append(shared.setdefault(slot, Again(key[1])) if again is None else again)
            else:
                pattern.append(Memo(key) if type(key) is Input else key)
        self.pattern = tuple(pattern)

    def look_no_further(self, args: Sequence[Any], met: int) -> None:
        """Note what the arguments of a run are that has met so many inputs, for `quick`.

        Not of a view of an input, nor where an input that is new comes twice.
        """
        pattern = self.pattern
        if self.op.view and type(pattern[0]) is not int:
            return
        values: list[tuple[int, int]] = []
        again: list[tuple[int, int]] = []
        floats: list[int] = []
        others: list[tuple[int, Any]] = []
        for n, expected in enumerate(pattern):
            kind = type(expected)
            if kind is int:
                values.append((n, expected))
            elif expected is float:
                floats.append(n)
            elif kind is Again:
                if expected.slot >= met:
                    return
                if type(args[n]) is np.ndarray:
                    others.append((n, expected))
                else:
                    again.append((n, expected.slot))
            else:
                others.append((n, Known(expected, args[n]) if kind is tuple else expected))
        self.count = len(pattern)
        self.values, self.again, self.floats = tuple(values), tuple(again), tuple(floats)
        self.others = tuple(others)


class BackwardEntry(Entry):
    """A walk: from values of the run to inputs and values whose gradients it computes.

    Attributes:
        roots: the places where it begins; `seeds` are the cotangents there, None for one.
        targets: what it gives the gradients of, in the order of its places.
        leaves: the slots of the targets that are inputs.
        added: of a `backward`, for each target the place of the gradient in the run that it is
            added to, `~slot` of one that is an input of the run, or None. None of `autograd.grad`.
        onward: which targets of a `backward` are inner nodes of a graph: it goes on there.
        reach: what is below its roots; `passed` is what it passes, None for all of it.
        releases: whether it releases the nodes that it passes.
        key: what it is on record by.
        simple: whether it is a `backward()` without arguments, all of which is in the run.
        counted: what is told of it to who counts backwards, once somebody does.
    """

    __slots__ = (
        "added", "counted", "key", "leaves", "onward", "passed", "reach", "releases", "roots",
        "seeds", "simple", "targets",
    )  # fmt: skip

    def __init__(
        self, parent: Entry, line: tuple[CodeType, int], roots: tuple[int, ...],
        seeds: tuple[Ref | None, ...], targets: tuple[Ref, ...], reach: Reach, releases: bool,
    ) -> None:  # fmt: skip
        super().__init__(parent, line)
        self.roots, self.seeds, self.targets, self.reach = roots, seeds, targets, reach
        self.leaves = tuple([ref.index for ref in targets if ref.kind == "input"])
        self.added: tuple[int | None, ...] | None = None
        self.onward: tuple[int, ...] = ()
        self.passed: frozenset[Ref] | None = None
        self.releases, self.simple = releases, False
        self.key: Any = None
        self.counted: tuple[Call, Counter[str], int] | None = None

    @property
    def name(self) -> str:
        """What errors call it."""
        return "grad()" if self.added is None else "backward()"

    def sends(self, ref: Ref | None) -> bool:
        """Whether it sends a gradient to an operand."""
        return self.passed is None or ref in self.passed


class LeafEntry(Entry):
    """A value becomes a leaf: an input of the run from here on, by its slot."""

    __slots__ = ("place", "slot")

    def __init__(self, parent: Entry, line: tuple[CodeType, int], place: int, slot: int) -> None:
        super().__init__(parent, line)
        self.place, self.slot = place, slot


class CheckpointEntry(Entry):
    """Where the function of a checkpoint begins or ends.

    Attributes:
        kind: "begins" and "returns" of the first time, "again" and "done" of those that follow.
        number: which of the checkpoints of the run it is.
        given: of a beginning, the places of the values among the tensors that are its arguments,
            by their number.
        whole: of an end, whether all between is on record, and saves what it did before.
        most: of a function that runs again, how many saved values it is to bring; None for all.
    """

    __slots__ = ("given", "kind", "most", "number", "whole")

    def __init__(self, parent: Entry, line: tuple[CodeType, int], key: tuple[Any, ...]) -> None:
        super().__init__(parent, line)
        self.given: tuple[tuple[int, int], ...] = ()
        self.whole, self.most = True, None
        self.kind, self.number, detail = key
        if self.kind == "begins":
            self.given, keys = detail
            self.inputs = tuple([key for key in keys if type(key) is Input])
        elif self.kind == "again":
            self.most = detail
        else:
            self.whole = detail


def inputs_of(path: list[Entry]) -> list[Input]:
    """The inputs of a run, in the order in which it meets them."""
    return [one for entry in path for one in entry.inputs]


def producers(path: list[Entry]) -> dict[int, Entry]:
    """The entry of each place."""
    return {entry.first + k: entry for entry in path for k in range(len(entry.outlines))}


class Reach:
    """What is below the roots of a walk.

    Attributes:
        slots: the inputs that it arrives at; `inner` are those that are no leaves.
        places: the values that it passes, the newest first.
        all: the inputs, as targets.
    """

    __slots__ = ("_ways", "all", "inner", "places", "slots")

    def __init__(self, slots: tuple[int, ...], inner: frozenset[int], places: list[int]) -> None:
        self.slots, self.inner, self.places = slots, inner, places
        self.all = tuple([Ref("input", k) for k in slots])
        self._ways: dict[tuple[Ref, ...], frozenset[Ref]] = {}

    def is_leaf(self, ref: Ref) -> bool:
        """Whether something below the roots is a leaf."""
        return ref.kind == "input" and ref.index not in self.inner

    def below(self) -> list[Ref]:
        """All of it but for the newest value."""
        return [*self.all, *[Ref("value", k) for k in self.places[1:]]]

    def way_to(self, targets: tuple[Ref, ...], path: Callable[[], list[Entry]]) -> frozenset[Ref]:
        """What lies between the roots and some targets, with these; nothing if one is not below."""
        found = self._ways.get(targets)
        if found is None:
            found = self._ways[targets] = self._way_to(targets, path())
        return found

    def _way_to(self, targets: tuple[Ref, ...], path: list[Entry]) -> frozenset[Ref]:
        by_place, useful = producers(path), {*targets}
        if not useful.issubset([*self.all, *[Ref("value", k) for k in self.places]]):
            return frozenset()
        for place in reversed(self.places):
            entry = by_place[place]
            assert isinstance(entry, OpEntry)
            if any(entry.refs[name] in useful for name in entry.op.differentiable):
                useful.add(Ref("value", place))
        return frozenset(useful)


def reached(path: list[Entry], roots: Sequence[int]) -> Reach:
    """What walks from some places arrive at."""
    inputs, by_place = inputs_of(path), producers(path)
    waiting, slots, places = {*roots}, dict[int, None](), list[int]()
    while waiting:
        pace.breathe()
        place = max(waiting)  # the newest first, as a walk goes
        waiting.remove(place)
        places.append(place)
        entry = by_place[place]
        assert isinstance(entry, OpEntry)
        for name in entry.op.differentiable:
            ref = entry.refs[name]
            if ref is None:
                continue
            if ref.kind == "input" and inputs[ref.index].grad:
                slots[ref.index] = None
            elif ref.kind == "value":
                source = by_place[ref.index]
                if source.outlines[ref.index - source.first].requires_grad:
                    waiting.add(ref.index)
    inner = frozenset(k for k in slots if inputs[k].grad == INNER)
    return Reach(tuple(slots), inner, places)


def outline_of(array: np.ndarray, requires_grad: bool) -> Outline:
    """What is to be known of a value."""
    return Outline(array.shape, array.strides, array.dtype, requires_grad)
