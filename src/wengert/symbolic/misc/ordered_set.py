"""``theano.misc.ordered_set``: sets that keep the order in which elements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any


class OrderedSet(MutableSet[Any]):
    """A set that is walked in the order in which its elements came.

    >>> from wengert.symbolic.misc.ordered_set import OrderedSet
    >>> list(OrderedSet([3, 1, 3, 2]))
    [3, 1, 2]
    """

    def __init__(self, iterable: Iterable[Any] = ()) -> None:
        self._elements = dict.fromkeys(iterable)

    def __contains__(self, value: object) -> bool:
        return value in self._elements

    def __iter__(self) -> Iterator[Any]:
        return iter(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, value: Any) -> None:
        """Put it at the end, unless it is there."""
        self._elements.setdefault(value)

    def discard(self, value: Any) -> None:
        """Take it out, if it is there."""
        self._elements.pop(value, None)

    def update(self, iterable: Iterable[Any]) -> None:
        """Add each element."""
        self._elements |= dict.fromkeys(iterable)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, OrderedSet):
            return list(self) == list(other)
        return isinstance(other, set | frozenset) and set(self) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)})"
