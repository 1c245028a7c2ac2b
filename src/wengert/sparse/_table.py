"""The table of operations on sparse tensors: by the name of an op, what computes it.

An op that is not in it is refused. The implementations are in the modules beside this one, which
`bind` imports; each takes the op's inputs in order and its parameters by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.core.sparse import SparseTensor, unsupported
from wengert.core.tensor import Tracer

Implementation = Callable[..., Any]

TABLE: dict[str, Implementation] = {}
OF_LISTS: dict[str, Implementation] = {}


def computes(*names: str) -> Callable[[Implementation], Implementation]:
    """Have a function compute the ops of these names where an input is sparse."""

    def add(function: Implementation) -> Implementation:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return add


def dispatch(op: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """An op of which an input is sparse; NotImplementedError where the table has none."""
    sparse = next(x for x in inputs if isinstance(x, SparseTensor))
    if any(isinstance(x, Tracer) for x in inputs):
        raise NotImplementedError(
            f"{op.public_name}() of a sparse tensor inside of a function that is being transformed"
            " (vmap, grad, forward mode): convert it first: x.to_dense()"
        )
    function = TABLE.get(op.name)
    result = NotImplemented if function is None else function(op, *inputs, **params)
    if result is NotImplemented:
        raise unsupported(op.public_name, sparse)
    return result


def dispatch_list(name: str, inputs: Any, params: tuple[Any, ...]) -> Any:
    """An op on a list of tensors of which one is sparse."""
    function = OF_LISTS.get(name)
    if function is None:
        raise unsupported(name, next(x for x in inputs if isinstance(x, SparseTensor)))
    return function(list(inputs), *params)
