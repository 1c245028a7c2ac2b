"""Diagonals: taken, filled, and made matrices of."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import ops
from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.expressions.arithmetic import cast, eq, sub, switch
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Wrapped
from wengert.symbolic.graph import Apply, Operation


class Diagonal(Operation):
    """The elements of a diagonal."""

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset, self.axis1, self.axis2 = offset, axis1, axis2

    def make_node(self, x: Any) -> Apply:
        """One dimension less, the diagonal last."""
        x = as_tensor_variable(x)
        if x.ndim < 2:
            raise ValueError("ExtractDiag needs an input with 2 or more dimensions", x)
        pattern = [b for d, b in enumerate(x.broadcastable) if d not in (self.axis1, self.axis2)]
        return Apply(self, [x], [TensorType(x.dtype, [*pattern, False])()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """NumPy's."""
        return x.diagonal(self.offset, self.axis1, self.axis2)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, on the diagonal of zeros."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        function = Bound(_on_diagonal, offset=self.offset, axis1=self.axis1, axis2=self.axis2)
        return [Wrapped("DiagonalGrad", function, [x.type])(float_zeros(x), g)]


def _on_diagonal(x: Any, g: Any, offset: int, axis1: int, axis2: int) -> Any:
    return ops.diagonal_scatter(x, g, offset, axis1, axis2)


class AllocDiag(Operation):
    """A matrix with a vector on a diagonal."""

    __props__ = ("offset", "axis1", "axis2")

    def __init__(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> None:
        self.offset, self.axis1, self.axis2 = offset, axis1, axis2

    def make_node(self, x: Any) -> Apply:
        """One dimension more: the last one becomes the diagonal of two."""
        x = as_tensor_variable(x)
        if not x.ndim:
            raise ValueError("AllocDiag needs an input with 1 or more dimensions", x)
        return Apply(self, [x], [TensorType(x.dtype, (False,) * (x.ndim + 1))()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """Zeros, and the values on the diagonal."""
        size = x.shape[-1] + abs(self.offset)
        out = np.zeros((*x.shape[:-1], size, size), x.dtype)
        places = np.arange(x.shape[-1])
        below, above = max(0, -self.offset), max(0, self.offset)
        out[..., places + below, places + above] = x
        return np.moveaxis(out, (-2, -1), (self.axis1, self.axis2))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The diagonal of the gradient."""
        return [Diagonal(self.offset, self.axis1, self.axis2)(output_gradients[0])]


class FillDiagonal(Operation):
    """An array with a number at the places whose indices are all equal."""

    def make_node(self, a: Any, val: Any) -> Apply:
        """An array of two or more dimensions, and a number that its dtype can hold."""
        a, val = _filled_with("FillDiagonal", a, val)
        return Apply(self, [a, val], [a.type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the array."""
        return list(shapes[:1])

    def compute(self, a: np.ndarray, val: np.ndarray) -> np.ndarray:
        """Of matrices with more rows than columns the first rows."""
        if a.ndim > 2 and len(set(a.shape)) > 1:
            raise ValueError(f"All dimensions of input must be of equal length, got {a.shape}")
        out = a.copy()
        out[(np.arange(min(a.shape)),) * a.ndim] = val
        return out

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient without its diagonal, and the sum of that."""
        (a, val), (g,) = inputs, output_gradients
        if a.dtype in DISCRETE:
            return [float_zeros(a), float_zeros(val)]
        rest = self(g, as_tensor_variable(np.zeros((), g.dtype)))
        return [rest, sum_over(sub(g, rest))]


def _filled_with(name: str, a: Any, val: Any) -> tuple[Any, Any]:
    """An array and the number for its diagonal, in its dtype."""
    a, val = as_tensor_variable(a), as_tensor_variable(val)
    if a.ndim < 2:
        raise TypeError(f"{name}: first parameter must have at least two dimensions, got {a.type}")
    if val.ndim:
        raise TypeError(f"{name}: second parameter must be a scalar, got {val.type}")
    if upcast(a.dtype, val.dtype) != a.dtype:
        raise TypeError(
            f"{name}: type of second parameter must be the same as the first's, {a.dtype}, got"
            f" {val.dtype}"
        )
    return a, cast(val, a.dtype)


def diag(v: Any, k: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal."""
    v = as_tensor_variable(v)
    if v.ndim == 1:
        return AllocDiag(k)(v)
    if v.ndim >= 2:
        return diagonal(v, k)
    raise ValueError("Input must has v.ndim >= 1.")


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements of a diagonal."""
    return Diagonal(offset, axis1, axis2)(a)


def trace(x: Any) -> Any:
    """The sum of the diagonal."""
    return sum_over(diagonal(x))


def fill_diagonal(a: Any, val: Any) -> Any:
    """An array with a number on its diagonal; more than two dimensions have one length.

    >>> from wengert.symbolic import tensor as T
    >>> x = T.dmatrix("x")
    >>> T.fill_diagonal(x, 7).eval({x: [[1.0, 2.0], [3.0, 4.0]]})
    array([[7., 2.],
           [3., 7.]])
    """
    return FillDiagonal()(a, val)


def fill_diagonal_offset(a: Any, val: Any, offset: Any) -> Any:
    """A matrix with a number on a diagonal, `offset` columns to the right."""
    a, val = _filled_with("FillDiagonalOffset", a, val)
    offset = as_tensor_variable(offset)
    if offset.ndim or offset.dtype not in DISCRETE:
        raise TypeError(
            f"FillDiagonalOffset: third parameter must be a scalar integer, got {offset.type}"
        )
    rows = arange(a.shape[0]).dimshuffle(0, "x")
    columns = arange(a.shape[1]).dimshuffle("x", 0)
    return switch(eq(sub(columns, rows), offset), val, a)
