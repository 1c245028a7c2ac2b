"""Orders of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, INTEGERS, UNSIGNED
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

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the array."""
        return shapes[:1]

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

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the places."""
        return shapes[1:]

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


class ArgTopK(Operation):
    """The places of the `kth` largest elements in descending order, or of the smallest."""

    __props__ = ("axis", "idx_dtype")

    def __init__(self, axis: int, idx_dtype: str) -> None:
        self.axis, self.idx_dtype = axis, idx_dtype

    def make_node(self, x: Any, kth: Any) -> Apply:
        """An array and a number; integers of `idx_dtype`."""
        x, kth = as_tensor_variable(x), as_tensor_variable(kth)
        if not x.ndim:
            raise ValueError("Cannot take scalar as input")
        if self.idx_dtype not in (*INTEGERS, *UNSIGNED):
            raise TypeError(f'"idx_dtype" parameter must be an integer dtype, got {self.idx_dtype}')
        pattern = [b and d != self.axis for d, b in enumerate(x.broadcastable)]
        return Apply(self, [x, kth], [TensorType(self.idx_dtype, pattern)()])

    def compute(self, x: np.ndarray, kth: np.ndarray) -> np.ndarray:
        """By sorting; ValueError unless there are as many elements."""
        k, length = int(kth), x.shape[self.axis]
        if not 0 < abs(k) <= length:
            raise ValueError(f"topk: {k} elements of {length} along axis {self.axis}")
        order = np.moveaxis(np.argsort(x, self.axis, kind="stable"), self.axis, -1)
        places = order[..., ::-1][..., :k] if k > 0 else order[..., :-k]
        return np.moveaxis(places, -1, self.axis).astype(self.idx_dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Places do not vary with values."""
        return [[False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected(), disconnected()]


def topk_and_argtopk(x: Any, kth: Any, axis: int | None = -1, sorted: bool = True,
                     idx_dtype: str = "int64") -> Any:  # fmt: skip
    """The `kth` largest elements along an axis (of all with None), and their places.

    In descending order; with a negative `kth` the smallest, in ascending order. Raises ValueError
    where there are not as many.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.ivector("x")
    >>> function([x], T.topk_and_argtopk(x, 2))([3, 9, 5])
    [array([9, 5], dtype=int32), array([1, 2])]
    """
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    if x.ndim and not -x.ndim <= axis < x.ndim:
        raise IndexError(f'"axis" parameter out of range: {axis} of {x.ndim} dimensions')
    axis %= max(x.ndim, 1)
    positions = ArgTopK(axis, idx_dtype)(x, kth)
    return [TakeAlong(axis)(x, positions), positions]


def topk(
    x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Any:
    """The `kth` largest elements along an axis."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[0]


def argtopk(
    x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Any:
    """The places of the `kth` largest elements along an axis."""
    return topk_and_argtopk(x, kth, axis, sorted, idx_dtype)[1]


__all__ = [
    "ArgSort",
    "ArgTopK",
    "TakeAlong",
    "argsort",
    "argtopk",
    "sort",
    "topk",
    "topk_and_argtopk",
]
