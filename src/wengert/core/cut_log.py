"""A short log that later explains why a gradient is missing.

It holds the latest values that left a graph and the latest gradients set to None. Both
lists are bounded and hold no tensors.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from wengert.core.tensor import RawCut, Tensor, caller, getframe, tick


class Drop(NamedTuple):
    """A call that set gradients to None: when, whose, and at which line."""

    seq: int
    owner: weakref.ref[Any]
    cut: RawCut


class Escape(NamedTuple):
    """Values that left a graph: how many, the first of them, their memory, and at which line."""

    size: int
    first: tuple[Any, ...]
    memory: weakref.ref[np.ndarray]
    cut: RawCut


new_tuple = tuple.__new__  # in half the time that `Escape` takes by itself

FIRST = 4
escapes: deque[Escape] = deque(maxlen=64)
drops: deque[Drop] = deque(maxlen=64)


def note_escape(what: str, tensor: Tensor) -> None:
    """Record that a tensor's values leave the graph, if it has or had one."""
    edge = tensor._edge
    cut = tensor._cut if edge is None else (what, *caller(getframe(1)), weakref.ref(edge))
    if cut is not None:
        note_values(tensor._array, cut)


def note_values(array: np.ndarray, cut: RawCut) -> None:
    """Record that values leave a graph, or have left one."""
    first = (array.item(),) if array.size == 1 else tuple(array.flat[:FIRST].tolist())
    escapes.append(new_tuple(Escape, (array.size, first, weakref.ref(array), cut)))


def note_drop(what: str, owner: Any) -> None:
    """Record that the gradients of a tensor, or of an owner's tensors, are set to None."""
    drops.append(Drop(tick(), weakref.ref(owner), (what, *caller(getframe(1)), None)))
