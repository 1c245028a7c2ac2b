"""Words of memory say whether objects are as they were."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

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

pytestmark = pytest.mark.skipif(not knows_words(), reason="words of this Python are not known")


class Holder:
    __slots__ = ("array", "other")

    def __init__(self, array: Any) -> None:
        self.array, self.other = array, None


class Plain:
    pass


class Other:
    pass


def words(dictionaries: Any = (), found: Any = (), holders: Any = (), layouts: Any = ()) -> Words:
    slot = slot_of(Holder, "array")
    return Words(dictionaries, found, (), list(holders), slot, Layouts(layouts))


def set_often(x: Any) -> None:
    for k in range(100):
        x.a = k


DICTIONARIES: list[Callable[[Any, dict[str, Any]], Any]] = [
    lambda x, d: setattr(x, "a", 2), lambda x, d: setattr(x, "b", 2), lambda x, d: delattr(x, "a"),
    lambda x, d: d.update(a=3), lambda x, d: d.pop("a"), lambda x, d: d.clear(),
    lambda x, d: d.setdefault("c", 1), lambda x, d: set_often(x),
]  # fmt: skip


@pytest.mark.parametrize("change", DICTIONARIES)
def test_changes_of_dictionaries_are_seen(change: Callable[[Any, dict[str, Any]], Any]) -> None:
    x = Plain()
    x.a = 1  # type: ignore[attr-defined]
    watched = words([vars(x)])
    assert watched.same()
    assert x.a == 1  # type: ignore[attr-defined]
    assert watched.same()
    change(x, vars(x))
    assert not watched.same()
    assert watched.renew()
    assert watched.same()


def test_a_class_changes_where_its_proxy_shows_it() -> None:
    found = dictionary(vars(Other))
    assert found is not None
    watched = words([found])
    Other.x = 1  # type: ignore[attr-defined]
    assert not watched.same()
    assert dictionary(MappingProxyType(OrderedDict(a=1))) is None
    assert dictionary(OrderedDict()) is None
    assert dictionary(defaultdict(list)) is not None


@pytest.mark.parametrize(
    ("empty", "add"),
    [
        ([], lambda x: x.append(1)), ({}, lambda x: x.update(a=1)), (set(), lambda x: x.add(1)),
        (OrderedDict(), lambda x: x.update(a=1)), (defaultdict(list), lambda x: x["a"]),
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_what_was_empty_is_not(empty: Any, add: Any) -> None:
    watched = words((), [emptiness_word(empty)])
    assert watched.same()
    add(empty)
    assert not watched.same()
    assert not watched.renew()


def test_slots_types_cells_and_functions() -> None:
    value: Any = object()

    def function(x: int = 1) -> Any:
        return value, x

    def twin(x: int = 1) -> Any:
        return value, x

    holder, plain, one, two = Holder(None), Plain(), object(), object()
    other = slot_of(Holder, "other")
    assert function.__closure__ is not None
    cases: list[tuple[Any, Callable[[], Any]]] = [
        ([slot_word(holder, other, None)], lambda: setattr(holder, "other", one)),
        ([type_word(plain)], lambda: setattr(plain, "__class__", Other)),
        ([cell_word(function.__closure__[0], value)], lambda: setattr(
            function.__closure__[0], "cell_contents", two)),  # type: ignore[index]
        (function_words(function), lambda: setattr(function, "__defaults__", (2,))),
        (function_words(twin), lambda: setattr(twin, "__kwdefaults__", {"x": 2})),
        (function_words(twin), lambda: setattr(twin, "__code__", function.__code__)),
    ]  # fmt: skip
    for found, change in cases[:5]:
        watched = words((), found)
        assert watched.same()
        change()
        assert not watched.same()
    watched = words((), function_words(twin))
    cases[5][1]()
    assert not watched.same()


ARRAY = np.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    "other", [ARRAY.T, ARRAY[:, :2], ARRAY.astype(np.float64), ARRAY[0], None, 1.0, (), "text"],
    ids=lambda x: f"{type(x).__name__}{getattr(x, 'shape', '')}",
)  # fmt: skip
def test_arrays_in_slots(other: Any) -> None:
    holder = Holder(ARRAY)
    watched = words((), (), [holder], [(ARRAY.shape, ARRAY.strides, ARRAY.dtype)])
    assert watched.same()
    holder.array = ARRAY.copy()
    assert watched.same()
    holder.array = other
    assert not watched.same()
    del holder.array
    assert not watched.same()
