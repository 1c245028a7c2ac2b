"""The memory of a native segment: who has which place, from which call to which.

Intermediate values share blocks, in which each has its place from the call that writes it to the
last one that reads it. Results and blocks are there from the phase that needs them first, blocks to
the one that needs them last: gradients take the place of what was kept for them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import chain
from typing import NamedTuple

import numpy as np

from wengert.kernels.jit.pace import pace
from wengert.replay.emitting import Call, Emitter, views_of

# Bytes between the beginnings of places: a line of the caches.
_LINE = 64
# Bytes of a value that has a block for itself.
_LARGE = 1 << 16
# Phases, at most, of a segment that takes more than so many bytes.
_PHASES, _MUCH = 16, 1 << 22

Span = tuple[int, int]  # the first call and the last


class Block:
    """Memory that values share: its bytes, and the calls that need it.

    Attributes:
        busy: these calls as bits, where a value that has all of it is concerned.
        tenants: the values that have a place in it.
    """

    __slots__ = ("busy", "size", "span", "tenants")

    def __init__(self, size: int, span: Span) -> None:
        self.size, self.span, self.busy = size, span, 0
        self.tenants: list[int] = []

    def longer(self, span: Span) -> int:
        """For how many more calls it would be needed with one more value."""
        return max(self.span[0] - span[0], 0) + max(span[1] - self.span[1], 0)

    def let(self, root: int, span: Span) -> None:
        """Give a place to a value."""
        first, last = span
        self.tenants.append(root)
        self.span = min(first, self.span[0]), max(last, self.span[1])
        self.busy |= (2 << last) - (1 << first)


class Phase(NamedTuple):
    """Calls as `kernels.jit.sequence` reads them.

    Attributes:
        slots: the arrays that are made before, whose addresses the calls are given; `dropped` are
            those that are not needed any more.
    """

    control: np.ndarray
    slots: list[int]
    dropped: list[int]


def spans_of(calls: Sequence[Call], results: Sequence[int]) -> list[Span]:
    """From which call on results are needed, up to the end."""
    first: dict[int, int] = {}
    for k, call in enumerate(pace.over(calls)):
        for view in views_of(call):
            first.setdefault(view.root, k)
    return [(first.get(root, 0), len(calls)) for root in results]


def phases_of(
    sizes: Sequence[int], spans: Sequence[Span], given: int,
    table: Sequence[tuple[int, ...]], filled: Sequence[tuple[int, int, int]],
) -> tuple[list[Phase], int]:  # fmt: skip
    """The phases of the calls in a table, and the most bytes of arrays that are there in one.

    The arrays have `sizes`, and `spans` in which they are needed. `filled` says where addresses go:
    those of arrays come after those of the `given` ones.
    """
    count = _PHASES if sum(sizes) > _MUCH else 1
    starts = {k * len(table) // count for k in range(count)}
    made = {max([s for s in starts if s <= first]) for first, _ in spans}
    bounds = sorted({0, *made})
    phases, alive, most = list[Phase](), set[int](), 0
    for start, stop in zip(bounds, [*bounds[1:], len(table)], strict=True):
        dropped = sorted(k for k in alive if spans[k][1] < start)
        slots = [k for k, (first, _) in enumerate(spans) if start <= first < max(stop, 1)]
        alive = alive.difference(dropped).union(slots)
        most = max(most, sum(sizes[k] for k in alive))
        order = {k: k for k in range(given)} if not start else {}
        order |= {given + k: len(order) + place for place, k in enumerate(slots)}
        own = [(order[array], *to) for array, *to in filled if array in order]
        numbers = [stop - start, len(own), *chain(*own), *chain(*table[start:stop])]
        phases.append(Phase(np.array(numbers, np.int64), slots, dropped))
    return phases, most


def planned(
    calls: Sequence[Call], emitter: Emitter, outside: set[int]
) -> tuple[dict[int, tuple[int, int]], list[Block]]:
    """Of each intermediate value its block and its place there, and the blocks.

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
    sizes = {root: _lines_of(root, emitter) for root in first}
    spans = {root: (first[root], last[root]) for root in first}  # in the order of their calls
    places: dict[int, tuple[int, int]] = {}
    small = _place_small([r for r in spans if sizes[r] < _LARGE], sizes, spans, places)
    large = sorted([r for r in spans if sizes[r] >= _LARGE], key=sizes.__getitem__, reverse=True)
    first_block = Block(small, (0, max(len(calls) - 1, 0)))
    return places, [first_block, *_place_large(large, sizes, spans, places)]


def _place_small(
    roots: list[int], sizes: dict[int, int], spans: dict[int, Span],
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
    roots: list[int], sizes: dict[int, int], spans: dict[int, Span],
    places: dict[int, tuple[int, int]],
) -> list[Block]:  # fmt: skip
    """Give each a place in one of the other blocks: in that which it keeps for the fewest calls."""
    blocks = list[Block]()
    for root in pace.over(roots):  # each as large as all that follow
        size, span = sizes[root], spans[root]
        best: tuple[int, int, int] | None = None
        for number, block in enumerate(blocks):
            longer = block.longer(span)
            if best is not None and longer >= best[0]:
                continue
            place = _place_in(block, size, span, places, sizes, spans)
            if place is not None:
                best = longer, number, place
                if not longer:
                    break
        if best is None:
            best = 0, len(blocks), 0
            blocks.append(Block(size, span))
        _, number, place = best
        places[root] = number + 1, place
        blocks[number].let(root, span)
    return blocks


def _place_in(
    block: Block, size: int, span: Span, places: dict[int, tuple[int, int]],
    sizes: dict[int, int], spans: dict[int, Span],
) -> int | None:  # fmt: skip
    """Where there is room in a block, if there is."""
    start, end = span
    if not block.busy & ((2 << end) - (1 << start)):
        return 0
    if 2 * size > block.size:  # others there are as large, or larger
        return None
    taken = [
        (places[o][1], places[o][1] + sizes[o], 0) for o in block.tenants
        if spans[o][1] >= start and spans[o][0] <= end
    ]  # fmt: skip
    place = _gap(size, sorted(taken))
    return place if place + size <= block.size else None


def _gap(size: int, taken: list[tuple[int, int, int]]) -> int:
    """The first place for so many bytes beside what is taken, in order."""
    place = 0
    for start, stop, _ in taken:
        if place + size <= start:
            break
        place = max(place, stop)
    return place


def size_of(root: int, emitter: Emitter) -> int:
    """The bytes of a root."""
    if root < 0:
        return emitter.temporaries[root]
    view = emitter.views[root]
    return view.size * view.dtype.itemsize


def _lines_of(root: int, emitter: Emitter) -> int:
    return -(-max(size_of(root, emitter), 1) // _LINE) * _LINE
