"""What a run remembers for whoever asks afterwards why a gradient is missing.

The latest numbers that left a graph, and the latest gradients that were dropped. Both are few
and hold no tensor.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, NamedTuple

from wengert._core import Cut, Tensor, caller, cut_at, getframe, tick


class Escape(NamedTuple):
    """Values of a tensor with a graph that became Python numbers or a NumPy array."""

    value: Any
    cut: Cut


class Drop(NamedTuple):
    """A call that set gradients to None: when, whose, and at which line."""

    seq: int
    owner: weakref.ref[Any]
    cut: Cut


escapes: deque[Escape] = deque(maxlen=64)
drops: deque[Drop] = deque(maxlen=64)


def escaped(what: str, tensor: Tensor) -> None:
    """Note that a tensor's values leave for where no graph follows, if it has one."""
    cut = cut_at(what, tensor)
    if cut is not None:
        array = tensor._array
        escapes.append(Escape(array.item() if array.size == 1 else None, cut))


def dropped(what: str, owner: Any) -> None:
    """Note that the gradients of a tensor, or of what an owner has, are set to None."""
    cut = Cut(what, *caller(getframe(1)))
    drops.append(Drop(tick(), weakref.ref(owner), cut))
