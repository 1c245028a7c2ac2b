"""``theano.gof.utils``: helpers that operations of programs call."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from wengert.symbolic.graph import MethodNotDefinedError as MethodNotDefined
from wengert.symbolic.graph import Scratch as scratchpad  # noqa: N813
from wengert.symbolic.graph import TestValueError as TestValueError

__all__ = [
    "MethodNotDefined",
    "TestValueError",
    "difference",
    "flatten",
    "give_variables_names",
    "hash_from_code",
    "hash_from_file",
    "hashtype",
    "hist",
    "memoize",
    "remove",
    "scratchpad",
    "uniq",
    "unique",
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


def hash_from_file(file_path: str) -> str:
    """A digest of a file's contents."""
    with open(file_path, "rb") as file:
        return hash_from_code(file.read())


def hist(coll: Iterable[Any]) -> dict[Any, int]:
    """How often each element occurs."""
    return Counter(coll)


def unique(x: Sequence[Any]) -> bool:
    """Whether no element occurs twice."""
    return len(set(x)) == len(x)


def give_variables_names(variables: Sequence[Any]) -> Sequence[Any]:
    """Number the variables that have no name, or one that others have as well.

    Raises ValueError where names are equal all the same.

    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.gof.utils import give_variables_names
    >>> give_variables_names([T.dscalar("x"), T.dscalar("x"), T.dscalar("y")])
    [x_0, x_1, y]
    """
    counts = hist(v.name for v in variables)
    doubtful = [v for v in variables if not v.name or counts[v.name] > 1]
    for k, v in enumerate(doubtful):
        v.name = f"{v.name or ''}_{k}"
    if not unique([str(v) for v in variables]):
        raise ValueError(f"Not all variables have unique names: {list(variables)}")
    return variables


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
