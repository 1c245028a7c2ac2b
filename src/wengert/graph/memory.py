"""Bytes that a graph keeps alive, and the plain data of a report on a run."""

from __future__ import annotations

import dataclasses
import gc
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wengert.autograd.saved.packing import arrays_in
from wengert.core.signals import without_entry_signals
from wengert.core.storage import owner
from wengert.core.tensor import Leaf, Node, memory_of


class without_collecting:  # noqa: N801
    """The collector would run finalizers, and look at all that is being made again and again."""

    __slots__ = ("_enabled",)

    def __enter__(self) -> None:
        self._enabled = gc.isenabled()
        try:
            gc.disable()
        except BaseException:  # of a signal, which came after that
            self.__exit__()
            raise

    @without_entry_signals
    def __exit__(self, *_: object) -> None:
        if self._enabled:
            gc.enable()


@dataclass(frozen=True, slots=True)
class Held:
    """Bytes of the buffers behind saved values, each buffer counted once.

    Attributes:
        graph: buffers that the graph keeps.
        leaves: buffers of leaves (parameters, mostly), which exist without the graph too.
    """

    graph: int = 0
    leaves: int = 0


def held_by(nodes: Iterable[Node]) -> Held:
    """What the saved values of nodes keep alive; leaves among the nodes are set apart.

    Of what a hook packed, the tensors count that it is or contains; what is on disk does not.

    >>> import wengert
    >>> from wengert.graph import held_by
    >>> x = wengert.ones(3, requires_grad=True)
    >>> y = (x * 2).exp()
    >>> held_by([y.grad_fn])  # exp saves its output, 3 floats of 4 bytes
    Held(graph=12, leaves=0)
    """
    nodes = list(nodes)
    owners, own = owners_of(nodes), owners_of_leaves(nodes)
    leaves = bytes_in(base for key, base in owners.items() if key in own)
    return Held(bytes_in(owners.values()) - leaves, leaves)


def owners_of(nodes: Iterable[Node]) -> dict[int, np.ndarray]:
    """The arrays that own the memory of what nodes saved, by their ids."""
    owners: dict[int, np.ndarray] = {}
    for node in nodes:
        for slot, _ in node.saved:
            value = getattr(node, slot)
            if type(value) is np.ndarray and value.base is None:  # most of them
                owners[id(value)] = value
            elif value is not None:
                for array in arrays_in(value):
                    base = owner(array)
                    owners[id(base)] = base
    return owners


def owners_of_leaves(nodes: Iterable[Node]) -> set[int]:
    """The ids of the arrays that own the memory of the leaves among nodes."""
    leaves = [t for n in nodes if type(n) is Leaf and (t := n.tensor()) is not None]
    return {id(owner(memory_of(t))) for t in leaves}


def bytes_in(arrays: Iterable[np.ndarray]) -> int:
    """The bytes of arrays."""
    return sum([array.nbytes for array in arrays])


@dataclass(slots=True)
class Memory:
    """What all graphs held at once, those too that no backward goes through.

    Attributes:
        peak: the most bytes that were seen, leaves apart, mostly when a backward began.
        peak_leaves: bytes of leaves that were saved then.
        peak_at: the ``file:line`` of that backward; nothing for the end.
        after: bytes still held after the last backward that was measured.
    """

    peak: int = 0
    peak_leaves: int = 0
    peak_at: str = ""
    after: int = 0


@dataclass(slots=True)
class Line:
    """What the backward calls of one line did.

    Attributes:
        where: ``file:line``.
        text: the text of that line.
        what: "backward()" or "grad()".
        calls: how many there were.
        compiled: how many of them were part of compiled programs, which nothing can measure.
        measured: how many of them were measured.
        nodes: recorded operations that all calls went through.
        released_nodes: operations that the measured calls released.
        released_bytes: what the measured calls gave back.
        retaining: calls with ``retain_graph=True``.
        kept_bytes: the most that a measured one of those kept.
    """

    where: str
    text: str
    what: str
    calls: int = 0
    compiled: int = 0
    measured: int = 0
    nodes: int = 0
    released_nodes: int = 0
    released_bytes: int = 0
    retaining: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at: its kind, the line, how often, and a sentence about it.

    Of some kinds also what led to it, such as ``"cut off by"`` with the line that did it, and
    remedies, the most likely first.
    """

    kind: str
    where: str
    times: int
    text: str
    facts: tuple[tuple[str, str], ...] = ()
    remedies: tuple[str, ...] = ()


@dataclass(slots=True)
class Report:
    """What was seen of a run; `ops` counts operations by their public names, such as "mul"."""

    backward_calls: int = 0
    nodes: int = 0
    ops: dict[str, int] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)
    lines: list[Line] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)
