"""``torch.utils._ordered_set``: a set that keeps the order in which it was filled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, TypeVar

_T = TypeVar("_T")


class OrderedSet(MutableSet[_T]):
    """A set with the order of a dictionary's keys."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[_T] | None = None) -> None:
        self._dict: dict[_T, None] = dict.fromkeys(iterable or ())

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[_T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[_T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({[*self]})"

    def add(self, elem: _T) -> None:
        """Put an element at the end, unless it is there."""
        self._dict[elem] = None

    def discard(self, elem: _T) -> None:
        """Take an element out, if it is there."""
        self._dict.pop(elem, None)

    def pop(self) -> _T:
        """Take the last element out."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self) -> OrderedSet[_T]:
        """The same elements in another set."""
        return OrderedSet(self)

    def update(self, *others: Iterable[_T]) -> None:
        """Add the elements of others."""
        for other in others:
            self |= other  # type: ignore[arg-type]

    def union(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements of this and of others."""
        both = self.copy()
        both.update(*others)
        return both

    def intersection(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements that are in all of the others."""
        wanted: list[Any] = [{*other} for other in others]
        return OrderedSet(x for x in self if all(x in other for other in wanted))

    def difference(self, *others: Iterable[_T]) -> OrderedSet[_T]:
        """The elements that are in none of the others."""
        unwanted: list[Any] = [{*other} for other in others]
        return OrderedSet(x for x in self if not any(x in other for other in unwanted))

    def issubset(self, other: Iterable[_T]) -> bool:
        """Whether another has all the elements."""
        return {*self._dict} <= {*other}

    def issuperset(self, other: Iterable[_T]) -> bool:
        """Whether all of another's elements are here."""
        return {*self._dict} >= {*other}


__all__ = ["OrderedSet"]
