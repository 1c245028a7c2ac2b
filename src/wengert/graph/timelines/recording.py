"""Watches which nodes hold which memory, from when until when, without a hook on operations.

Every node has a number from the clock that orders nodes and writes, so that it is enough to
look at a node once while it lives: when a backward begins, before the garbage collector moves
young objects out of sight, or when a thread that looks every few milliseconds happens upon it.
What is written down are numbers; nothing that is seen is kept alive.
"""

from __future__ import annotations

import gc
import os
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from time import perf_counter
from typing import Any, NamedTuple
from weakref import WeakSet, ref

import numpy as np

from wengert.autograd import engine, naming
from wengert.autograd.engine import Walk
from wengert.autograd.relay import this_thread
from wengert.autograd.saved import packing
from wengert.autograd.saved.packing import arrays_in
from wengert.core.storage import owner
from wengert.core.tensor import Call, Leaf, Node, Site, memory_of, tick
from wengert.graph.memory import without_collecting

INTERVAL = 0.025  # seconds between two looks of the thread
MOST = 1_000_000  # entries of the log: some 250 MB
_YOUNG = 20_000  # young objects from which looks are rationed
_GAP = 16  # nodes that a walk may have left unreleased before one that it has released


class NodeReader(NamedTuple):
    """How nodes of a class are read: the index of its name, and a getter of its saved values."""

    kind: int
    read: Callable[[Any], Any]
    one: bool  # whether that is a single value, not a tuple
    of_images: bool  # whether it has three names, for one, two and three dimensions


LEAF = NodeReader(-1, attrgetter("tensor"), True, False)


class NodeReaders(dict[type, "NodeReader | None"]):
    """For each class: how its nodes are read, or None where they hold nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, kind: type) -> NodeReader | None:
        reader = None
        if kind is Leaf:
            reader = LEAF
        elif issubclass(kind, Node) and kind.saved:
            slots = [slot for slot, _ in kind.saved]
            name = naming.op_name_of_class(kind)
            of_images = name in naming.OF_IMAGES
            reader = NodeReader(len(self.names), attrgetter(*slots), len(slots) == 1, of_images)
            self.names += [f"{name}{d}d" for d in (1, 2, 3)] if of_images else [name]
        self[kind] = reader
        return reader


class NodeReference(ref[Node]):
    """A weak reference to a node that no walk is about to release."""

    __slots__ = ("seq",)
    seq: int


@dataclass(slots=True)
class Passage:
    """One walk: its line, when it was, and the nodes that it passed, newest first."""

    call: Call
    nodes: int
    retains: bool
    late: bool  # whether it releases nothing before it is through
    begin: int  # on the clock that orders nodes, as `end` and those of the pins
    end: int | None = None
    raised: bool = False
    passed: Sequence[int] = ()
    unreleased: Set[int] = frozenset()  # those of them that it did not release
    pins: Sequence[tuple[int, int]] = ()  # when, the oldest passed by then
    brought: Sequence[tuple[int, int]] = ()  # node, entry of what came back


@dataclass(slots=True)
class Open:
    """A walk that goes on, and what is known of it so far."""

    passage: Passage
    thread: int
    order: list[Node]  # the walk's own list
    pins: list[tuple[int, int]] = field(default_factory=list)
    brought: list[tuple[int, int]] = field(default_factory=list)
    packed: dict[int, set[int]] = field(default_factory=dict)  # what came back holds, by ids
    front: int = 0  # how far in `order`, from its end, nodes are known to be released


_all: WeakSet[GraphRecording] = WeakSet()


def _forked() -> None:
    """In a child process nobody records: the thread that looks is gone, and may have the lock."""
    for recording in _all:
        recording.running = False
        recording.open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class GraphRecording:
    """The log of a program's graphs between `start` and `stop`.

    Attributes:
        log: for each node that holds arrays: its number, its code object, the offset, the numbers
            of its module and its class, and the id and the bytes of each storage. Of several
            entries with one number the last one counts.
        deaths: (tick, number) of nodes that went without being released.
        leaves: (tick, id) of storages of leaves, and (tick, ~id) when it no longer is a leaf's.
        times: (tick, seconds) at which both are known.
        passages: the walks, in the order in which they began.
        open: those of them that go on.
    """

    def __init__(self, calls: int | None = None) -> None:
        self.log: list[tuple[Any, ...]] = []
        self.modules: list[str] = []
        self.kinds = NodeReaders()
        self.deaths: list[tuple[int, int]] = []
        self.leaves: list[tuple[int, int]] = []
        self.times: list[tuple[int, float]] = []
        self.passages: list[Passage] = []
        self.open: dict[Walk, Open] = {}
        self.running = False
        self.ended = ""  # why it ended by itself, if it did
        self._calls = calls
        self._lock = threading.Lock()
        # Nodes that hold something; None for those that a walk has.
        self._live: dict[int, NodeReference | None] = {}
        self._leaves: dict[int, tuple[ref[Leaf], int, int]] = {}  # ids of array and storage
        self._paths: dict[tuple[int, ...], int] = {}
        self._unfinished: list[ref[Node]] = []
        self._marker: list[Any] = []
        self._refs: list[Any] = []  # of modules: the ids in `_paths` are of these
        self._looked = self._took = 0.0
        self._before = 0  # when the latest walk ended
        self._stopped = threading.Event()
        self._sampler: threading.Thread | None = None
        _all.add(self)

    def start(self) -> None:
        """Look at what there is, and watch from now on. RuntimeError if it was started before."""
        if self.times:
            raise RuntimeError("profile(): was started before; make another one")
        with without_collecting(), self._lock:
            self._note(self._readable(gc.get_objects()), True)
        self._mark()
        self.running = True
        engine.observers.append(self._walk)
        packing.observers.append(self._on_saver)
        gc.callbacks.append(self._collect)
        self._sampler = threading.Thread(target=self._sample, name="wengert-profile", daemon=True)
        self._sampler.start()

    def stop(self) -> None:
        """Look a last time, and watch no longer."""
        if self._walk not in engine.observers:
            return
        self.look()
        self._end("")
        engine.observers.remove(self._walk)
        packing.observers.remove(self._on_saver)
        gc.callbacks.remove(self._collect)
        assert self._sampler is not None
        self._sampler.join()
        for collection in (
            self.kinds,
            self._live,
            self._leaves,
            self._refs,
            self._unfinished,
            self.open,
        ):
            collection.clear()

    def look(self) -> None:
        """Look at what there is now."""
        if self.running:
            with without_collecting(), self._lock:
                self._note_young()
            self._mark()

    def _end(self, why: str) -> None:
        if self.running:
            self._mark()
            self.running, self.ended = False, why
            self._stopped.set()

    def _mark(self) -> int:
        """Take the time; what the clock of nodes says."""
        now = tick()
        self.times.append((now, perf_counter()))
        return now

    # What is told of by the engine, by savers, by the collector and by the thread.

    # The lock is taken with the collector off: what that finalizes may go backward.

    def _walk(self, walk: Walk, when: str) -> None:
        if not self.running:
            self.open.pop(walk, None)
            return
        finished = None  # goes when the lock is free: what goes with nodes may be anybody's
        with without_collecting(), self._lock:
            if when != "before":
                finished = self._finish(walk, when == "raised")
            else:
                self._begin(walk)
        del finished
        if not self.running:  # since it was asked
            self.open.pop(walk, None)
        self._check_full()
        if self._calls is not None and not self.open and len(self.passages) >= self._calls:
            self._end(f"it was to record {self._calls:,} calls")

    def _check_full(self) -> None:
        entries = len(self.log) + len(self.times) + len(self.passages) + len(self.leaves)
        if entries > MOST:
            self._end(f"the log was full after {len(self.passages):,} calls")

    def _on_saver(self, node: Node | None) -> None:
        """A node was recorded under a saver (hooks, a checkpoint); None: a checkpoint ran again."""
        if not self.running:
            return
        with without_collecting(), self._lock:
            self._pin(this_thread())
            if node is None:
                self._brought_back()
            else:
                self._packed(node)

    def _collect(self, phase: str, info: dict[str, int]) -> None:
        """Young objects are about to become older: `_note_young` would miss them."""
        if phase == "start" and self.running and self._lock.acquire(blocking=False):
            try:
                if not self._counted_elsewhere():
                    self._note_young()
            finally:
                self._lock.release()

    def _sample(self) -> None:
        last, idle = 0, None
        while not self._stopped.wait(INTERVAL):
            if not self._look_between_walks():
                continue
            now = tick(), perf_counter()
            if now[0] == last + 1:  # nothing happened: the end of that is enough
                idle = now
            else:
                self.times += (now,) if idle is None else (idle, now)
                idle = None
            last = now[0]
            self._check_full()

    def _look_between_walks(self) -> bool:
        """Look if no walk runs; False where a plan is just made.

        A walk counts references to nodes, of which a look makes some.
        """
        running = engine.running_walks
        with without_collecting():
            if not running.lock.acquire(blocking=False):
                return False
            try:
                if not running.walks and self._lock.acquire(blocking=False):
                    try:
                        self._note_young()
                    finally:
                        self._lock.release()
            finally:
                running.lock.release()
        return True

    def _counted_elsewhere(self) -> bool:
        thread = this_thread()
        return any(
            w.retain == "auto" and w.thread != thread for w in list(engine.running_walks.walks)
        )

    # Nodes.

    def _readable(self, objects: Iterable[Any]) -> list[Node]:
        """The nodes among some objects that may hold something."""
        kinds = self.kinds
        try:
            return [obj for obj in objects if kinds[type(obj)]]
        except TypeError:  # a class that cannot be hashed
            return [t for t in objects if issubclass(type(t), Node) and kinds[type(t)]]

    def _note_young(self) -> None:
        """Note all nodes created since the last garbage collection."""
        began = perf_counter()
        # With the collector off, or seldom at work, there may be very many young objects.
        if gc.get_count()[0] > _YOUNG and began - self._looked < 20 * self._took:
            return
        nodes = self._readable(self._fresh())
        if self._unfinished:
            nodes += [node for r in self._unfinished if (node := r()) is not None]
            self._unfinished = []
        self._note(nodes, True)
        self._looked = perf_counter()
        self._took = self._looked - began

    def _fresh(self) -> list[Any]:
        """The young objects that came since this was last called, and perhaps some more.

        The collector has them in the order in which they came. A list that was made just before
        they were last asked for tells how many are known.
        """
        marker, self._marker = self._marker, []
        objects = gc.get_objects(generation=0)
        start = len(objects)
        for obj in reversed(objects):
            if obj is marker:
                break
            start -= 1
        return objects[start:]

    def _note(self, nodes: list[Any], watched: bool) -> None:
        """Write down nodes that are not yet; `watched` has their deaths written down as well."""
        live, kinds = self._live, self.kinds
        module, last = -1, None
        for node in nodes:
            if type(node) is Leaf:
                self._note_leaf(node)
        for node in nodes:
            try:
                seq = node.seq
                if seq in live:
                    continue
                reader: Any = kinds[type(node)]
                if reader is LEAF:
                    continue
                site = node.site
                if site is not last:
                    module, last = self._module(site), site
                if self._entry(seq, node, reader, module):
                    live[seq] = self._reference(node, seq) if watched else None
            except AttributeError:  # whoever makes it is not done
                self._unfinished.append(ref(node))

    def _entry(self, number: int, node: Node, reader: NodeReader, module: int) -> bool:
        """Write down what a node holds; whether it holds anything."""
        kind, read, one, of_images = reader
        kind += of_images and len(node.shape) - 3
        value = read(node)
        if one and type(value) is np.ndarray and value.base is None:  # most nodes
            self.log.append((number, node.code, node.lasti, module, kind, id(value), value.nbytes))
            return True
        held: list[int] = []
        for item in (value,) if one else value:
            if type(item) is np.ndarray:
                base = item if item.base is None else owner(item)
                held += id(base), base.nbytes
            elif item is not None:
                for value_array in arrays_in(item):
                    base = owner(value_array)
                    held += id(base), base.nbytes
        if held:
            self.log.append((number, node.code, node.lasti, module, kind, *held))
        return bool(held)

    def _packed(self, node: Node) -> None:
        """Write down a node that a saver has had; the thread may have seen it before that."""
        reader, was_live = self.kinds[type(node)], node.seq in self._live
        self._live.pop(node.seq, None)
        if reader:
            self._note([node], True)
            if was_live and node.seq not in self._live:  # nothing is left in memory
                self.log.append((node.seq, node.code, node.lasti, 0, reader.kind))

    def _reference(self, node: Node, seq: int) -> NodeReference:
        reference = NodeReference(node, self._note_death)
        reference.seq = seq
        return reference

    def _note_death(self, reference: Any) -> None:
        """A node died. May run anywhere, in any thread: no lock, appends only."""
        if self.running:
            self.deaths.append((self._mark(), reference.seq))
            self._live.pop(reference.seq, None)

    def _note_leaf(self, leaf: Leaf) -> None:
        """Write down which storage is a leaf's: it is not the graph's while the leaf lives."""
        try:
            tensor, seq = leaf.tensor(), leaf.seq
        except AttributeError:  # whoever makes it is not done
            self._unfinished.append(ref(leaf))
            return
        if tensor is None:
            return
        memory, earlier, since = memory_of(tensor), self._leaves.get(seq), seq
        if earlier is not None:
            if earlier[1] == id(memory):
                return
            since = self._before  # the tensor was given other memory since
            self._disown(seq, since)
        storage = id(owner(memory))
        self._leaves[seq] = ref(leaf, lambda _: self._disown(seq)), id(memory), storage
        self.leaves.append((since, storage))

    def _disown(self, seq: int, since: int | None = None) -> None:
        entry = self._leaves.pop(seq, None)
        if entry is not None and self.running:
            self.leaves.append((tick() if since is None else since, ~entry[2]))

    def _module(self, site: Site) -> int:
        """The number of the module that a site is inside of."""
        chain = []
        at: Site | None = site
        while at is not None:
            chain.append(at.module)
            at = at.parent
        key = tuple(map(id, chain))
        number = self._paths.get(key)
        if number is None:
            path = site.path()
            if path not in self.modules:  # modules of different models may have one path
                self.modules.append(path)
            number = self._paths[key] = self.modules.index(path)
            self._refs.append(chain)
        return number

    # Walks.

    def _begin(self, walk: Walk) -> None:
        self._pin(this_thread())
        kinds, live = self.kinds, self._live
        nodes = [
            n for n in walk.order if (r := kinds[type(n)]) and (r is LEAF or n.seq not in live)
        ]
        self._note(nodes, False)
        del nodes
        self._note_young()
        late = walk.listeners or engine.anomaly.check is not None
        passage = Passage(walk.call, walk.nodes, walk.retain is True, late, self._mark())
        self.passages.append(passage)
        self.open[walk] = Open(passage, walk.thread, walk.order)

    def _finish(self, walk: Walk, raised: bool) -> Open | None:
        """Log what a walk has released. Returns its nodes, for the caller to drop."""
        opened = self.open.pop(walk, None)
        if opened is None:
            return None
        live, mark, passage = self._live, walk.mark, opened.passage
        passed, unreleased = [], []
        for node in reversed(opened.order):
            seq = node.seq
            if seq in live:
                passed.append(seq)
                state = node.state
                if state is mark or (state is not None and state.released is mark.released):
                    del live[seq]
                else:
                    unreleased.append(seq)
                    if live[seq] is None:
                        live[seq] = self._reference(node, seq)
        passage.passed, passage.unreleased = array("q", passed), frozenset(unreleased)
        passage.pins, passage.brought = tuple(opened.pins), tuple(opened.brought)
        passage.raised = raised
        passage.end = self._before = self._mark()
        return opened

    def _pin(self, thread: int) -> None:
        """Write down how far the walks of this thread have come."""
        for walk, opened in list(self.open.items()):
            if opened.thread == thread:
                oldest = _front(opened) if walk.current_node is None else walk.current_node.seq + 1
                if oldest is not None:
                    opened.pins.append((tick(), oldest))

    def _brought_back(self) -> None:
        """Write down what packed values hold now that a checkpoint's function ran again."""
        for opened in self.open.values():
            if opened.thread != this_thread():
                continue
            for node in reversed(opened.order):
                if isinstance(node, packing.Unpacking):
                    held = {id(a) for slot, _ in node.saved for a in arrays_in(getattr(node, slot))}
                    if held == opened.packed.get(node.seq):
                        continue
                    opened.packed[node.seq] = held
                    number, reader = tick(), self.kinds[type(node)]
                    if reader and self._entry(number, node, reader, self._module(node.site)):
                        opened.brought.append((node.seq, number))


def _front(opened: Open) -> int | None:
    """The number of the oldest node that a walk has released so far."""
    order, at = opened.order, opened.front
    missing = 0
    while at < len(order) and missing < _GAP:
        node = order[-1 - at]
        at += 1
        if type(node) is Leaf:
            continue
        missing += 1
        if node.state is not None and node.state.released is opened.passage.call:
            opened.front, missing = at, 0
    return order[-opened.front].seq if opened.front else None
