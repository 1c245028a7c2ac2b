"""Reference counts that are consistent across Python versions.

Before Python 3.14 a parameter counts as a reference, and so does the argument of `getrefcount`.
Since then neither does where the caller passes a variable. A constant tuned to one version would
let another write to memory that is still shared, so the baseline is measured.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def other_references(obj: Any) -> int:
    """The number of references to an object besides the caller's one variable."""
    return getrefcount(obj) - ALONE


def _calibrate() -> int:
    def passed(obj: Any) -> int:
        return getrefcount(obj)

    variable = object()
    return passed(variable)


# `getrefcount` of an argument, inside a function, if only a variable of the caller refers to it.
ALONE = _calibrate()
