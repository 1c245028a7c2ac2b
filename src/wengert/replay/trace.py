"""The record of a compiled function: a tree of operations, each with the ways it went on.

A run goes down the tree. Where it takes another way than before, a branch grows there. An entry
says of each operand what it was: the value of an earlier entry, the n-th tensor that came from
outside (an *input*), or a number. What it was is its key: the next run's call compares itself
with the keys of the branches.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from wengert.core.storage import location_of, source_text
from wengert.core.tensor import Leaf, tensors
from wengert.replay.deferred import Deferred, Outline

LEAF, INNER = 1, 2  # how an input requires grad
MOST_ENTRIES = 50_000
MOST_BRANCHES = 16
MOST_PLANS = 64
# So many entries have to be gone along again, and are let go of where they do not pay.
_MANY = 4096
# Fewer steps at once than this are computed as fast when they are called.
_FEW = 6


class Input(NamedTuple):
    """A tensor or array from outside, when a run first meets it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    grad: int  # 0, LEAF or INNER
    is_tensor: bool


def input_of(x: Any) -> Input:
    """What a tensor or array with memory is like."""
    if type(x) is np.ndarray:
        return Input(x.shape, x.strides, x.dtype.str, 0, False)
    array, edge = x._array, x._edge
    grad = 0 if edge is None else LEAF if type(edge) is Leaf else INNER
    return Input(array.shape, array.strides, array.dtype.str, grad, True)


class Memo:
    """An input as an argument of an entry: what it has to be like, and which it was last."""

    __slots__ = ("array", "dtype", "input", "tensor")

    def __init__(self, input: Input) -> None:
        self.input, self.dtype = input, np.dtype(input.dtype)
        self.tensor: Any = _gone
        self.array: Any = _gone

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
        self.tensor, self.array = weakref.ref(x), weakref.ref(array)
        return True


class Again:
    """An input as an argument of an entry that was one of an earlier entry, or of this one."""

    __slots__ = ("slot",)

    def __init__(self, slot: int) -> None:
        self.slot = slot


def _gone() -> None:
    """The reference to nothing."""
    return


class Ref(NamedTuple):
    """An operand: a value of the run, one of its inputs, or one of its numbers."""

    kind: str  # "value", "input", "number"; "constant" for a number of the record
    index: Any


class Entry:
    """One step of the record.

    Attributes:
        children: the entries that came next, by key.
        hot: the child that was taken last.
        arrivals: what backwards from here arrive at, by place.
        after: where the record goes on once values were read here.
        first: the place of its first value among those of the run.
        inputs: the inputs that it met first.
        replaceable: by place, whether its value may be replaced by another here.
    """

    __slots__ = (
        "__weakref__",
        "after",
        "arrivals",
        "children",
        "code",
        "depth",
        "first",
        "hot",
        "inputs",
        "lasti",
        "outlines",
        "parent",
        "read_at",
        "replaceable",
    )  # fmt: skip

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
        self.arrivals: dict[int, tuple[int, ...]] = {}
        self.replaceable: dict[int, bool] = {}
        self.read_at: tuple[CodeType, int] | None = None
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


class Record:
    """All that is on record of a compiled function, and how it has served.

    Attributes:
        exact: whether its programs round as eager mode does.
        fixed: whether Python floats are part of what is recorded, and no inputs.
        root: where runs begin.
        size: how many entries there are.
        settled: how often a run was settled, and `deferred` the steps that were deferred by then.
        plans: the programs, by the entry where values were read and what was alive.
        reads: how often a value was read, by line.
        compiling: how many of the programs are being compiled.
        retired: whether runs have turned out not to pay.
    """

    def __init__(self, exact: bool = False, fixed: bool = False) -> None:
        self.exact, self.fixed = exact, fixed
        self.root = Entry(None, None)
        self.size = self.settled = self.deferred = self.compiling = 0
        self.plans: dict[Any, Any] = {}
        self.reads: Counter[tuple[CodeType, int]] = Counter()
        self.retired = False

    def pays(self) -> bool:
        """Whether runs settle many steps at once, by programs that they have used before."""
        if len(self.plans) > MOST_PLANS and len(self.plans) > self.settled // 2:
            return False
        return self.deferred >= _FEW * self.settled and not self.grows()

    def grows(self) -> bool:
        """Whether runs take ways of their own, for the most part."""
        return self.size > _MANY and self.deferred < self.size

    def retire(self) -> None:
        """Let calls run as they are; what a large record has is of no use then."""
        self.retired = True
        if self.size > _MANY:
            self.root, self.plans = Entry(None, None), {}  # runs hold what they go along


class OpEntry(Entry):
    """A declared operation.

    Attributes:
        refs: its operands, by name; `params` are the other arguments.
        records: whether its result has a place in a graph.
        pattern: the keys of its arguments in order, `keywords` the names of the last.
        places: the same, if the arguments need no further look: values of the run, inputs that it
            has met (`~slot`) or not, None for a float, keys of others.
        grad: whether operations were recorded.
        continues: whether a value of the run is among the operands.
        shows: whether its result shows the memory of the first argument, as its view.
        single: whether it has one result, and nothing else.
        updated: which of its arguments, those by keyword last, are buffers that it writes to.
        reach: how many frames are from `Run.call` to the line; `inner` is the code of the first
            that is outside of the operation.
    """

    __slots__ = (
        "continues",
        "grad",
        "inner",
        "keywords",
        "op",
        "params",
        "pattern",
        "places",
        "reach",
        "records",
        "refs",
        "shows",
        "single",
        "updated",
    )

    continues: bool
    grad: bool
    inner: CodeType
    keywords: tuple[str, ...]
    reach: int
    pattern: tuple[Any, ...]
    shows: bool
    single: bool
    updated: tuple[int, ...]

    def __init__(
        self, parent: Entry, line: tuple[CodeType, int], op: Any, refs: dict[str, Ref | None],
        params: dict[str, Any], records: bool,
    ) -> None:  # fmt: skip
        super().__init__(parent, line)
        self.op, self.refs, self.params, self.records = op, refs, params, records
        self.places: tuple[Any, ...] | None = None


class BackwardEntry(Entry):
    """A walk, and the inputs whose gradients it computes.

    A `backward` has `added`: of each of them the place of the gradient in the run that it is added
    to, `~slot` of one that is an input of the run, or None. That of `autograd.grad` has None.
    """

    __slots__ = ("added", "leaves", "releases", "root")

    def __init__(
        self, parent: Entry, line: tuple[CodeType, int], root: int, leaves: tuple[int, ...],
        added: tuple[int | None, ...] | None, releases: bool,
    ) -> None:  # fmt: skip
        super().__init__(parent, line)
        self.root, self.leaves, self.added, self.releases = root, leaves, added, releases

    @property
    def name(self) -> str:
        """What errors call it."""
        return "grad()" if self.added is None else "backward()"


def inputs_of(path: list[Entry]) -> list[Input]:
    """The inputs of a run, in the order in which it meets them."""
    return [one for entry in path for one in entry.inputs]


def producers(path: list[Entry]) -> dict[int, Entry]:
    """The entry of each place."""
    return {entry.first + k: entry for entry in path for k in range(len(entry.outlines))}


def reached(path: list[Entry], root: int) -> list[int]:
    """The inputs that a backward from a place arrives at."""
    inputs, by_place = inputs_of(path), producers(path)
    waiting, visited = {root}, dict[int, None]()
    while waiting:
        place = max(waiting)  # the newest first, as a walk goes
        waiting.remove(place)
        entry = by_place[place]
        assert isinstance(entry, OpEntry)
        for name in entry.op.differentiable:
            ref = entry.refs[name]
            if ref is None:
                continue
            if ref.kind == "input" and inputs[ref.index].grad:
                visited[ref.index] = None
            elif ref.kind == "value":
                source = by_place[ref.index]
                if source.outlines[ref.index - source.first].requires_grad:
                    waiting.add(ref.index)
    return list(visited)


def outline_of(array: np.ndarray, requires_grad: bool) -> Outline:
    """What is to be known of a value."""
    return Outline(array.shape, array.strides, array.dtype, requires_grad)
