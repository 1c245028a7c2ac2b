"""How often something is referred to, whatever else this version of Python counts.

Before Python 3.14 a parameter is a reference, and what `getrefcount` is given is one more. Since
then neither is, where a variable of the caller is passed: a number found by hand in one version
would let memory be written in another that somebody else sees.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def other_references(thing: Any) -> int:
    """The references to something beside the one variable of the caller."""
    return getrefcount(thing) - ALONE


def _calibrate() -> int:
    def passed(thing: Any) -> int:
        return getrefcount(thing)

    variable = object()
    return passed(variable)


# What `getrefcount` says in a function of its argument that only a variable of its caller has.
ALONE = _calibrate()
