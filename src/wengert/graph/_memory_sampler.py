"""Samples the memory that all live operations hold, at little cost."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from time import perf_counter, thread_time
from typing import Any
from weakref import ref

from wengert.autograd.gc_queries import complete_nodes
from wengert.core.tensor import Leaf, Node
from wengert.graph.memory import Held, bytes_in, owners_of, owners_of_leaves
from wengert.graph.nodes import is_released, leaves_of

# Limits on the time spent: so many seconds, plus a fraction of the run. The smaller fraction holds
# while nothing new turns up.
_FREE, _MOST, _LEAST = 0.2, 0.03, 0.005
_FIRST = 32  # opportunities before samples may become rarer
# The youngest generation whose collections move objects among the old ones.
_MOVING = 0 if sys.version_info >= (3, 14) else 1


class MemorySampler:
    """Measures the operations that are alive and not released, on all threads.

    The garbage collector keeps young objects apart from the far more numerous old ones. Old ones
    are searched only after the collector has moved objects among them. While samples find nothing
    that the caller did not already know of, they become rarer.
    """

    def __init__(self) -> None:
        self._began, self._spent = perf_counter(), 0.0
        self._polls = self._next = 0
        self._kinds = _Kinds()
        self._old: list[ref[Node]] = []
        self._moved: tuple[int, ...] | None = None

    def held(self, apart: Sequence[Node] = ()) -> tuple[Held, int]:
        """What they keep, and the bytes kept by none of `apart`. The collector must be off."""
        begin = thread_time()
        aside = set(map(id, apart))
        others = [node for node in self._live_nodes() if id(node) not in aside]
        own = owners_of_leaves([*apart, *leaves_of(apart), *leaves_of(others)])
        theirs = owners_of(others)
        everything = owners_of(apart) | theirs
        of_leaves = bytes_in(base for key, base in everything.items() if key in own)
        of_others = bytes_in(base for key, base in theirs.items() if key not in own)
        held = Held(bytes_in(everything.values()) - of_leaves, of_leaves)
        self._spent += thread_time() - begin
        if not of_others and self._polls > _FIRST:
            self._next = 2 * self._polls
        return held, of_others

    def is_due(self) -> bool:
        """Whether a sample is due; to be called at each opportunity."""
        self._polls += 1
        return self.is_cheap() if self._polls >= self._next else self._spent < _LEAST * self._age()

    def is_cheap(self) -> bool:
        """Whether sampling has stayed within its budget so far."""
        return self._spent < _FREE + _MOST * self._age()

    def _age(self) -> float:
        return perf_counter() - self._began

    def _live_nodes(self) -> list[Node]:
        moved = tuple([each["collections"] for each in gc.get_stats()[_MOVING:]])
        if moved != self._moved:
            self._moved = moved
            self._old = list(map(ref, self._unreleased_nodes(gc.get_objects(generation=2))))
        nodes = self._unreleased_nodes(gc.get_objects(generation=0))
        nodes += self._unreleased_nodes(gc.get_objects(generation=1))
        young_ids = {id(node) for node in nodes}
        old = [node for r in self._old if (node := r()) is not None and id(node) not in young_ids]
        return nodes + [node for node in old if not is_released(node)]

    def _unreleased_nodes(self, objects: list[Any]) -> list[Node]:
        kinds = self._kinds
        try:
            candidates = [obj for obj in objects if kinds[type(obj)]]
        except TypeError:  # a class that cannot be hashed
            candidates = [obj for obj in objects if issubclass(type(obj), Node)]
        nodes = complete_nodes(node for node in candidates if type(node) is not Leaf)
        return [node for node in nodes if not is_released(node)]


class _Kinds(dict[type, bool]):
    """Whether a class is one of nodes."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = is_node = issubclass(kind, Node)
        return is_node
