"""``theano.tensor.opt``: conditions that are checked when a function runs; rewrites by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.expressions.shapes import Length
from wengert.symbolic.expressions.shapes import MakeVector as MakeVector
from wengert.symbolic.expressions.shapes import NotScalarConstantError as NotScalarConstantError
from wengert.symbolic.expressions.shapes import ShapeError as ShapeError
from wengert.symbolic.expressions.shapes import (
    get_scalar_constant_value as get_scalar_constant_value,
)
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.gof.opt import copy_stack_trace as copy_stack_trace
from wengert.symbolic.gof.opt import register
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected


class Assert(Operation):
    """``Assert(message)(x, *conditions)`` is `x`, or AssertionError if a condition is false.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar("x")
    >>> function([x], T.sqrt(T.opt.Assert("x is negative")(x, x >= 0)))(4.0)
    array(2.)
    """

    __props__ = ("msg",)

    def __init__(self, msg: str = "Theano Assert failed!") -> None:
        self.msg = msg

    def make_node(self, value: Any, *conds: Any) -> Apply:
        """Any variable, and conditions that are scalars."""
        value = value if isinstance(value, Variable) else as_tensor_variable(value)
        conditions = [as_tensor_variable(c) for c in conds]
        for c in conditions:
            if c.ndim:
                raise AssertionError(f"Assert: a condition is a scalar, and {c} is {c.type}")
        return Apply(self, [value, *conditions], [value.type()])

    def compute(self, value: Any, *conds: Any) -> Any:
        """The value, if the conditions hold."""
        if not np.all(conds):
            raise AssertionError(self.msg)
        return value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Conditions have no gradient."""
        return [[True], *[[False]] * (node.nin - 1)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, of the value."""
        return [output_gradients[0], *[disconnected() for _ in inputs[1:]]]

    def R_op(self, inputs: Any, eval_points: Any) -> Any:  # noqa: N802
        """The direction of the value."""
        return [eval_points[0]]


assert_op = assert_ = Assert()
make_vector, Shape_i = MakeVector(), Length
register_canonicalize = register_specialize = register_stabilize = register
register_uncanonicalize = register_useless = register
