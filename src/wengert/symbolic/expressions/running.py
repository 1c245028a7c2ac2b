"""Running sums and products, and differences, which undo the sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import ops
from wengert.symbolic.dtypes import DISCRETE, sum_dtype
from wengert.symbolic.expressions.arithmetic import cast, mul, sub
from wengert.symbolic.expressions.creation import zeros_like
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.structure import concatenate, flatten, reshape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Wrapped
from wengert.symbolic.graph import Apply, Operation


class CumOp(Operation):
    """Running sums (``mode="add"``) or products ("mul") along an axis, or of the flat array.

    They have the dtype of the array, of integers 64 bits; products of masks are masks.
    """

    __props__ = ("axis", "mode")

    def __init__(self, axis: int | None = None, mode: str = "add") -> None:
        if mode not in ("add", "mul"):
            raise ValueError(f'CumOp: mode is "add" or "mul", got {mode!r}')
        self.axis, self.mode = axis, mode

    def make_node(self, x: Any) -> Apply:
        """A vector where there is no axis."""
        x = as_tensor_variable(x)
        if self.axis is None:
            return Apply(self, [x], [TensorType(self._dtype(x.dtype), (False,))()])
        if not -x.ndim <= self.axis < x.ndim:
            raise ValueError(f"axis(={self.axis}) out of bounds")
        return Apply(self, [x], [x.type.clone(self._dtype(x.dtype))()])

    def _dtype(self, dtype: str) -> str:
        return dtype if (dtype, self.mode) == ("bool", "mul") else sum_dtype(dtype)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the array, or the number of elements."""
        if self.axis is not None:
            return list(shapes)
        size: Any = as_tensor_variable(1)
        for n in shapes[0]:
            size = mul(size, n)
        return [(cast(size, "int64"),)]

    def compute(self, x: np.ndarray) -> np.ndarray:
        """NumPy's."""
        running = np.cumsum if self.mode == "add" else np.cumprod
        dtype: Any = self._dtype(x.dtype.name)
        return running(x, self.axis, dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """By the library's function."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        flat, axis = (flatten(x), 0) if self.axis is None else (x, self.axis % x.ndim)
        function = ops.cumsum if self.mode == "add" else ops.cumprod
        op = Wrapped("Cum", Bound(function, axis), [flat.type])
        (gradient,) = op.L_op([flat], outputs, [g])
        return [gradient if self.axis is not None else reshape(gradient, x.shape, x.ndim)]


class DiffOp(Operation):
    """Differences of neighbours along an axis, `n` times."""

    __props__ = ("n", "axis")

    def __init__(self, n: int = 1, axis: int = -1) -> None:
        self.n, self.axis = n, axis

    def make_node(self, x: Any) -> Apply:
        """As many dimensions as the array has."""
        x = as_tensor_variable(x)
        if not -x.ndim <= self.axis < x.ndim:
            raise ValueError(f"axis(={self.axis}) out of bounds")
        pattern = [b and d != self.axis % x.ndim for d, b in enumerate(x.broadcastable)]
        return Apply(self, [x], [TensorType(x.dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """`n` fewer along the axis."""
        shape = list(shapes[0])
        left = sub(shape[self.axis], self.n)
        shape[self.axis] = mul(left, left > 0)
        return [shape]

    def compute(self, x: np.ndarray) -> np.ndarray:
        """NumPy's."""
        return np.diff(x, self.n, self.axis)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Differences the other way, with zeros at both ends."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        axis = self.axis % x.ndim
        for _ in range(self.n):
            end = zeros_like(index(x, (*[slice(None)] * axis, slice(0, 1))))
            g = sub(concatenate([end, g], axis), concatenate([g, end], axis))
        return [g]


def cumsum(x: Any, axis: int | None = None) -> Any:
    """Running sums along an axis, or of all elements."""
    return CumOp(axis, "add")(x)


def cumprod(x: Any, axis: int | None = None) -> Any:
    """Running products along an axis, or of all elements."""
    return CumOp(axis, "mul")(x)


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbours along an axis, `n` times."""
    return DiffOp(n, axis)(x)
