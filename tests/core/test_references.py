"""References are counted alike in all versions of Python."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

from wengert.core.references import ALONE, other_references


def test_the_variable_of_the_caller_does_not_count() -> None:
    thing = object()
    assert other_references(thing) == 0


def test_variables_and_containers_count() -> None:
    thing = object()
    again, box = thing, [thing, thing]
    assert other_references(thing) == 3
    box.clear()
    assert other_references(again) == 1


def test_what_a_function_is_passed() -> None:
    def passed(thing: Any) -> int:
        return getrefcount(thing) - ALONE

    table = {0: object()}
    thing = table[0]
    assert passed(thing) == 1
    table.clear()
    assert passed(thing) == 0
