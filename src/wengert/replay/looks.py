"""What a call has to be like to go on along the record, as numbers for native code to compare."""

from __future__ import annotations

from typing import Any

from wengert.kernels.jit.builtins import i64, i64s
from wengert.kernels.jit.records import Record


class Look(Record):
    """What an entry looks at: see `OpEntry.quick`.

    Attributes:
        count: how many arguments there are.
        grad: whether operations are recorded; `shares` says whether the result is a view.
        depth: how many frames are from the operation's front to the line, which is of `code` at
            one of two offsets; `inner` is the code of the first frame outside of the front, or 0 if
            that is the line's.
        shows: whether the result shows the first argument's memory.
        single: whether there is one result, and no tuple of them; `results` says how many.
        outlines: the address of the tuple that says what they are like.
        lasting: whether all other arguments are objects that never change.
        values, again, others, floats: how many pairs there are of an argument's index and, one
            kind after the other, the place of a value, the slot of an input, the address of such an
            object, and nothing.
    """

    count: i64
    grad: i64
    shares: i64
    depth: i64
    code: i64
    inner: i64
    lasti: i64
    end: i64
    shows: i64
    single: i64
    results: i64
    outlines: i64
    lasting: i64
    values: i64
    again: i64
    others: i64
    floats: i64
    pairs: i64s


def packed(entry: Any, front: int, lasting: list[tuple[int, int]] | None) -> bytes:
    """What an `OpEntry` looks at, whose front is so many frames above `Run.quickly`.

    `lasting` has the objects that other arguments are, None if some are not such objects.
    """
    others, floats = lasting or [], [(k, 0) for k in entry.floats]
    pairs = [*entry.values, *entry.again, *others, *floats]
    look = Look(
        count=entry.count, grad=entry.grad, shares=bool(entry.op.view), depth=entry.reach - 1,
        code=id(entry.code), inner=0 if entry.reach == front else id(entry.inner),
        lasti=entry.lasti, end=entry.end, shows=entry.shows,
        single=entry.single, results=len(entry.outlines), outlines=id(entry.outlines),
        lasting=lasting is not None,
        values=len(entry.values), again=len(entry.again), others=len(others), floats=len(floats),
        pairs=[number for pair in pairs for number in pair],
    )  # fmt: skip
    return look.tobytes()
