"""All operations that are alive, looked for again and again at little cost."""

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

# Looks take no more than so many seconds and a part of the time; where nothing was seen lately a
# smaller part.
_FREE, _MOST, _LEAST = 0.2, 0.03, 0.005
_FIRST = 32  # looks before that is asked
# The youngest generation whose collections move objects among the old ones.
_MOVING = 0 if sys.version_info >= (3, 14) else 1


class Looks:
    """Finds the operations that are alive and not released, on all threads.

    The garbage collector keeps young objects apart from old ones, of which there are many more.
    These are looked through only when it has moved some there since. As long as nothing is seen
    that is not looked for anyway, looks become seldom.
    """

    def __init__(self) -> None:
        self._began, self._spent = perf_counter(), 0.0
        self._asked = self._next = 0
        self._kinds = _Kinds()
        self._old: list[ref[Node]] = []
        self._moved: tuple[int, ...] | None = None

    def held(self, apart: Sequence[Node] = ()) -> tuple[Held, int]:
        """What they keep, and the bytes that others than some keep; the collector has to be off."""
        begin = thread_time()
        aside = set(map(id, apart))
        others = [node for node in self._look() if id(node) not in aside]
        own = owners_of_leaves([*apart, *leaves_of(apart), *leaves_of(others)])
        theirs = owners_of(others)
        everything = owners_of(apart) | theirs
        of_leaves = bytes_in(base for key, base in everything.items() if key in own)
        of_others = bytes_in(base for key, base in theirs.items() if key not in own)
        held = Held(bytes_in(everything.values()) - of_leaves, of_leaves)
        self._spent += thread_time() - begin
        if not of_others and self._asked > _FIRST:
            self._next = 2 * self._asked
        return held, of_others

    def are_due(self) -> bool:
        """Whether it is time for one; to be asked at each opportunity."""
        self._asked += 1
        return self.are_cheap() if self._asked >= self._next else self._spent < _LEAST * self._age()

    def are_cheap(self) -> bool:
        """Whether looks have not taken too long so far."""
        return self._spent < _FREE + _MOST * self._age()

    def _age(self) -> float:
        return perf_counter() - self._began

    def _look(self) -> list[Node]:
        moved = tuple([each["collections"] for each in gc.get_stats()[_MOVING:]])
        if moved != self._moved:
            self._moved = moved
            self._old = list(map(ref, self._unreleased(gc.get_objects(generation=2))))
        nodes = self._unreleased(gc.get_objects(generation=0))
        nodes += self._unreleased(gc.get_objects(generation=1))
        known = {id(node) for node in nodes}
        old = [node for r in self._old if (node := r()) is not None and id(node) not in known]
        return nodes + [node for node in old if not is_released(node)]

    def _unreleased(self, things: list[Any]) -> list[Node]:
        kinds = self._kinds
        try:
            found = [thing for thing in things if kinds[type(thing)]]
        except TypeError:  # a class that cannot be hashed
            found = [thing for thing in things if issubclass(type(thing), Node)]
        nodes = complete_nodes(node for node in found if type(node) is not Leaf)
        return [node for node in nodes if not is_released(node)]


class _Kinds(dict[type, bool]):
    """Whether a class is one of nodes."""

    def __missing__(self, kind: type) -> bool:
        self[kind] = found = issubclass(kind, Node)
        return found
