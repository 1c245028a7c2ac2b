"""What settling reads of a run: a protocol, as calls that never defer are settled as well."""

from __future__ import annotations

from typing import Any, Protocol

from wengert.autograd.onward import Onward
from wengert.replay.rules import Step


class Bindings(Protocol):
    """The inputs and steps of a run; the names are those of `Run`."""

    tensors: list[Any]
    arrays: list[Any]
    originals: list[Any]
    edges: list[Any]
    steps: list[Step]
    updates: dict[int, Any]
    onward: dict[int, Onward]


class Binding:
    """That of a call whose values are computed at once: nobody writes to its inputs before."""

    __slots__ = ("arrays", "edges", "onward", "originals", "steps", "tensors", "updates")

    def __init__(
        self, tensors: list[Any], arrays: list[Any], edges: list[Any], steps: list[Step],
        updates: dict[int, Any],
    ) -> None:  # fmt: skip
        self.tensors, self.edges, self.steps, self.updates = tensors, edges, steps, updates
        self.arrays = self.originals = arrays
        self.onward: dict[int, Onward] = {}
