"""Orders of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE
from wengert.symbolic.expressions.arithmetic import neg
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.indexing import inc_subtensor, index
from wengert.symbolic.expressions.structure import flatten
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected


class ArgSort(Operation):
    """The places of elements in ascending order."""

    __props__ = ("axis", "kind")

    def __init__(self, axis: int, kind: str = "quicksort") -> None:
        self.axis, self.kind = axis, kind

    def make_node(self, x: Any) -> Apply:
        """int64."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", x.broadcastable)()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """NumPy's."""
        kind: Any = self.kind
        return np.argsort(x, self.axis, kind=kind)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Places do not vary with values."""
        return [[False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]


class TakeAlong(Operation):
    """Elements at places along an axis."""

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def make_node(self, x: Any, positions: Any) -> Apply:
        """`places` has as many dimensions as `x`."""
        x, positions = as_tensor_variable(x), as_tensor_variable(positions)
        return Apply(self, [x, positions], [TensorType(x.dtype, positions.broadcastable)()])

    def compute(self, x: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """NumPy's."""
        return np.take_along_axis(x, positions, self.axis)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not vary with places."""
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, at the places."""
        x, positions = inputs
        if x.dtype in DISCRETE:
            return [float_zeros(x), disconnected()]
        key: list[Any] = []
        for d in range(x.ndim):
            if d == self.axis:
                key.append(positions)
            else:
                order: list[Any] = ["x"] * x.ndim
                order[d] = 0
                key.append(arange(positions.shape[d]).dimshuffle(*order))
        zeros = index(float_zeros(x), tuple(key))
        return [inc_subtensor(zeros, output_gradients[0]), disconnected()]


def argsort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Any:
    """The places of elements in ascending order along an axis; of all with None."""
    a = as_tensor_variable(a)
    if axis is None:
        a, axis = flatten(a), 0
    return ArgSort(axis % a.ndim, kind)(a)


def sort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Any:
    """Elements in ascending order along an axis; all of them with None."""
    a = as_tensor_variable(a)
    if axis is None:
        a, axis = flatten(a), 0
    return TakeAlong(axis % a.ndim)(a, argsort(a, axis, kind))


def topk_and_argtopk(x: Any, kth: Any, axis: int = -1, sorted: bool = True,
                     idx_dtype: str = "int64") -> Any:  # fmt: skip
    """The `kth` largest elements along an axis, in descending order, and their places."""
    x = as_tensor_variable(x)
    axis %= x.ndim
    positions = argsort(neg(x), axis)
    positions = index(positions, (*[slice(None)] * axis, slice(None, kth)))
    return [TakeAlong(axis)(x, positions), positions.astype(idx_dtype)]


def topk(x: Any, kth: Any, axis: int = -1, sorted: bool = True, idx_dtype: str = "int64") -> Any:
    """The `kth` largest elements along an axis."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(x: Any, kth: Any, axis: int = -1, sorted: bool = True, idx_dtype: str = "int64") -> Any:
    """The places of the `kth` largest elements along an axis."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[1]


__all__ = [
    "ArgSort",
    "TakeAlong",
    "argsort",
    "argtopk",
    "sort",
    "topk",
    "topk_and_argtopk",
]
