"""``theano.gof.utils``: helpers that operations of programs call."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from wengert.symbolic.graph import MethodNotDefinedError as MethodNotDefined
from wengert.symbolic.graph import Scratch as scratchpad  # noqa: N813

__all__ = [
    "MethodNotDefined",
    "difference",
    "flatten",
    "hash_from_code",
    "hashtype",
    "memoize",
    "remove",
    "scratchpad",
    "uniq",
]

memoize = cache


def hashtype(self: Any) -> int:
    """A hash of an object's class, for operations that are all equal."""
    return hash((type(self).__name__, type(self).__module__))


def difference(seq1: Iterable[Any], seq2: Iterable[Any]) -> list[Any]:
    """The elements of the first that the second does not have."""
    without = list(seq2)
    return [x for x in seq1 if x not in without]


def hash_from_code(msg: str | bytes) -> str:
    """A digest of a text, for keys of what is generated from it."""
    return hashlib.sha256(msg.encode() if isinstance(msg, str) else msg).hexdigest()


def flatten(a: Any) -> list[Any]:
    """The elements of nested lists, tuples and sets, in one list.

    >>> from wengert.symbolic.gof.utils import flatten
    >>> flatten([1, (2, [3])])
    [1, 2, 3]
    """
    if isinstance(a, list | tuple | set):
        return [leaf for item in a for leaf in flatten(item)]
    return [a]


def uniq(seq: Iterable[Any]) -> list[Any]:
    """Each element once, in the order of their first appearance."""
    return list(dict.fromkeys(seq))


def remove(predicate: Any, coll: Iterable[Any]) -> list[Any]:
    """The elements for which a predicate does not hold."""
    return [x for x in coll if not predicate(x)]
