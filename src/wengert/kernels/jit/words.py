"""Whether objects are as they were, by words of their memory: a comparison of many at once.

Whoever compares keeps the objects alive, and those that the words refer to: an address is the
identity of its object for as long.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import array_at, at, i64, i64s, item
from wengert.kernels.jit.heads import HEAD, Layouts, knows_strides, lies_as

_word_at: Callable[[int], Any] = ctypes.c_int64.from_address
# The words of an object: its type ends the head. Behind that are the size of a list or dictionary,
# and the object in a cell; then the version of a dictionary, and the size of a set.
_TYPE, _FIRST, _SECOND = HEAD - 8, HEAD, HEAD + 8


@kernel
def _compare(
    words: i64s, count: i64, renewed: i64, objects: i64, slot: i64, head: i64, kind: i64,
    layouts: i64s, arrays: i64, found: i64s, start: i64, stop: i64,
) -> None:  # fmt: skip
    """Whether words are as they were: pairs of an address and of what is there.

    The first `renewed` of them are noted anew instead. Then, whether the objects in a list (by its
    id) have arrays in a slot that lie as `layouts` says.
    """
    same = 1
    for k in range(count):
        value = array_at(i64, words[2 * k])[0]
        if k < renewed:
            words[2 * k + 1] = value
        if value != words[2 * k + 1]:
            same = 0
    if same == 1:
        place = 0
        for k in range(arrays):
            array = array_at(i64, item(objects, k) + slot)[0]
            fits = 0
            if array != 0:
                fits = lies_as(array, head, kind, at(layouts, place))
            if fits == 0:
                same = 0
            place += 2 + 2 * layouts[place + 1]
    found[0] = same


class Words:
    """Words of some objects, and how the arrays in a slot of others lie.

    Attributes:
        kept: the objects that the words are of, or refer to.
    """

    def __init__(
        self, dictionaries: Sequence[dict[Any, Any]], words: Sequence[tuple[int, int]],
        kept: Sequence[Any], holders: list[Any], slot: int, layouts: Layouts,
    ) -> None:  # fmt: skip
        """Note the versions of dictionaries, and that there are such words at such addresses."""
        self.kept, self._holders, self._slot = [*dictionaries, *kept], holders, slot
        self._layouts, self._versions = layouts, len(dictionaries)
        pairs = [(id(x) + _SECOND, 0) for x in dictionaries]
        self._table = np.array([*pairs, *words, (0, 0)], np.int64)
        self._count = len(pairs) + len(words)
        self._found = np.empty(1, np.int64)
        self.renew()

    def same(self) -> bool:
        """Whether all is as it was."""
        return self._compared(0)

    def renew(self) -> bool:
        """Note the versions of the dictionaries; whether all else is as it was."""
        return self._compared(self._versions)

    def _compared(self, renewed: int) -> bool:
        found = self._found  # written and read under Python's lock
        _compare.f32(
            self._table, self._count, renewed, id(self._holders), self._slot, HEAD, _ARRAY,
            self._layouts.table, self._layouts.count, found, 1, 1,
        )  # fmt: skip
        return bool(found.item())


_ARRAY = id(np.ndarray)


def type_word(x: Any) -> tuple[int, int]:
    """The word that says of which type an object is."""
    return id(x) + _TYPE, id(type(x))


def cell_word(cell: Any, value: Any) -> tuple[int, int]:
    """The word that says which object is in a cell."""
    return id(cell) + _FIRST, id(value)


def emptiness_word(x: Any) -> tuple[int, int]:
    """The word that says that a list, dictionary or set is empty."""
    return id(x) + (_SECOND if isinstance(x, set | frozenset) else _FIRST), 0


def dictionary(x: Any) -> dict[Any, Any] | None:
    """A dictionary that has versions: this one, or the one that a proxy shows."""
    if type(x) is MappingProxyType:
        found = gc.get_referents(x)
        x = found[0] if len(found) == 1 else None
    return x if type(x) in (dict, defaultdict) else None


def slot_word(x: Any, slot: int, value: Any) -> tuple[int, int]:
    """The word that says which object is in a slot."""
    return id(x) + slot, id(value)


@cache
def slot_of(cls: type, name: str) -> int:
    """How far a slot is from the address of an object of that class; 0 if that is not known."""
    one: Any = object.__new__(cls)
    value = object()
    setattr(one, name, value)
    fits = [
        k for k in range(HEAD, cls.__basicsize__, 8) if _word_at(id(one) + k).value == id(value)
    ]
    return fits[0] if len(fits) == 1 else 0


@cache
def _parts() -> tuple[int, ...]:
    """Where functions have their code, defaults and keyword defaults; nothing if not known."""

    def probe(x: Any = object, *, y: Any = object) -> None:
        """Have some of each."""

    parts = probe.__code__, probe.__defaults__, probe.__kwdefaults__
    places = range(HEAD, type(probe).__basicsize__, 8)
    found = [[k for k in places if _word_at(id(probe) + k).value == id(x)] for x in parts]
    return tuple([k for (k,) in found]) if all(len(k) == 1 for k in found) else ()


def function_words(function: Any) -> list[tuple[int, int]]:
    """The words that say which code and defaults a function has."""
    parts = function.__code__, function.__defaults__, function.__kwdefaults__
    ids = [0 if x is None else id(x) for x in parts]
    return [(id(function) + at, x) for at, x in zip(_parts(), ids, strict=True)]


@cache
def knows_words() -> bool:
    """Whether objects of this Python have such words, and kernels can read them.

    From 3.13 on a dictionary that shows an object's attributes may change without a new version.
    """
    known = sys.implementation.name == "cpython" and sys.version_info < (3, 13) and HEAD == 16
    return bool(
        known and available() and knows_strides() and _parts() and _has_sizes() and _has_versions()
    )


def _has_sizes() -> bool:
    cell = (lambda x: lambda: x)(_word_at).__closure__
    sized: list[Any] = [[], {}, set(), OrderedDict(), [1, 2], {1: 2, 3: 4}, {1, 2}]
    sized.append(OrderedDict(a=1, b=2))
    sizes = [_word_at(emptiness_word(x)[0]).value for x in sized]
    inside = cell is not None and _word_at(cell_word(cell[0], None)[0]).value
    return sizes == [*map(len, sized)] and inside == id(_word_at)


class _Plain:
    """An object with attributes."""


def _has_versions() -> bool:
    """Whether the version of a dictionary changes whenever it does."""
    one, own = _Plain(), {"a": 1, "b": 2}
    attributes = vars(one)
    attributes["x"] = 1
    changes: list[Callable[[], Any]] = [
        lambda: own.__setitem__("a", 2), lambda: own.__setitem__("c", 3), lambda: own.pop("c"),
        lambda: own.update(b=3), lambda: own.setdefault("d", 1), lambda: own.popitem(),
        lambda: own.clear(), lambda: own.__ior__({"e": 2}),
    ]  # fmt: skip
    of_attributes: list[Callable[[], Any]] = [
        lambda: setattr(one, "x", 2), lambda: setattr(one, "y", 2), lambda: delattr(one, "x"),
    ]  # fmt: skip
    for table, calls in ((own, changes), (attributes, of_attributes)):
        for change in calls:
            before = _word_at(id(table) + _SECOND).value
            if before != _word_at(id(table) + _SECOND).value:
                return False
            change()
            if before == _word_at(id(table) + _SECOND).value:
                return False
    return True
