"""Which pipes a pipe reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wengert.compat._private.pipes.classes import IterDataPipe, MapDataPipe

Graph = dict[int, tuple[Any, "Graph"]]


def _pipes_in(value: Any) -> Iterator[Any]:
    """The pipes that an attribute holds, also in containers."""
    if isinstance(value, IterDataPipe | MapDataPipe):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _pipes_in(part)
    elif isinstance(value, list | tuple | set):
        for part in value:
            yield from _pipes_in(part)


def traverse_dps(datapipe: Any) -> Graph:
    """A pipe and, below it, those that it reads, each by its id."""
    below: Graph = {}
    for value in vars(datapipe).values():
        for pipe in _pipes_in(value):
            below.update(traverse_dps(pipe))
    return {id(datapipe): (datapipe, below)}


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> Graph:
    """`traverse_dps`."""
    return traverse_dps(datapipe)


__all__ = ["traverse", "traverse_dps"]
