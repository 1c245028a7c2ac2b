"""Variables joined and split along an axis that is known only when a function runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.expressions.elemwise import float_zeros, rebroadcast
from wengert.symbolic.expressions.scalars import cast_to
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, DisconnectedType, Operation, disconnected


def _axis(axis: Any) -> Any:
    axis = as_tensor_variable(axis)
    if axis.ndim or axis.dtype not in DISCRETE:
        raise TypeError(f"Axis {axis} must be an integer type: it is {axis.type}")
    return axis


def _number(axis: np.ndarray, ndim: int) -> int:
    number = int(axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"Join axis {number} out of bounds [0, {ndim})")
    return number


class LengthAlong(Operation):
    """The length of a dimension."""

    def make_node(self, axis: Any, x: Any) -> Apply:
        """int64."""
        return Apply(self, [_axis(axis), as_tensor_variable(x)], [TensorType("int64", ())()])

    def compute(self, axis: np.ndarray, x: np.ndarray) -> np.ndarray:
        """NumPy's."""
        return np.asarray(x.shape[_number(axis, x.ndim)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Lengths do not vary."""
        return [[False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected(), disconnected()]


class JoinAlong(Operation):
    """``op(axis, *variables)``: one after another along an axis."""

    def make_node(self, axis: Any, *inputs: Any) -> Apply:
        """No dimension of the result is broadcastable."""
        variables = [as_tensor_variable(x) for x in inputs]
        ndims = {x.ndim for x in variables}
        if len(ndims) != 1 or not min(ndims):
            raise TypeError("Join() can only join tensors with the same number of dimensions.")
        dtype = upcast(*[x.dtype for x in variables])
        variables = [cast_to(x, dtype) for x in variables]
        return Apply(self, [_axis(axis), *variables],
                     [TensorType(dtype, (False,) * variables[0].ndim)()])  # fmt: skip

    def compute(self, axis: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """NumPy's concatenation."""
        return np.concatenate(values, _number(axis, values[0].ndim))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The axis has no gradient."""
        return [[False], *[[True]] * (node.nin - 1)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Parts of the gradient."""
        axis, *variables = inputs
        if outputs[0].dtype in DISCRETE:
            return [disconnected(), *map(float_zeros, variables)]
        sizes = [LengthAlong()(axis, x) for x in variables]
        pieces = SplitAlong()(axis, output_gradients[0], *sizes, return_list=True)
        return [
            disconnected(),
            *[rebroadcast(p, x.broadcastable) for x, p in zip(variables, pieces, strict=True)],
        ]


class SplitAlong(Operation):
    """``op(axis, x, *lengths)``: pieces of `x` along an axis."""

    def make_node(self, axis: Any, x: Any, *lengths: Any) -> Apply:
        """A piece for each length."""
        x = as_tensor_variable(x)
        out = TensorType(x.dtype, (False,) * x.ndim)
        counts = [as_tensor_variable(n) for n in lengths]
        return Apply(self, [_axis(axis), x, *counts], [out() for _ in counts])

    def compute(self, axis: np.ndarray, x: np.ndarray, *lengths: np.ndarray) -> Any:
        """ValueError unless the lengths are those of pieces that make up the whole."""
        number, counts = _number(axis, x.ndim), [int(n) for n in lengths]
        if min(counts) < 0 or sum(counts) != x.shape[number]:
            raise ValueError(
                f"The splits sum to {sum(counts)} ({counts}), expected {x.shape[number]}"
            )
        pieces = np.split(x, np.cumsum(counts)[:-1], number)
        return tuple(pieces) if len(pieces) > 1 else pieces[0]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Axis and lengths have no gradient."""
        none = [False] * node.nout
        return [none, [True] * node.nout, *[none] * (node.nin - 2)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients, joined."""
        parts = [
            float_zeros(y) if isinstance(g.type, DisconnectedType) else g
            for y, g in zip(outputs, output_gradients, strict=True)
        ]
        joined = JoinAlong()(inputs[0], *parts)
        return [disconnected(), joined, *[disconnected() for _ in inputs[2:]]]
