"""``theano.raise_op``: an operation that fails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wengert.symbolic.graph import Apply, Op


class Raise(Op):
    """Raises an exception when a function computes it.

    Args:
        msg: what the exception says.
        exc: its class.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.raise_op import Raise
    >>> x = T.dscalar()
    >>> function([x], Raise("not today", ValueError)(x))(1.0)
    Traceback (most recent call last):
    ValueError: not today...
    """

    __props__ = ("msg", "exc")

    def __init__(self, msg: str = "", exc: type[BaseException] = NotImplementedError) -> None:
        self.msg, self.exc = msg, exc

    def make_node(self, x: Any) -> Apply:
        """The type of the argument."""
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Raise it."""
        raise self.exc(self.msg)


__all__ = ["Raise"]
