"""Reference counts that mean the same in every version of Python.

Before Python 3.14 a parameter counts as a reference, and so does the argument of `getrefcount`.
Since then neither does where the caller passes a variable. A constant tuned to one version would
let another write to memory that is still shared, so the baseline is measured.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def other_references(obj: Any) -> int:
    """The references to something beside the one variable of the caller."""
    return getrefcount(obj) - ALONE


def _calibrate() -> int:
    def passed(obj: Any) -> int:
        return getrefcount(obj)

    variable = object()
    return passed(variable)


# What `getrefcount` says in a function of its argument that only a variable of its caller has.
ALONE = _calibrate()
