"""The entries of a census: each live graph, and each name that holds graphs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from wengert.graph._holders import Holder


@dataclass(frozen=True, slots=True)
class LiveTensor:
    """A tensor, or a node without one, that keeps a graph.

    Attributes:
        made: the operation that created it, its module and its line.
        shape: its shape.
        holders: the names through which the program holds it.
        nodes: the number of operations in its graph.
        nbytes: the bytes these keep, excluding leaves.
    """

    made: str
    shape: tuple[int, ...]
    holders: tuple[Holder, ...]
    nodes: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class LiveGraph:
    """A live graph; graphs that share an operation are one.

    Attributes:
        tops: what keeps it: of a graph that grows from call to call first what carries it on,
            then results that nothing alive was computed from.
        nodes: the number of its operations.
        nbytes: the bytes it keeps, excluding leaves.
        age: the number of backward calls begun since its latest operation ran.
        oldest: the same for its first operation.
        where: ``file:line`` of its first operation.
        text: that line.
        grew: between how many backward calls operations were added to it: 1 if it was made at
            once.
        passed: how many backward calls have begun since one went through it, and kept it; None
            if none has.
        severed: whether it goes on from operations that are released, so that a backward
            through it fails.
        storages: the addresses of the storages that it keeps, and their bytes, leaves apart.
            Graphs may share some.
    """

    tops: tuple[LiveTensor, ...]
    nodes: int
    nbytes: int
    age: int
    oldest: int
    where: str
    text: str
    grew: int
    passed: int | None
    severed: bool
    storages: tuple[tuple[int, int], ...]


def bytes_together(graphs: Iterable[LiveGraph]) -> int:
    """The bytes that graphs keep, each storage once."""
    return sum(dict(chain.from_iterable(graph.storages for graph in graphs)).values())


@dataclass(frozen=True, slots=True)
class HeldBy:
    """The graphs a program holds through one name.

    Attributes:
        name: the name, with a star for items of containers: ``losses[*]``.
        scope: where the name lives.
        graphs: how many graphs it holds.
        nodes: how many operations what it holds was computed from.
        nbytes: bytes that these keep, each storage once, leaves apart. What other names hold
            too counts for each.
        oldest: how many backward calls have begun since the first of the graphs.
        stored: ``file:line`` that stored the latest of what it holds, if the source tells.
        text: that line.
    """

    name: str
    scope: str
    graphs: int
    nodes: int
    nbytes: int
    oldest: int
    stored: str
    text: str
