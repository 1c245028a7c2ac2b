"""Orders of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.symbolic.dtypes import DISCRETE, INTEGERS, UNSIGNED
from wengert.symbolic.expressions.arithmetic import abs_, and_, cast, eq, ge, lt, switch
from wengert.symbolic.expressions.asserting import Assert
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.indexing import inc_subtensor, index
from wengert.symbolic.expressions.structure import flatten
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected
from wengert.symbolic.ifelse import ifelse


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

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros: places do not vary with values."""
        return [float_zeros(inputs[0])]


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


class ArgSortOp:
    """`argsort`, as operations are made: ``ArgSortOp("quicksort")(x, axis)``."""

    def __init__(self, kind: str, order: Any = None) -> None:
        self.kind, self.order = kind, order

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), self.kind))

    def __call__(self, x: Any, axis: Any = -1) -> Any:
        """The places."""
        return argsort(x, axis, self.kind, self.order)

    def __str__(self) -> str:
        return f"{type(self).__name__}{{{self.kind}, {self.order}}}"


class SortOp(ArgSortOp):
    """`sort`, as operations are made: ``SortOp("quicksort")(x, axis)``."""

    def __call__(self, x: Any, axis: Any = -1) -> Any:
        """The elements."""
        return sort(x, axis, self.kind, self.order)


def argsort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Any:
    """The places of elements in ascending order along an axis; of all with None."""
    a = as_tensor_variable(a)
    if axis is None:
        a, axis = flatten(a), 0
    if isinstance(axis, Variable):
        return _along(a, axis, lambda d: argsort(a, d, kind))
    return ArgSort(normalize_axis_index(axis, a.ndim), kind)(a)


def _along(a: Any, axis: Variable, ordered: Callable[[int], Any]) -> Any:
    """What `ordered` gives for the axis that a variable says when a function runs."""
    axis = cast(axis, "int64")
    axis = switch(lt(axis, 0), axis + a.ndim, axis)
    valid = and_(ge(axis, 0), lt(axis, a.ndim))
    result = ordered(0)
    for d in range(1, a.ndim):
        result = ifelse(eq(axis, d), ordered(d), result)
    return Assert(f"sort: the axis is none of an array of {a.ndim} dimensions")(result, valid)


def sort(a: Any, axis: Any = -1, kind: str = "quicksort", order: Any = None) -> Any:
    """Elements in ascending order along an axis; all of them with None."""
    a = as_tensor_variable(a)
    if axis is None:
        a, axis = flatten(a), 0
    if isinstance(axis, Variable):
        return _along(a, axis, lambda d: sort(a, d, kind))
    return TakeAlong(normalize_axis_index(axis, a.ndim))(a, argsort(a, axis, kind))


class TopKOp(Operation):
    """The `kth` largest elements in descending order, or the smallest in ascending order.

    Gives the elements, their places, or both.
    """

    __props__ = ("axis", "sorted", "idx_dtype", "return_values", "return_indices")

    def __init__(
        self, axis: int = -1, sorted: bool = True, idx_dtype: str = "int64",
        return_values: bool = True, return_indices: bool = True,
    ) -> None:  # fmt: skip
        if not isinstance(axis, int):
            raise TypeError(f'"axis" parameter must be integer, got "{type(axis)}"')
        if idx_dtype not in (*INTEGERS, *UNSIGNED):
            raise TypeError(f'"idx_dtype" parameter must be an integer dtype, got {idx_dtype}')
        if not (return_values or return_indices):
            raise ValueError("Neither return_values nor return_indices is True, this isn't allowed")
        self.axis, self.sorted, self.idx_dtype = axis, sorted, idx_dtype
        self.return_values, self.return_indices = return_values, return_indices

    def make_node(self, x: Any, kth: Any) -> Apply:
        """An array and a number."""
        x, kth = as_tensor_variable(x), as_tensor_variable(kth)
        if not x.ndim:
            raise ValueError("Cannot take scalar as input")
        if not -x.ndim <= self.axis < x.ndim:
            raise IndexError(f'"axis" parameter out of range: {self.axis} of {x.ndim} dimensions')
        pattern = [b and d != self.axis % x.ndim for d, b in enumerate(x.broadcastable)]
        outputs = []
        if self.return_values:
            outputs.append(TensorType(x.dtype, pattern)())
        if self.return_indices:
            outputs.append(TensorType(self.idx_dtype, pattern)())
        return Apply(self, [x, kth], outputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """As many elements along the axis."""
        lengths = list(shapes[0])
        lengths[self.axis] = abs_(cast(node.inputs[1], "int64"))
        return [tuple(lengths)] * node.nout

    def compute(self, x: np.ndarray, kth: np.ndarray) -> Any:
        """By sorting; ValueError unless there are as many elements."""
        k, length = int(kth), x.shape[self.axis]
        if not 0 < abs(k) <= length:
            raise ValueError(f"topk: {k} elements of {length} along axis {self.axis}")
        order = np.moveaxis(np.argsort(x, self.axis, kind="stable"), self.axis, -1)
        chosen = order[..., ::-1][..., :k] if k > 0 else order[..., :-k]
        places = np.moveaxis(chosen, -1, self.axis)
        results = []
        if self.return_values:
            results.append(np.take_along_axis(x, places, self.axis))
        if self.return_indices:
            results.append(places.astype(self.idx_dtype))
        return tuple(results) if len(results) > 1 else results[0]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Places do not vary with values, nor anything with their number."""
        values = [[True]] if self.return_values else [[]]
        places = [False] * self.return_indices
        return [values[0] + places, [False] * node.nout]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient of the elements, at their places."""
        x, kth = inputs
        if not self.return_values:
            return [disconnected(), disconnected()]
        alone = TopKOp(self.axis, self.sorted, "int64", return_values=False)
        places = outputs[1] if self.return_indices else alone(x, kth)
        own = TakeAlong(self.axis % x.ndim)
        of_x, _ = own.L_op([x, places], outputs[:1], output_gradients[:1])
        return [of_x, disconnected()]


def _topk(x: Any, kth: Any, axis: int | None, sorted: bool, idx_dtype: str, values: bool,
          indices: bool) -> Any:  # fmt: skip
    x = as_tensor_variable(x)
    if axis is None:
        x, axis = flatten(x), 0
    return TopKOp(axis, sorted, idx_dtype, values, indices)(x, kth)


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
    return _topk(x, kth, axis, sorted, idx_dtype, True, True)


def topk(
    x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Any:
    """The `kth` largest elements along an axis."""
    return _topk(x, kth, axis, sorted, idx_dtype, True, False)


def argtopk(
    x: Any, kth: Any, axis: int | None = -1, sorted: bool = True, idx_dtype: str = "int64"
) -> Any:
    """The places of the `kth` largest elements along an axis."""
    return _topk(x, kth, axis, sorted, idx_dtype, False, True)


__all__ = [
    "ArgSort",
    "ArgSortOp",
    "SortOp",
    "TakeAlong",
    "TopKOp",
    "argsort",
    "argtopk",
    "sort",
    "topk",
    "topk_and_argtopk",
]
