"""Watches backward calls: the operations they visit, what they release, what is retained.

It keeps only weak references, and hardly slows a run: all calls are counted, and measured until
`_BUDGET` operations have been examined; from then on one call in sixteen per line.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from types import CodeType
from weakref import WeakKeyDictionary, ref

from wengert.autograd import engine
from wengert.autograd.counters import counters
from wengert.autograd.engine import Walk
from wengert.autograd.naming import OF_IMAGES, op_name, op_name_of_class
from wengert.core.storage import location_of, source_text
from wengert.core.tensor import Call, Leaf, Node, by_seq
from wengert.graph._memory_sampler import MemorySampler
from wengert.graph.memory import (
    Finding,
    Held,
    Line,
    Memory,
    Report,
    held_by,
    without_collecting,
)
from wengert.graph.nodes import is_released, leaves_of

_BUDGET = 30_000
_SAMPLE = 16
_GROWTH_CALLS = 10


@dataclass(slots=True)
class _Retained:
    """The graph that the latest measured, retaining call of a line kept."""

    nodes: list[ref[Node]]
    seqs: set[int]
    used: bool = False


@dataclass(slots=True)
class _History:
    """What is known of a line's calls beside its `Line`: sizes of graphs, retained graphs."""

    first: int
    last: int
    grew: int = 0
    retained: int = 0  # graphs of measured calls that were retained
    unneeded: int = 0  # those that no later backward went through


@dataclass(slots=True)
class _Open:
    """A walk in progress: its line, the bytes held at its start, and its nodes."""

    line: Line
    held: int
    nodes: list[ref[Node]]


class Recorder:
    """Collects a `Report` from the backward calls of this process between start and stop.

    >>> import wengert
    >>> from wengert.graph import Recorder
    >>> recorder = Recorder()
    >>> recorder.start()
    >>> x = wengert.ones(2, requires_grad=True)
    >>> x.exp().sum().backward()
    >>> recorder.stop()
    >>> recorder.report().ops
    {'exp': 1, 'sum': 1}
    """

    def __init__(self) -> None:
        self._lock, self._process = Lock(), os.getpid()
        self._ops: Counter[str] = Counter()
        self._names: dict[type[Node], str] = {}
        self._memory, self._memory_sampler = Memory(), MemorySampler()
        self._others = 0  # bytes that other graphs than a walk's held when last looked at
        # By id: to hash a code object is to hash its bytecode. The code is kept alive beside.
        self._places: dict[tuple[int, int], tuple[CodeType, Line]] = {}
        self._lines: dict[tuple[str, str], Line] = {}
        self._histories: dict[str, _History] = {}
        self._looked_at = 0
        self._open: WeakKeyDictionary[Walk, _Open] = WeakKeyDictionary()
        self._retained: dict[str, _Retained] = {}
        self._lenient: dict[str, Finding] = {}

    def start(self) -> None:
        """Start watching."""
        engine.observers.append(self.observe)
        counters[self.observe] = self.note_compiled

    def stop(self) -> None:
        """Stop watching."""
        engine.observers.remove(self.observe)
        del counters[self.observe]
        self.look("")

    def look(self, where: str) -> None:
        """Look at what all graphs hold now, at a place in the program."""
        with without_collecting(), self._lock:
            self.note_peak(self._memory_sampler.held()[0], where)

    def note_peak(self, held: Held, where: str) -> None:
        """Take note of what all graphs were seen to hold, and at which ``file:line``."""
        memory = self._memory
        if held.graph > memory.peak or not (memory.peak or memory.peak_at):
            memory.peak, memory.peak_leaves, memory.peak_at = held.graph, held.leaves, where

    def observe(self, walk: Walk, when: str) -> None:
        """Take note of a walk that begins or has ended; in a forked child, of none."""
        if os.getpid() != self._process:  # the lock may be held by a missing thread
            return
        # What the collector finalizes may go backward, and would wait for the lock.
        with without_collecting(), self._lock:
            if when == "before":
                self._before(walk)
            else:
                self._after(walk)

    def note_compiled(self, call: Call, operations: Counter[str], calls: int) -> None:
        """Take note of a backward that a compiled program does."""
        if os.getpid() != self._process:
            return
        with without_collecting(), self._lock:
            line = self._line(call)
            line.calls += calls
            line.compiled += calls
            line.nodes += operations.total()
            self._ops += operations

    def _before(self, walk: Walk) -> None:
        line, order = self._line(walk.call), walk.order
        count = self._count(order)
        line.calls += 1
        line.nodes += count
        line.retaining += walk.retain is True and not walk.create_graph
        self._note_size(line, count)
        for retained in self._retained.values():
            if not retained.used and not retained.seqs.isdisjoint(map(by_seq, order)):
                retained.used = True
        if self._looked_at > _BUDGET and line.calls % _SAMPLE != 1:
            return
        self._looked_at += len(order)
        line.measured += 1
        self._note_lenient(walk, line)
        nodes = [*order, *self._still_retained()]
        own = _held_by(nodes)
        self.note_peak(own, line.where)
        if line.measured == 1 or self._memory_sampler.is_due():
            everything, others = self._memory_sampler.held(nodes)
            self.note_peak(everything, line.where)
            self._others = others
        self._open[walk] = _Open(line, own.graph, list(map(ref, order)))

    def _after(self, walk: Walk) -> None:
        opened = self._open.pop(walk, None)
        if opened is None:
            return
        line = opened.line
        alive = [node for r in opened.nodes if (node := r()) is not None]
        unreleased = [node for node in alive if not _released_by(node, walk)]
        line.released_nodes += len(opened.nodes) - len(unreleased)
        own = _held_by([*unreleased, *self._still_retained()]).graph
        line.released_bytes += max(0, opened.held - own)
        if (
            self._others and self._memory_sampler.is_cheap()
        ):  # a walk may free what it does not pass
            everything, self._others = self._memory_sampler.held(unreleased)
            self.note_peak(everything, line.where)
            self._memory.after = everything.graph
        else:
            self._memory.after = own + self._others
        if walk.retain is True and not walk.create_graph:
            self._note_retained(line, unreleased)

    def _count(self, order: list[Node]) -> int:
        """Count operations by their names; returns how many there are."""
        names, kinds = self._names, Counter(map(type, order))
        leaves = kinds.pop(Leaf, 0)
        for kind, count in kinds.items():
            name = names.get(kind) or names.setdefault(kind, op_name_of_class(kind))
            if name in OF_IMAGES:
                self._ops.update(op_name(node) for node in order if type(node) is kind)
            else:
                self._ops[name] += count
        return len(order) - leaves

    def _line(self, call: Call) -> Line:
        what, code, lasti = call
        entry = self._places.get((id(code), lasti))
        if entry is None:
            where = location_of(code, lasti)
            text = source_text(code, lasti)
            line = self._lines.setdefault((where, what), Line(where, text, what))
            entry = self._places[id(code), lasti] = code, line
        return entry[1]

    def _still_retained(self) -> list[Node]:
        """Nodes of retained graphs that nothing has released, and their leaves."""
        refs = chain.from_iterable(retained.nodes for retained in self._retained.values())
        return [node for r in refs if (node := r()) is not None and not is_released(node)]

    def _note_retained(self, line: Line, nodes: list[Node]) -> None:
        line.kept_bytes = max(line.kept_bytes, _held_by(nodes).graph)
        history = self._histories[line.where]
        history.retained += 1
        earlier = self._retained.get(line.where)
        history.unneeded += earlier is not None and not earlier.used
        seqs = {node.seq for node in nodes if type(node) is not Leaf}
        self._retained[line.where] = _Retained(list(map(ref, nodes)), seqs)

    def _note_size(self, line: Line, count: int) -> None:
        history = self._histories.setdefault(line.where, _History(count, count))
        history.grew += count > history.last
        history.last = count

    def _note_lenient(self, walk: Walk, line: Line) -> None:
        """Under the torch alias a walk may pass released nodes; note whose they are."""
        if not engine.compatibility.lenient:
            return
        for node in walk.stateful_nodes:
            earlier = node.state.released if node.state is not None else None
            if earlier is not None and node in walk.pending and node not in walk.stops:
                finding = self._lenient.get(line.where)
                text = (
                    f"passed {op_name(node)}, which {location_of(earlier.code, earlier.lasti)} had"
                    " released. It saved nothing, so the gradient is right, as in PyTorch; sum the"
                    " losses, or keep the graph there"
                )
                times = 1 if finding is None else finding.times + 1
                self._lenient[line.where] = Finding("second-backward", line.where, times, text)
                return

    def report(self) -> Report:
        """Return the report so far."""
        with self._lock:
            lines = list(self._lines.values())
            return Report(
                backward_calls=sum(line.calls for line in lines),
                nodes=sum(line.nodes for line in lines),
                ops=dict(self._ops.most_common()),
                memory=self._memory,
                lines=lines,
                findings=[*self._lenient.values(), *self._unneeded(lines), *self._grown(lines)],
            )

    def _unneeded(self, lines: list[Line]) -> list[Finding]:
        findings = []
        for where, latest in self._retained.items():
            history = self._histories[where]
            unneeded = history.unneeded + (not latest.used)
            if unneeded > 1 and unneeded == history.retained:
                times = sum(line.retaining for line in lines if line.where == where)
                text = (
                    "kept its graph every time, and no later backward went through it:"
                    " retain_graph=True may go"
                )
                findings.append(Finding("needless-retain", where, times, text))
        return findings

    def _grown(self, lines: list[Line]) -> list[Finding]:
        findings = []
        for where, history in self._histories.items():
            calls = sum(line.calls for line in lines if line.where == where)
            often = calls >= _GROWTH_CALLS and history.grew >= 0.9 * (calls - 1)
            if often and history.last >= 3 * history.first:
                text = (
                    f"the graph grew from call to call, from {history.first:,} to"
                    f" {history.last:,} operations: a state or a sum carried from step to step"
                    " may need detach()"
                )
                findings.append(Finding("growing-graph", where, calls, text))
        return findings


def _held_by(nodes: list[Node]) -> Held:
    """What nodes hold; a walk to some leaves does not come to the others."""
    return held_by([*nodes, *leaves_of(nodes)])


def _released_by(node: Node, walk: Walk) -> bool:
    return node.state is not None and node.state.released is walk.call
