"""Native segments: instructions of a program that are one call from Python.

A segment's memory is planned when it is made. Its intermediate values share one block, in which
each has its place from the call that writes it to the last one that reads it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from functools import partial
from heapq import heappop, heappush
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from wengert.kernels import jit
from wengert.kernels.jit.heads import Layouts
from wengert.kernels.jit.pace import pace
from wengert.kernels.layout import with_strides
from wengert.replay.emitting import Call, Emitter, Scalar, View, views_of
from wengert.replay.ir import Instruction, Program
from wengert.replay.packing import packed_once
from wengert.replay.placing import placed

# Bytes between the beginnings of blocks: a line of the caches.
_LINE = 64
# Bytes of a value that has a block for itself.
_LARGE = 1 << 16


class Segment:
    """Calls of kernels, as one function of arrays.

    Attributes:
        inputs: the values that it reads, `outputs` those that it gives.
        members: the instructions, which run one by one where arrays lie in other ways than planned.
        blocks: the bytes of the blocks of memory that hold its intermediate values.
    """

    members: Sequence[Instruction] = ()

    def __init__(
        self, program: Program, emitter: Emitter, calls: list[Call], inputs: list[int],
        outputs: list[int],
    ) -> None:  # fmt: skip
        from wengert.kernels.jit.sequence import runner

        self.constants = program.constants
        given = [v for v in inputs if v not in program.constants]
        self.inputs, self.outputs, self.threads = given, outputs, emitter.threads
        views = [emitter.views[v] for v in (*given, *outputs)]
        self.wanted = [
            (v.shape, tuple([s * v.dtype.itemsize for s in v.strides]), v.dtype)
            for v in views[: len(given)]
        ]
        self.layouts = Layouts(self.wanted, reading=True)
        self.made = [(v.shape, v.dtype) for v in views[len(given) :]]
        self.lock, self.run = Lock(), runner()
        self.kept: list[Any] = []
        passed = {id(a) for call in calls for a in call.arguments}
        self.refusals = [r for r in emitter.refusals if id(r.wrong) in passed]
        self._plan(emitter, calls)

    def _plan(self, emitter: Emitter, calls: list[Call]) -> None:
        """Write the table of calls, and their arguments."""
        from wengert.kernels.jit import compiler

        outside = {*self.inputs, *self.outputs, *self.constants}
        calls = placed(calls, partial(_size_of, emitter=emitter), outside, emitter.changed)
        calls = packed_once(calls, emitter)
        calls = _with_scalars(calls)
        places, self.blocks = planned(calls, emitter, outside)
        first = len(self.inputs) + len(self.outputs)
        order = {v: k for k, v in enumerate((*self.inputs, *self.outputs))}
        starts: list[int] = []
        size = 0
        for call in pace.over(calls):
            starts.append(size)
            size += len(call.arguments)
        self.words = words = np.zeros(max(1, size), np.int64)
        filled: list[tuple[int, int, int]] = []
        table: list[tuple[int, int, int, int]] = []
        for call, start in pace.over(zip(calls, starts, strict=True)):
            task, kinds = compiler.task(call.kernel)
            table.append((task, start, call.total, call.chunk))
            for k, (argument, kind) in enumerate(zip(call.arguments, kinds, strict=True)):
                if isinstance(argument, View):
                    bytes = argument.offset * argument.dtype.itemsize
                    if argument.root in order:
                        filled.append((order[argument.root], start + k, bytes))
                    elif argument.root in places:
                        block, place = places[argument.root]
                        filled.append((first + block, start + k, place + bytes))
                    else:
                        words[start + k] = _address(self._constant(argument.root)) + bytes
                elif isinstance(argument, _Word):
                    words[start + k] = _address(words) + 8 * (starts[argument.call] + argument.at)
                else:
                    words[start + k] = self._number(argument, kind)
        numbers = [len(table), len(filled), *chain(*filled), *chain(*table)]
        self.control = np.array(numbers, np.int64)

    def _constant(self, value: int) -> np.ndarray:
        array = np.ascontiguousarray(self.constants[value])
        self.kept.append(array)
        return array

    def _number(self, argument: Any, kind: str) -> int:
        """The word of an argument that is the same at every call."""
        if argument is None:
            return 0
        if kind == "p":
            self.kept.append(argument)
            return _address(argument)
        if kind == "f":
            return int(np.float32(argument).view(np.uint32))
        return int(np.float64(argument).view(np.int64)) if kind == "d" else int(argument)

    def __call__(self, *arrays: Any) -> Sequence[Any]:
        if jit.get_threads() != self.threads or not self.lock.acquire(False):
            return self.one_by_one(arrays)
        try:
            given: list[Any] = [*arrays]
            if not self.layouts.fit(given):
                laid = self._laid_out(arrays)
                if laid is None:
                    return self.one_by_one(arrays)
                given = laid
            results = [np.empty(shape, dtype) for shape, dtype in self.made]
            blocks = [np.empty(size, np.uint8) for size in self.blocks]
            self.run(self.control, self.words, *given, *results, *blocks)
            if self.refusals:
                self._refuse()
        finally:
            self.lock.release()
        return results

    def _laid_out(self, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        """The arrays, or copies that lie as planned; None if some are others."""
        given: list[np.ndarray] = []
        for array, (shape, strides, dtype) in zip(arrays, self.wanted, strict=True):
            if type(array) is not np.ndarray or not array.flags.aligned:
                array = np.array(array)
            if array.shape != shape or array.dtype != dtype:
                return None
            given.append(array if array.strides == strides else with_strides(array, strides))
        return given

    def _refuse(self) -> None:
        """Raise an error if an index was out of bounds."""
        for wrong, error in self.refusals:
            if wrong[0]:
                wrong[0] = 0
                raise error(int(wrong[1]))

    def one_by_one(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """The instructions as they were."""
        values: dict[int, Any] = dict(self.constants) | dict(zip(self.inputs, arrays, strict=True))
        for member in self.members:
            found = member.compute(*[values[v] for v in member.inputs])
            if member.unpacked:
                values.update(zip(member.outputs, found, strict=True))
            else:
                values[member.outputs[0]] = found
        # Owned and dense, as those of the call: an instruction may give a view, or a number.
        return [np.array(values[v], order="C") for v in self.outputs]


class _Word:
    """The address of an argument of a call."""

    def __init__(self, call: int, at: int) -> None:
        self.call, self.at = call, at


def _with_scalars(calls: Sequence[Call]) -> list[Call]:
    """The calls, and before them copies of the scalars that they take as numbers."""
    from wengert.kernels import copies

    found: list[Call] = []
    for call in pace.over(calls):
        scalars = [k for k, a in enumerate(call.arguments) if isinstance(a, Scalar)]
        place = len(found) + len(scalars)
        arguments = list(call.arguments)
        for k in scalars:
            source, arguments[k] = arguments[k].view, 0.0
            copy = (source, _Word(place, k), 1, 1, 1)
            found.append(Call(copies.copy_rows.f32, copy, 1, 1))
        found.append(call._replace(arguments=tuple(arguments)))
    return found


def planned(
    calls: Sequence[Call], emitter: Emitter, outside: set[int]
) -> tuple[dict[int, tuple[int, int]], list[int]]:
    """Of each intermediate value its block and its place there, and the bytes of the blocks.

    It has them from the call that writes it to the last that reads it. Small ones are in the first
    block, each in the first gap that is free. Large ones are in blocks of the size of the largest,
    which are free at other times for others: memory of such sizes is what eager mode has left
    behind.
    """
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for k, call in enumerate(pace.over(calls)):
        for view in views_of(call):
            if view.root not in outside:
                first.setdefault(view.root, k)
                last[view.root] = k
    sizes = {root: _bytes_of(root, emitter) for root in first}
    spans = {root: (first[root], last[root]) for root in first}  # in the order of their calls
    places: dict[int, tuple[int, int]] = {}
    small = _place_small([r for r in spans if sizes[r] < _LARGE], sizes, spans, places)
    large = sorted([r for r in spans if sizes[r] >= _LARGE], key=sizes.__getitem__, reverse=True)
    return places, [small, *_place_large(large, sizes, spans, places)]


def _place_small(
    roots: list[int], sizes: dict[int, int], spans: dict[int, tuple[int, int]],
    places: dict[int, tuple[int, int]],
) -> int:  # fmt: skip
    """Give each a place in the first block, and that its bytes."""
    alive: list[tuple[int, int, int]] = []  # a heap: their last call, where they begin and end
    gaps, most = [(0, 1 << 62)], 0  # in order
    for root in pace.over(roots):
        start, end = spans[root]
        while alive and alive[0][0] < start:
            _, low, high = heappop(alive)
            _give_back(gaps, low, high)
        size = sizes[root]
        k = next(k for k, (low, high) in enumerate(gaps) if high - low >= size)
        low, high = gaps[k]
        gaps[k : k + 1] = [(low + size, high)] if high - low > size else []
        places[root] = 0, low
        heappush(alive, (end, low, low + size))
        most = max(most, low + size)
    return most


def _give_back(gaps: list[tuple[int, int]], low: int, high: int) -> None:
    """Make a gap, and one with those beside it."""
    k = bisect(gaps, (low, high))
    first = last = k
    if k and gaps[k - 1][1] == low:
        first, low = k - 1, gaps[k - 1][0]
    if k < len(gaps) and gaps[k][0] == high:
        last, high = k + 1, gaps[k][1]
    gaps[first:last] = [(low, high)]


def _place_large(
    roots: list[int], sizes: dict[int, int], spans: dict[int, tuple[int, int]],
    places: dict[int, tuple[int, int]],
) -> list[int]:  # fmt: skip
    """Give each a place in one of the other blocks, of which these are the bytes."""
    blocks, tenants, busy = list[int](), list[list[int]](), list[int]()
    for root in pace.over(roots):
        size, (start, end) = sizes[root], spans[root]
        calls = (2 << end) - (1 << start)  # as bits
        for block, room in enumerate(blocks):
            if not busy[block] & calls:
                place = 0
                break
            if 2 * size <= room:  # others there are as large, or larger
                taken = [
                    (places[o][1], places[o][1] + sizes[o], 0) for o in tenants[block]
                    if spans[o][1] >= start and spans[o][0] <= end
                ]  # fmt: skip
                place = _gap(size, sorted(taken))
                if place + size <= room:
                    break
        else:
            block, place = len(blocks), 0
            blocks.append(size)
            tenants.append([])
            busy.append(0)
        places[root] = block + 1, place
        busy[block] |= calls
        tenants[block].append(root)
    return blocks


def _gap(size: int, taken: list[tuple[int, int, int]]) -> int:
    """The first place for so many bytes beside what is taken, in order."""
    place = 0
    for start, stop, _ in taken:
        if place + size <= start:
            break
        place = max(place, stop)
    return place


def _size_of(root: int, emitter: Emitter) -> int:
    """The bytes of a root."""
    if root < 0:
        return emitter.temporaries[root]
    view = emitter.views[root]
    return view.size * view.dtype.itemsize


def _bytes_of(root: int, emitter: Emitter) -> int:
    return -(-max(_size_of(root, emitter), 1) // _LINE) * _LINE


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
