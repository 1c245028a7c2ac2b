"""What native code is told that follows the record: where objects lie, and what a call is like."""

from __future__ import annotations

from wengert.kernels.jit.builtins import i64, i64s
from wengert.kernels.jit.records import Record
from wengert.replay.trace import Known, Memo, OpEntry


class Facts(Record):
    """The addresses of objects, and how far slots are from those that have them."""

    none: i64
    true: i64
    tuple_type: i64
    float_type: i64
    site_type: i64
    inside_type: i64
    entry_type: i64
    deferred_type: i64
    inferences: i64
    dispatched: i64
    anomaly: i64
    getframe: i64
    new: i64
    tick: i64
    # Names.
    enabled: i64
    site: i64
    where: i64
    off: i64
    watch: i64
    are_as: i64
    is_current: i64
    if_settled: i64
    # Slots of an entry.
    hot: i64
    quick: i64
    look: i64
    others: i64
    # Slots of a run.
    entry: i64
    follows: i64
    left: i64
    state: i64
    steps: i64
    outputs: i64
    numbers: i64
    tensors: i64
    originals: i64
    arrays: i64
    edges: i64
    updates: i64
    slots: i64
    holds: i64
    saver: i64
    # Slots of a tensor.
    tensor_array: i64
    tensor_edge: i64
    leaf_type: i64
    array_type: i64
    # Slots of a memo.
    memo_tensor: i64
    memo_array: i64


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
        plain: whether all other arguments are objects that never change, or new tensors.
        values, again, lasting, fresh, floats: how many pairs there are of an argument's index and,
            one kind after the other, the place of a value, the slot of an input, the address of
            such an object, that of a new tensor's `Memo`, and nothing. After all of them come how
            the new tensors require grad, in pairs with nothing.
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
    plain: i64
    values: i64
    again: i64
    lasting: i64
    fresh: i64
    floats: i64
    pairs: i64s


def packed(entry: OpEntry, front: int) -> bytes:
    """What an entry looks at, whose front is so many frames above `Run.quickly`."""
    lasting = [(k, id(one.value)) for k, one in entry.others if type(one) is Known and one.lasts]
    new = [(k, one) for k, one in entry.others if type(one) is Memo and one.input.is_tensor]
    plain = len(lasting) + len(new) == len(entry.others)
    if not plain:
        lasting, new = [], []
    fresh, grads = [(k, id(one)) for k, one in new], [(one.input.grad, 0) for _, one in new]
    floats = [(k, 0) for k in entry.floats]
    pairs = [*entry.values, *entry.again, *lasting, *fresh, *floats, *grads]
    look = Look(
        count=entry.count, grad=entry.grad, shares=bool(entry.op.view), depth=entry.reach - 1,
        code=id(entry.code), inner=0 if entry.reach == front else id(entry.inner),
        lasti=entry.lasti, end=entry.end, shows=entry.shows,
        single=entry.single, results=len(entry.outlines), outlines=id(entry.outlines), plain=plain,
        values=len(entry.values), again=len(entry.again), lasting=len(lasting), fresh=len(fresh),
        floats=len(floats), pairs=[number for pair in pairs for number in pair],
    )  # fmt: skip
    return look.tobytes()
