"""Who counts the backwards that compiled programs do: no walk is made for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from wengert.autograd.engine import Walk, observers
from wengert.core.tensor import Call

# Of observers of walks that can do without those of programs, what is called instead: with such a
# backward, its operations by their names, and how many calls it counts as, which is none for one
# that a walk goes on with.
counters: dict[Callable[[Walk, str], None], Callable[[Call, Counter[str], int], None]] = {}


def are_walks_wanted() -> bool:
    """Whether somebody observes walks who cannot do without those of programs.

    >>> from wengert.autograd.counters import are_walks_wanted
    >>> from wengert.graph import profile
    >>> with profile():
    ...     are_walks_wanted()
    True
    """
    return any([observe not in counters for observe in observers])
