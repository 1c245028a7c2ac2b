"""Detects writes to saved values that bypass tensor operations.

In-place operations stamp the memory that they write to. NumPy, or native code, stamps nothing,
so anomaly detection can be asked to compare: each saved value is stored with a digest, which
must be the same when a backward begins. Otherwise nothing is checked.

The digest is a CRC-32 of the elements, in logical order. Unlike a sum it detects swapped
elements; it always detects a change within four consecutive bytes, and misses others with a
chance of one in 2**32; it reads some 3 GB/s. Packed values are the hook's responsibility,
unless they are the very tensor that was saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np

from wengert.autograd import errors, naming
from wengert.autograd.engine import Walk, anomaly, observers
from wengert.autograd.saved.packing import Packed, set_witness
from wengert.core.sparse import stored_array
from wengert.core.tensor import Node, Tensor, tick

Key = tuple[str, int]  # of a saved array: its slot, and its index if the slot holds a list


class _Digest(NamedTuple):
    """The digest of an array when it was saved."""

    crc: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    distinct: tuple[Any, ...] | None  # selects the elements not repeated by expansion


class _Memory:
    """The digests of a node's saved values, and when they were last verified."""

    __slots__ = ("__weakref__", "digests", "seen", "where")

    def __init__(self, digests: dict[Key, _Digest]) -> None:
        self.digests = digests
        self.seen = 0  # on the clock that orders nodes as well
        self.where = ""


_memories: WeakKeyDictionary[Node, _Memory] = WeakKeyDictionary()


def watch(on: bool) -> None:
    """Turn on or off digests of what this thread's operations save, verified in each backward."""
    anomaly.check_writes = on
    set_witness(_remember if on else None)
    if _verify in observers:
        observers.remove(_verify)
    if on:
        observers.insert(0, _verify)  # the other listeners hear only of walks that do begin


def _remember(node: Node) -> None:
    """Store the digests of a recorded node."""
    if node.saved and anomaly.check_writes:  # it may be another thread that ended the watch
        digests = {key: _digest_of(array) for key, array in _arrays(node)}
        if digests:
            _memories[node] = _Memory(digests)


def _verify(walk: Walk, event: str) -> None:
    """Before a walk changes anything, raise if a value it will use has changed."""
    if event != "before":
        return
    read: dict[int, int] = {}  # what several nodes saved is read once
    passed = []
    for node in walk.order:
        memory = _memories.get(node)
        if memory is None or node in walk.stops:
            continue
        for key, array in _arrays(node):
            digest = memory.digests.get(key)
            # An in-place operation may have left a value of another dtype in the output's place.
            if digest is None or array.dtype != digest.dtype or array.shape != digest.shape:
                continue
            crc = read.get(id(array))
            if crc is None:
                crc = read[id(array)] = _crc(array, digest.distinct)
            if crc != digest.crc:
                raise _error(walk, node, key, array)
        passed.append(memory)
    if passed:
        now, where = tick(), naming.describe_call(walk.call)
        for memory in passed:
            memory.seen, memory.where = now, where


def _arrays(node: Node) -> Iterator[tuple[Key, np.ndarray]]:
    """The arrays that a node saved and that have not been replaced since."""
    for slot, _ in node.saved:
        slot_value = getattr(node, slot)
        for k, value in enumerate(slot_value if type(slot_value) is list else (slot_value,)):
            if type(value) is Packed and value.same:
                value = value.value
            if isinstance(value, Tensor):
                value = stored_array(value)
            if type(value) is np.ndarray:
                yield (slot, k), value


def _digest_of(array: np.ndarray) -> _Digest:
    distinct = None
    if 0 in array.strides:
        distinct = tuple([slice(1) if step == 0 else slice(None) for step in array.strides])
    return _Digest(_crc(array, distinct), array.shape, array.dtype, distinct)


def _crc(array: np.ndarray, distinct: tuple[Any, ...] | None) -> int:
    if distinct is not None:
        array = array[distinct]
    return crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _error(walk: Walk, node: Node, key: Key, array: np.ndarray) -> errors.GraphError:
    since, until = _bounds(walk, node, key, array)
    writer = "no operation on tensors, but NumPy or other code that shares the memory"
    facts = [("written by", writer), ("after", since), ("before", until)]
    return errors.saved_tensor_overwritten_by(walk.call, node, key[0], array, facts, [
        "write to a copy: t.detach().numpy().copy(), torch.from_numpy(a.copy())",
        "give the operation that saved it a .clone()",
        "call backward before the write",
    ])  # fmt: skip


def _bounds(walk: Walk, node: Node, key: Key, array: np.ndarray) -> tuple[str, str]:
    """The last call that saw the elements unchanged, and the first that saw them changed.

    Calls that check are operations that saved the same elements, and backwards.
    """
    saved = _memories[node].digests[key].crc
    last, since = node.seq, naming.describe_node(node)
    first, until = float("inf"), naming.describe_call(walk.call)
    for other, memory in list(_memories.items()):
        for k, value in _arrays(other):
            digest = memory.digests.get(k)
            if digest is None or not _same(value, array):
                continue
            if digest.crc != saved:
                if node.seq < other.seq < first:
                    first, until = other.seq, naming.describe_node(other)
                continue
            if other.seq > last:
                last, since = other.seq, naming.describe_node(other)
            if memory.seen > last:
                last, since = memory.seen, memory.where
    return since, until


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same view of the same memory."""
    layouts = [(x.__array_interface__["data"][0], x.shape, x.strides, x.dtype) for x in (a, b)]
    return layouts[0] == layouts[1]
