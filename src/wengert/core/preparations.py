"""Functions beside the operations: checks of indices, say, and counters of batches.

Whoever stands in for a function has to call them all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import get_ident
from typing import Any

# By thread, what is asked to run them while somebody watches: it is given the function, its
# arguments, and whether it changes something.
watchers: dict[int, Callable[[Callable[..., Any], tuple[Any, ...], bool], Any]] = {}

# What gives the elements of a deferred value that a check looks at, or None: compiled functions.
peeks: list[Callable[[Any], Any]] = []
# The same for numbers that users read: they are told by which function, if values leave a graph.
readers: list[Callable[[Any, str | None], Any]] = []


def read_of(tensor: Any, what: str | None = None) -> Any:
    """The elements of a deferred value, if it remains so; None for other tensors."""
    return readers[0](tensor, what) if readers else None


def elements_read(tensor: Any) -> Any:
    """The elements of any tensor, for who keeps no hold of the memory."""
    found = read_of(tensor)
    return tensor._array if found is None else found


def preparation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors and values by position that changes nothing: one that is watched.

    It gives arrays and values, or raises.
    """

    @wraps(function)
    def prepared(*args: Any) -> Any:
        watcher = watchers.get(get_ident()) if watchers else None
        return function(*args) if watcher is None else watcher(function, args, False)

    return prepared


def effect(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that changes what its arguments show, which nobody compares: watched, too.

    It gives None, or what depends on the values that it has read.
    """

    @wraps(function)
    def effective(*args: Any) -> Any:
        watcher = watchers.get(get_ident()) if watchers else None
        return function(*args) if watcher is None else watcher(function, args, True)

    return effective
