"""Counts, places in sorted vectors, different elements, and places in flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE
from wengert.symbolic.expressions.arithmetic import cast, ge
from wengert.symbolic.expressions.asserting import Assert
from wengert.symbolic.expressions.creation import zeros
from wengert.symbolic.expressions.elemwise import float_zeros
from wengert.symbolic.expressions.indexing import inc_subtensor, index
from wengert.symbolic.expressions.reductions import all as all_over
from wengert.symbolic.expressions.structure import get_vector_length
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected


class _Places(Operation):
    """An operation whose results do not vary with its inputs."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """No input has a gradient."""
        return [[False] * node.nout for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected() for _ in inputs]


class Counts(_Places):
    """How often each number occurs."""

    def make_node(self, x: Any, least: Any) -> Apply:
        """A vector of int64."""
        inputs = [as_tensor_variable(x), as_tensor_variable(least)]
        return Apply(self, inputs, [TensorType("int64", (False,))()])

    def compute(self, x: np.ndarray, least: Any) -> np.ndarray:
        """NumPy's."""
        return np.bincount(x, minlength=int(least)).astype(np.int64)


class SearchsortedOp(Operation):
    """Where values would stand in a sorted vector."""

    __props__ = ("side",)

    def __init__(self, side: str = "left") -> None:
        if side not in ("left", "right"):
            raise ValueError(f"'{side}' is an invalid value for keyword 'side'")
        self.side = side

    def make_node(self, x: Any, v: Any, sorter: Any = None) -> Apply:
        """int64; `sorter` is the order in which `x` is sorted."""
        x, v = as_tensor_variable(x, ndim=1), as_tensor_variable(v)
        inputs = [x, v]
        if sorter is not None:
            sorter = as_tensor_variable(sorter, ndim=1)
            if sorter.dtype not in DISCRETE:
                raise TypeError("sorter must be an integer vector", sorter.type)
            inputs.append(sorter)
        return Apply(self, inputs, [TensorType("int64", v.broadcastable)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the values."""
        return [shapes[1]]

    def compute(self, x: np.ndarray, v: np.ndarray, *sorter: np.ndarray) -> np.ndarray:
        """NumPy's."""
        side: Any = self.side
        return np.asarray(np.searchsorted(x, v, side, *sorter), np.int64)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """An order has no gradient."""
        return [[True], [True], [False]][: node.nin]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Zeros: places do not vary."""
        return [float_zeros(x) for x in inputs[:2]] + [disconnected() for _ in inputs[2:]]


class Unique(_Places):
    """The different elements in ascending order, or slices along an axis, and what is asked for.

    Args:
        return_index: whether to say where each occurs first.
        return_inverse: whether to say which each element is.
        return_counts: whether to say how often each occurs.
        axis: that of the slices.
    """

    __props__ = ("return_index", "return_inverse", "return_counts", "axis")

    def __init__(self, return_index: bool = False, return_inverse: bool = False,
                 return_counts: bool = False, axis: int | None = None) -> None:  # fmt: skip
        self.return_index, self.return_inverse = return_index, return_inverse
        self.return_counts, self.axis = return_counts, axis

    def make_node(self, x: Any) -> Apply:
        """Vectors, but for slices, which have as many dimensions as the array."""
        x = as_tensor_variable(x)
        pattern = [False]
        if self.axis is not None:
            if not -x.ndim <= self.axis < x.ndim:
                raise RuntimeError(
                    f"Unique axis `{self.axis}` is outside of input ndim = {x.ndim}."
                )
            pattern = [b and d != self.axis % x.ndim for d, b in enumerate(x.broadcastable)]
        more = self.return_index + self.return_inverse + self.return_counts
        outputs = [TensorType(x.dtype, pattern)()]
        return Apply(self, [x], outputs + [TensorType("int64", (False,))() for _ in range(more)])

    def compute(self, x: np.ndarray) -> Any:
        """NumPy's."""
        out = np.unique(x, *self._props())
        if isinstance(out, tuple):
            return out[0], *[o.reshape(-1) for o in out[1:]]
        return out


def _indices(x: Any) -> Any:
    x = as_tensor_variable(x)
    if x.dtype not in DISCRETE:
        raise TypeError(f"'{x.dtype}' object cannot be interpreted as an index")
    return x


def _order(order: str) -> str:
    if order not in ("C", "F"):
        raise AssertionError(f'order is "C" or "F", got {order!r}')
    return order


class UnravelIndex(_Places):
    """Indices, from places in a flat array."""

    __props__ = ("ndim", "order")

    def __init__(self, ndim: int, order: str = "C") -> None:
        self.ndim, self.order = ndim, _order(order)

    def make_node(self, indices: Any, dims: Any) -> Apply:
        """An array for each dimension."""
        x = _indices(indices)
        outputs = [TensorType("int64", x.broadcastable)() for _ in range(self.ndim)]
        return Apply(self, [x, _indices(dims)], outputs)

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the places."""
        return list(shapes[:1]) * self.ndim

    def compute(self, x: np.ndarray, dims: np.ndarray) -> Any:
        """NumPy's; ValueError for places beyond the end."""
        if len(dims) != self.ndim:
            raise ValueError(f"unravel_index: ndim is {self.ndim}, and dims are {dims}")
        order: Any = self.order
        out = np.unravel_index(x, tuple(dims), order)
        return tuple([np.array(o, np.int64) for o in out]) if self.ndim > 1 else np.array(out[0])


class RavelMultiIndex(_Places):
    """Places in a flat array, from indices."""

    __props__ = ("mode", "order")

    def __init__(self, mode: str = "raise", order: str = "C") -> None:
        if mode not in ("raise", "wrap", "clip"):
            raise AssertionError(f'mode is "raise", "wrap" or "clip", got {mode!r}')
        self.mode, self.order = mode, _order(order)

    def make_node(self, *inputs: Any) -> Apply:
        """Indices of each dimension, and the lengths."""
        *multi_index, dims = map(_indices, inputs)
        if dims.ndim != 1:
            raise TypeError(f"ravel_multi_index: dims is a vector, got {dims.type}")
        pattern = multi_index[0].broadcastable
        return Apply(self, [*multi_index, dims], [TensorType("int64", pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the indices."""
        return list(shapes[:1])

    def compute(self, *values: np.ndarray) -> np.ndarray:
        """NumPy's; ValueError for indices beyond the end, unless `mode` says what they are."""
        *multi_index, dims = values
        mode: Any = self.mode
        order: Any = self.order
        return np.asarray(np.ravel_multi_index(tuple(multi_index), tuple(dims), mode, order))


def unravel_index(indices: Any, dims: Any, order: str = "C", ndim: int | None = None) -> Any:
    """Indices, from places in a flat array.

    Args:
        indices: the places, an array of integers.
        dims: the lengths of the dimensions.
        order: "C" or "F": whether the last or the first index changes most quickly.
        ndim: how many dimensions there are, where `dims` is a vector of unknown length.

    >>> from wengert.symbolic import tensor as T
    >>> x = T.lvector("x")
    >>> [i.eval({x: [5, 3]}).tolist() for i in T.unravel_index(x, (3, 4))]
    [[1, 0], [1, 3]]
    """
    lengths = as_tensor_variable(dims)
    count = get_vector_length(lengths) if ndim is None else int(ndim)
    if ndim is not None and count != ndim:
        raise ValueError(f"unravel_index: ndim is an integer, got {ndim}")
    return tuple(UnravelIndex(count, order)(indices, lengths, return_list=True))


def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Places in a flat array, from indices.

    Args:
        multi_index: an array of integers for each dimension.
        dims: the lengths of the dimensions.
        mode: what indices beyond the end are: errors ("raise"), the last ("clip"), or counted
            from the first again ("wrap").
        order: "C" or "F": whether the last or the first index changes most quickly.
    """
    return RavelMultiIndex(mode, order)(*multi_index, dims)


def bincount(x: Any, weights: Any = None, minlength: Any = None, assert_nonneg: bool = False
             ) -> Any:  # fmt: skip
    """How often each number occurs, or the sums of weights of each."""
    x = as_tensor_variable(x)
    if x.ndim != 1:
        raise TypeError("Inputs must be of dimension 1.")
    if x.dtype not in DISCRETE:
        raise TypeError(f"bincount: integers are counted, and {x} has dtype {x.dtype}")
    if assert_nonneg:
        x = Assert("Input to bincount has negative values!")(x, all_over(ge(x, 0)))
    if weights is None:
        return cast(Counts()(x, 0 if minlength is None else minlength), x.dtype)
    weights = as_tensor_variable(weights)
    size = cast(x.max(), "int64") + 1
    if minlength is not None:
        size = (minlength > size) * (minlength - size) + size
    return inc_subtensor(index(zeros([size], weights.dtype), x), weights)


def searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where values would stand in a sorted vector, or in one that `sorter` sorts."""
    return SearchsortedOp(side)(x, v, *[] if sorter is None else [sorter])
