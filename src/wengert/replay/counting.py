"""The backwards of compiled functions, for who counts them."""

from __future__ import annotations

from collections import Counter

from wengert.autograd.counters import counters
from wengert.autograd.naming import public_name
from wengert.core.tensor import Call
from wengert.replay.trace import BackwardEntry, OpEntry, Ref, producers


def count_backward(walk: BackwardEntry) -> None:
    """Tell of a backward that a program is to do."""
    if not counters:
        return
    if walk.counted is None:
        assert walk.code is not None
        call = Call(walk.name, walk.code, walk.lasti)
        walk.counted = call, _operations(walk), int(not walk.onward)
    for count in counters.values():
        count(*walk.counted)


def _operations(walk: BackwardEntry) -> Counter[str]:
    """The operations that it goes through, by their names."""
    by_place, names = producers(walk.path()), Counter[str]()
    for place in walk.reach.places:
        entry = by_place[place]
        assert isinstance(entry, OpEntry)
        if walk.sends(Ref("value", place)):
            names[public_name(entry.op, len(entry.outlines[0].shape))] += 1
    return names
