"""What a run remembers for whoever asks afterwards why a gradient is missing.

The latest numbers that left a graph, and the latest gradients that were dropped. Both are few
and hold no tensor.
"""

from __future__ import annotations

import weakref
from collections import deque
from typing import Any, NamedTuple

from wengert._core import RawCut, Tensor, caller, cut_at, getframe, tick


class Drop(NamedTuple):
    """A call that set gradients to None: when, whose, and at which line."""

    seq: int
    owner: weakref.ref[Any]
    cut: RawCut


# Numbers that were in a graph (None for several of them), and where they left it.
escapes: deque[tuple[Any, RawCut]] = deque(maxlen=64)
drops: deque[Drop] = deque(maxlen=64)


def escaped(what: str, tensor: Tensor) -> None:
    """Note that a tensor's values leave for where no graph follows, if it has or had one."""
    cut = tensor._cut if tensor._edge is None else cut_at(what, tensor)
    if cut is not None:
        array = tensor._array
        escapes.append((array.item() if array.size == 1 else None, cut))


def dropped(what: str, owner: Any) -> None:
    """Note that the gradients of a tensor, or of what an owner has, are set to None."""
    drops.append(Drop(tick(), weakref.ref(owner), (what, *caller(getframe(1)), None)))
