"""Indices of classes and rows: programs look at them whenever they run.

Eager mode looks at them before it calls the operation, in Python. A traced program has no such
Python, and its indices are others at every call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from wengert.kernels.scatter.native import within
from wengert.replay.trace import OpEntry


class Bound(NamedTuple):
    """Which operand has indices, and of what: of a dimension of another operand.

    Attributes:
        error: what is raised for a wrong one.
    """

    indices: str
    of: str
    dim: Callable[[dict[str, Any]], int]
    error: Callable[[int], Exception]


def _no_class(index: int) -> Exception:
    return IndexError(f"Target {index} is out of bounds.")


def _no_row(index: int) -> Exception:
    return IndexError(f"index out of range in self: {index} is no row of the weight")


BOUNDS = {
    "_cross_entropy": Bound("index", "input", lambda params: params["axis"], _no_class),
    "_weighed_pick": Bound("index", "input", lambda params: params["axis"], _no_class),
    "_embedding": Bound("input", "weight", lambda params: 0, _no_row),
}


def checking(compute: Callable[..., Any], entry: OpEntry, present: list[str]) -> Callable[..., Any]:
    """An operation's forward that refuses indices out of bounds."""
    bound = BOUNDS.get(entry.op.name)
    if bound is None:
        return compute
    at, of, dim = present.index(bound.indices), present.index(bound.of), bound.dim(entry.params)

    def checked(*arrays: Any) -> Any:
        index, limit = arrays[at], arrays[of].shape[dim]
        if not within(index, limit):
            raise bound.error(wrong_one(index, limit))
        return compute(*arrays)

    return checked


def wrong_one(index: np.ndarray, limit: int) -> int:
    """One of the indices that are out of bounds."""
    return int(index[(index < 0) | (index >= limit)].flat[0])
