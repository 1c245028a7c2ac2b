"""Comparing objects with what they were: one by one, or by the words of their memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from operator import attrgetter, is_, methodcaller
from typing import Any

from wengert.core.tensor import Leaf, Tensor
from wengert.kernels.jit.heads import Layouts
from wengert.kernels.jit.words import (
    Words,
    cell_word,
    dictionary,
    emptiness_word,
    function_words,
    knows_words,
    slot_of,
    slot_word,
    type_word,
)
from wengert.replay.trace import Memo
from wengert.replay.walks import is_quiet

_ABSENT = object()
_OF_LEAVES = ("state", "open", "tensor")
# So often words are noted again that are not the versions of dictionaries.
_MOST = 16
_values = methodcaller("values")  # in the order of the dictionary's own class
_parts = attrgetter("__code__", "__defaults__", "__kwdefaults__")


@cache
def knows_tensors() -> bool:
    """Whether words say what tensors and leaves hold."""
    slots = [slot_of(Tensor, name) for name in ("_array", "_edge")]
    slots += [slot_of(Leaf, name) for name in _OF_LEAVES]
    return all(slots) and knows_words()


class Compared:
    """Some objects and what they hold, as it was.

    Attributes:
        empty: containers that are empty; `dicts` and `lists` are others.
        objects: those of which the types count.
        memos: tensors, each behind what it is like.
        cells: cells of functions, and what is in them.
        functions: those of which the code and the defaults count.
        members: objects, the names of slots, and what is in them.
    """

    def __init__(
        self, empty: Sequence[Any] = (), dicts: Sequence[Any] = (), lists: Sequence[Any] = (),
        objects: Sequence[Any] = (), memos: Sequence[tuple[Memo, Tensor]] = (),
        cells: Sequence[tuple[Any, Any]] = (), functions: Sequence[Any] = (),
        members: Sequence[tuple[Any, str, Any]] = (),
    ) -> None:  # fmt: skip
        self.empty, self.dicts, self.lists, self.objects = empty, dicts, lists, objects
        self.memos, self.cells, self.functions, self.members = memos, cells, functions, members
        self._lengths = [*map(len, (*dicts, *lists))]
        self._keys = [*chain.from_iterable(dicts)]
        self._values = [*chain.from_iterable(map(_values, dicts))]
        self._elements = [*chain.from_iterable(lists)]
        self._types = [*map(type, objects)]
        self._parts = [*chain.from_iterable(map(_parts, functions))]

    def same(self) -> bool:
        """Whether all is as it was; KeyError or ValueError may mean that it is not."""
        return (
            not any(self.empty)
            and [*map(len, (*self.dicts, *self.lists))] == self._lengths
            and all(map(is_, chain.from_iterable(map(_values, self.dicts)), self._values))
            and all(map(is_, chain.from_iterable(self.dicts), self._keys))
            and all(map(is_, chain.from_iterable(self.lists), self._elements))
            and all(map(is_, map(type, self.objects), self._types))
            and all([memo.fits(x) for memo, x in self.memos])
            and all([cell.cell_contents is v for cell, v in self.cells])
            and all(map(is_, chain.from_iterable(map(_parts, self.functions)), self._parts))
            and all([getattr(x, n, _ABSENT) is v for x, n, v in self.members])
        )


class Watched:
    """Objects by the words of their memory, and those that have none.

    The words are those of the time when it is made: then somebody has compared the objects. Of
    `scopes` a few names count, while others may come and go: dictionaries have words apart.

    Attributes:
        quiet: whether it is the same only while nobody listens at the leaves.
    """

    def __init__(self, every: Compared, scopes: Sequence[Any], count: int = 0) -> None:
        self._every, self._scopes, self._count = every, scopes, count
        dicts, mappings = _split(every.dicts, lambda x: dictionary(x) is not None)
        usual, others = _split(every.memos, lambda pair: _is_usual(*pair))
        found = [*map(emptiness_word, every.empty), *map(type_word, every.objects)]
        found += [cell_word(*pair) for pair in every.cells]
        found += chain.from_iterable(map(function_words, every.functions))
        kept = list[Any]()
        for _, x in usual:
            edge = x._edge
            found += [type_word(x), slot_word(x, slot_of(Tensor, "_edge"), edge)]
            if edge is not None:
                kept += edge, edge.tensor
                found += [
                    slot_word(edge, slot_of(Leaf, name), getattr(edge, name)) for name in _OF_LEAVES
                ]
        self.quiet = not others
        layouts = Layouts([_layout(memo) for memo, _ in usual])
        tensors = [x for _, x in usual]
        versioned = [x for x in map(dictionary, dicts) if x is not None]
        self._words = Words(versioned, found, kept, tensors, slot_of(Tensor, "_array"), layouts)
        self._rest = None
        if mappings or every.lists or others or every.members:
            self._rest = Compared((), mappings, every.lists, (), others, (), (), every.members)
        self._of_scopes = None
        known = [x for x in map(dictionary, scopes) if x is not None]
        if len(known) == len(scopes):
            self._of_scopes = Words(known, (), (), [], 0, Layouts([]))

    def same(self) -> bool:
        """Whether all is as it was, but for scopes; False also where that is not sure."""
        return self._words.same() and (self._rest is None or self._rest.same())

    def renewed(self) -> Watched | None:
        """What has the words of the present; None if they have changed too often."""
        if self._words.renew():
            return self
        if self._count >= _MOST:
            return None
        return Watched(self._every, self._scopes, self._count + 1)

    def has_same_scopes(self) -> bool:
        """Whether nothing in the scopes has changed; False also where that is not sure."""
        return self._of_scopes is not None and self._of_scopes.same()

    def renew_scopes(self) -> None:
        """Take the scopes as they are."""
        if self._of_scopes is not None:
            self._of_scopes.renew()


def _is_usual(memo: Memo, x: Tensor) -> bool:
    """Whether a tensor is in no graph, or a leaf at which nobody listens, and lies as arrays do."""
    quiet = x._edge is None or is_quiet(x, x._edge)
    return quiet and Layouts([_layout(memo)]).fit([x._array])


def _layout(memo: Memo) -> Any:
    return memo.input.shape, memo.input.strides, memo.dtype


def _split(every: Sequence[Any], condition: Any) -> tuple[list[Any], list[Any]]:
    """Those for which a condition holds, and the others."""
    fits = [bool(condition(x)) for x in every]
    return [x for x, f in zip(every, fits, strict=True) if f], [
        x for x, f in zip(every, fits, strict=True) if not f
    ]
