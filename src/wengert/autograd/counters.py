"""Counting the backwards of compiled programs, for which the engine makes no walk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from wengert.autograd.engine import Walk, observers
from wengert.core.tensor import Call

# For each observer that need not see the walks of programs, what is called instead: with the call
# of the backward, its operations by name, and how many calls it counts as. That is 0 for a backward
# that goes on outside of the program, as a walk which is observed.
counters: dict[Callable[[Walk, str], None], Callable[[Call, Counter[str], int], None]] = {}


def are_walks_wanted() -> bool:
    """Whether an observer has to see all walks, those of compiled programs included.

    >>> from wengert.autograd.counters import are_walks_wanted
    >>> from wengert.graph import profile
    >>> with profile():
    ...     are_walks_wanted()
    True
    """
    return any([observe not in counters for observe in observers])
