"""``theano.tensor.type_other``: slices and None as values of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.expressions.type import as_tensor_variable, is_discrete
from wengert.symbolic.expressions.values import NoneTypeT as NoneTypeT
from wengert.symbolic.expressions.values import SliceConstant as SliceConstant
from wengert.symbolic.expressions.values import SliceType as SliceType
from wengert.symbolic.graph import Apply, Constant, Op, Variable, disconnected

slicetype, none_type_t = SliceType(), NoneTypeT()
NoneConst = Constant(none_type_t, None, name="NoneConst")


class MakeSlice(Op):
    """A slice of variables: ``make_slice(start, stop, step)``.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> from wengert.symbolic.tensor.type_other import make_slice
    >>> i = T.iscalar()
    >>> function([i], make_slice(0, i))(3)
    slice(0, 3, None)
    """

    __props__ = ()

    def make_node(self, slc: Any, stop: Any = None, step: Any = None) -> Apply:
        """A slice, or its start, stop and step: integers, or None for what is left out."""
        parts = (slc.start, slc.stop, slc.step) if isinstance(slc, slice) else (slc, stop, step)
        return Apply(self, [_part(v) for v in parts], [slicetype()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """The slice."""
        parts = [v if v is None else int(np.asarray(v)) for v in inputs]
        output_storage[0][0] = slice(*parts)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Not differentiable."""
        return [[False]] * node.nin

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """None."""
        return [disconnected() for _ in inputs]


def _part(value: Any) -> Any:
    """An end of a slice as a variable; TypeError unless it is an integer or None."""
    if value is None or value is NoneConst:
        return NoneConst
    if isinstance(value, Variable) and isinstance(value.type, NoneTypeT):
        return value
    x = as_tensor_variable(value)
    if x.ndim or not is_discrete(x):
        raise TypeError(f"An end of a slice must be an integer, got {value!r} of type {x.type}")
    return x


make_slice = MakeSlice()
