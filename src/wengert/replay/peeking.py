"""Looks at deferred values that leave them deferred: checks of elements come when they come.

What an operation refuses, such as an index out of bounds, it refuses when it is called. A program
of its own computes what is looked at; it is computed once more with all the rest. Where that would
take long, what it computes is kept if a graph waits for its backward (see `reading`); otherwise
looking ends the run, as reading does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core.preparations import preparation
from wengert.core.tensor import Tensor
from wengert.kernels.scatter.native import within
from wengert.replay.deferred import Deferred
from wengert.replay.plans import ValuePlan, count_use
from wengert.replay.ranges import range_of
from wengert.replay.reading import read_ahead
from wengert.replay.record import MOST_PLANS, Record
from wengert.replay.trace import Entry

if TYPE_CHECKING:
    from wengert.replay.run import Run

# The elements that such a program may compute, in bytes, and the instructions of those of one run.
_MOST_BYTES, _MOST_INSTRUCTIONS = 1 << 20, 512


class Peek(ValuePlan):
    """A program that computes one value of a run, and nothing of its graph.

    Attributes:
        is_small: whether it is fast enough to be computed twice.
    """

    def __init__(self, entry: Entry, place: int, record: Record) -> None:
        super().__init__(entry, (place,), False, record)
        types = self.program.types  # compiled, it has other values
        made = [v for i in self.program.instructions for v in i.outputs]
        self.is_small = sum(types[v].nbytes for v in made) <= _MOST_BYTES


def peeked(tensor: Any) -> np.ndarray | None:
    """The elements of a deferred value; None for others, and where they are to be read."""
    pending = tensor._pending if type(tensor) is Deferred else None
    if type(pending) is not tuple:
        return None
    run: Any = pending[0]
    with run.lock:
        if run.settled or run.recording or not run.steps or tensor._pending is not pending:
            return None
        found = _computed(run, pending[1])
    return read_ahead(tensor, None) if found is None else found


def are_within(index: Any, low: int, length: int) -> bool:
    """Whether a tensor has indices, all of them in [low, length); False if they are to be read."""
    pending = index._pending if type(index) is Deferred else None
    if type(pending) is tuple:
        least, most = range_of(pending[0].entry, pending[1])
        if least >= low and most < length and pending[2].size:
            return True
    return _are_within(index, low, length)


@preparation
def _are_within(index: Any, low: int, length: int) -> bool:
    places = peeked(index)
    if places is None:
        if type(index) is not Tensor:
            return False
        places = index._array
    if type(places) is not np.ndarray or places.dtype.kind != "i" or not places.size:
        return False
    if within(places, length):
        return True
    return bool(places.min() >= low and places.max() < length)


def _computed(run: Run, place: int) -> np.ndarray | None:
    record, key = run.record, (run.entry, place)
    peek = record.peeks.get(key)
    if peek is None:
        if len(record.peeks) >= MOST_PLANS:
            return None
        peek = record.peeks[key] = Peek(run.entry, place, record)
    run.peeked += len(peek.program.instructions)
    if run.peeked > _MOST_INSTRUCTIONS or not peek.is_small:
        return None
    count_use(peek, record)
    return np.asarray(peek.results(run)[0])
