"""Between scalars and arrays, which are one thing here; and numbers in expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.expressions.arithmetic import (
    add,
    complex,
    cos,
    int_div,
    mod,
    mul,
    neq,
    sin,
)
from wengert.symbolic.expressions.shapes import NotScalarConstantError, get_scalar_constant_value
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, undefined


class TensorFromScalar(Operation):
    """A scalar as an array without dimensions, which it is already."""

    def make_node(self, s: Any) -> Apply:
        """TypeError for what has dimensions."""
        s = as_tensor_variable(s)
        if s.ndim:
            raise TypeError(f"{self}: expected a scalar, and {s} is {s.type}")
        return Apply(self, [s], [s.type()])

    def compute(self, s: np.ndarray) -> np.ndarray:
        """The value."""
        return s

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient."""
        return list(output_gradients)


class ScalarFromTensor(TensorFromScalar):
    """An array without dimensions as a scalar."""


class Default(Operation):
    """A value, or another where that is None.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dscalar()
    >>> f = function([x], T.default(x, T.constant(2.0, dtype="float64")))
    >>> f(1.0), f(None)
    (array(1.), array(2.))
    """

    takes_none = True

    def make_node(self, x: Any, default: Any) -> Apply:
        """Two variables of one type."""
        x, default = as_tensor_variable(x), as_tensor_variable(default)
        if x.type != default.type:
            raise TypeError(f"default: both arguments must have the same type: {x.type} and"
                            f" {default.type}", x, default)  # fmt: skip
        return Apply(self, [x, default], [default.type()])

    def compute(self, x: Any, default: np.ndarray) -> Any:
        """The first that is there."""
        return default if x is None else x

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Undefined: which of them it is shows when a function runs."""
        return [undefined("default", k, x) for k, x in enumerate(inputs)]


tensor_from_scalar, scalar_from_tensor, default = TensorFromScalar(), ScalarFromTensor(), Default()


def extract_constant(x: Any, elemwise: bool = True, only_process_constants: bool = False) -> Any:
    """The number in an expression of constants, or the expression itself.

    >>> from wengert.symbolic import tensor as T
    >>> int(T.extract_constant(T.constant(2) * 3))
    6
    """
    try:
        return get_scalar_constant_value(x, elemwise, only_process_constants)
    except NotScalarConstantError:
        return x


def complex_from_polar(abs: Any, angle: Any) -> Any:
    """Complex numbers, from their absolute values and angles.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> r, a = T.dscalars("r", "a")
    >>> function([r, a], T.complex_from_polar(r, a))(2.0, 0.0)
    array(2.+0.j)
    """
    return complex(mul(abs, cos(angle)), mul(abs, sin(angle)))


def ceil_intdiv(a: Any, b: Any) -> Any:
    """The quotient of integers, rounded up.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> n = T.iscalar()
    >>> function([n], T.ceil_intdiv(n, 4))(9)
    array(3, dtype=int32)
    """
    return add(int_div(a, b), neq(mod(a, b), 0))


__all__ = [
    "Default",
    "ScalarFromTensor",
    "TensorFromScalar",
    "ceil_intdiv",
    "complex_from_polar",
    "default",
    "extract_constant",
    "scalar_from_tensor",
    "tensor_from_scalar",
]
