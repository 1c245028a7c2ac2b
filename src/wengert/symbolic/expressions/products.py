"""Products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import ops
from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.arithmetic import cast, conj, mul
from wengert.symbolic.expressions.elemwise import DimShuffle, rebroadcast
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.structure import reshape
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Kernel, Operation


def _transposed(x: Any) -> Any:
    return DimShuffle(x.broadcastable, (1, 0))(x) if x.ndim == 2 else x


class Dot(Operation):
    """The product of two matrices, of a matrix and a vector, or of two vectors."""

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs of one or two dimensions, in a common dtype."""
        x, y = map(as_tensor_variable, inputs)
        for k, v in enumerate((x, y)):
            if v.ndim not in (1, 2):
                raise TypeError(
                    f"theano.tensor.Dot: input {k} ({k}) must have ndim of 1 or 2, got {v.ndim}."
                    " Consider calling theano.tensor.dot instead."
                )
        dtype = upcast(x.dtype, y.dtype)
        pattern = x.broadcastable[:-1] + y.broadcastable[1:]
        return Apply(self, [cast(x, dtype), cast(y, dtype)], [TensorType(dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The rows of the first and the columns of the second."""
        return [shapes[0][:-1] + shapes[1][1:]]

    def kernel(self, node: Apply) -> Kernel:
        """The library's product of floats, NumPy's of others."""
        if node.outputs[0].dtype in ("float32", "float64") and node.inputs[0].ndim == 2 and (
                node.inputs[1].ndim == 2):  # fmt: skip
            return _product
        return _with_vector if node.outputs[0].ndim else _checked_dot

    def compute(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """NumPy's product."""
        return _checked_dot(x, y)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products with the other factor."""
        (x, y), (g,) = inputs, output_gradients
        if "complex" in g.dtype:
            x, y = conj(x), conj(y)
        if x.ndim == 1 and y.ndim == 1:
            of_x, of_y = mul(g, y), mul(g, x)
        elif x.ndim == 2 and y.ndim == 1:
            of_x, of_y = mul(_column(g), _row(y)), self(_transposed(x), g)
        elif x.ndim == 1:
            of_x, of_y = self(g, _transposed(y)), mul(_column(x), _row(g))
        else:
            of_x, of_y = self(g, _transposed(y)), self(_transposed(x), g)
        return [
            rebroadcast(of_x, inputs[0].broadcastable), rebroadcast(of_y, inputs[1].broadcastable)
        ]  # fmt: skip

    def __str__(self) -> str:
        return "dot"


def _column(v: Any) -> Any:
    return DimShuffle(v.broadcastable, (0, "x"))(v)


def _row(v: Any) -> Any:
    return DimShuffle(v.broadcastable, ("x", 0))(v)


def _require_aligned(x: np.ndarray, y: np.ndarray) -> None:
    axis = 0 if y.ndim == 1 else y.ndim - 2
    if x.shape[-1] != y.shape[axis]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim {x.ndim - 1}) !="
            f" {y.shape[axis]} (dim {axis})"
        )


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    rows, columns = x.shape[0], y.shape[1]
    most = _SMALL if rows == 1 or columns == 1 else _MEDIUM
    if x.size * columns <= most and x.shape[1] == len(y):
        return x.dot(y)  # as `mm` does, at once
    _require_aligned(x, y)
    return ops.mm(x, y)  # type: ignore[return-value]


def _checked_dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    _require_aligned(x, y)
    return np.asarray(np.dot(x, y))


def _with_vector(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x.dot(y)  # whose errors say what does not fit


class BatchedDot(Operation):
    """A product for each index of the first dimension."""

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs of two or three dimensions."""
        x, y = map(as_tensor_variable, inputs)
        for v in (x, y):
            if v.ndim not in (2, 3):
                raise TypeError(
                    f"theano.tensor.blas.BatchedDot: inputs must have ndim of 2 or 3, got {v.ndim}."
                    " Consider calling theano.tensor.batched_dot instead."
                )
        dtype = upcast(x.dtype, y.dtype)
        first = x.broadcastable[0] or y.broadcastable[0]
        pattern = (first, *x.broadcastable[1:-1], *y.broadcastable[2:])
        return Apply(self, [cast(x, dtype), cast(y, dtype)], [TensorType(dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """One product for each index of the first dimension."""
        return [shapes[0][:-1] + shapes[1][2:]]

    def compute(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """NumPy's product of stacks."""
        if x.shape[0] != y.shape[0]:
            raise TypeError(
                f"theano.tensor.blas.BatchedDot: inputs [x, y] must have the same size in axis 0,"
                f" but have sizes [{x.shape[0]}, {y.shape[0]}]."
            )
        left = x[:, None, :] if x.ndim == 2 else x
        right = y[:, :, None] if y.ndim == 2 else y
        out = np.matmul(left, right)
        if y.ndim == 2:
            out = out[:, :, 0]
        return out[:, 0] if x.ndim == 2 else out

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Products with the other factor."""
        (x, y), (g,) = inputs, output_gradients
        if x.ndim == 2 and y.ndim == 2:
            widened = DimShuffle(g.broadcastable, (0, "x"))(g)
            of_x, of_y = mul(widened, y), mul(widened, x)
        elif x.ndim == 2:
            of_x = self(g, _swapped(y))
            of_y = mul(_padded(x, True), _padded(g, False))
        elif y.ndim == 2:
            of_x = mul(_padded(g, True), _padded(y, False))
            of_y = self(_swapped(x), g)
        else:
            of_x, of_y = self(g, _swapped(y)), self(_swapped(x), g)
        return [rebroadcast(of_x, x.broadcastable), rebroadcast(of_y, y.broadcastable)]


def _swapped(x: Any) -> Any:
    return DimShuffle(x.broadcastable, (0, 2, 1))(x)


def _padded(x: Any, right: bool) -> Any:
    return DimShuffle(x.broadcastable, (0, 1, "x") if right else (0, "x", 1))(x)


# Multiplications for which `mm` has nothing better than NumPy, with a vector and without.
_SMALL, _MEDIUM = 1 << 12, 1 << 18
dot_op, batched_dot_op = Dot(), BatchedDot()


def dot(l: Any, r: Any) -> Any:  # noqa: E741
    """The product of vectors and matrices; of more dimensions as in NumPy."""
    for own, name in ((l, "__dot__"), (r, "__rdot__")):  # sparse matrices
        if hasattr(own, name):
            return getattr(own, name)(r if own is l else l)
    left, right = as_tensor_variable(l), as_tensor_variable(r)
    if left.ndim == 0 or right.ndim == 0:
        return mul(left, right)
    if left.ndim > 2 or right.ndim > 2:
        return tensordot(left, right, [[left.ndim - 1], [max(0, right.ndim - 2)]])
    return dot_op(left, right)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """The product summed over axes: a number of them, or a pair of lists."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if not isinstance(axes, list | tuple | np.ndarray) or getattr(axes, "ndim", 1) == 0:
        count = int(axes)
        if count > min(a.ndim, b.ndim):
            raise ValueError(f"axes {axes} can not be larger than the dimension of an input")
        pairs = [list(range(a.ndim - count, a.ndim)), list(range(count))]
    else:
        pairs = [
            list(axis) if isinstance(axis, list | tuple | np.ndarray) else [axis] for axis in axes
        ]
        if len(pairs) != 2 or len(pairs[0]) != len(pairs[1]):
            raise ValueError(f"Axes to combine must have the same length: {axes}")
        for x, own in ((a, pairs[0]), (b, pairs[1])):
            if len(own) > x.ndim or any(not -x.ndim <= d < x.ndim for d in own):
                raise ValueError(f"axes {axes} do not fit {x}, which has {x.ndim} dimensions")
    over_a, over_b = [d % a.ndim for d in pairs[0]], [d % b.ndim for d in pairs[1]]
    free_a = [d for d in range(a.ndim) if d not in over_a]
    free_b = [d for d in range(b.ndim) if d not in over_b]
    shape = [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b]
    pattern = [a.broadcastable[d] for d in free_a] + [b.broadcastable[d] for d in free_b]
    left = _as_matrix(a, free_a, over_a)
    right = _as_matrix(b, over_b, free_b)
    out = dot_op(left, right)
    if not shape:
        return DimShuffle((True, True), ())(rebroadcast(out, (True, True)))
    return rebroadcast(reshape(out, shape, len(shape)), pattern)


def _as_matrix(x: Any, rows: list[int], columns: list[int]) -> Any:
    moved = DimShuffle(x.broadcastable, [*rows, *columns])(x)
    if len(rows) == 1 and len(columns) == 1:
        return moved
    lengths = [1, 1]
    for side, axes in enumerate((rows, columns)):
        for d in axes:
            lengths[side] = lengths[side] * x.shape[d]
    return reshape(moved, lengths, 2)


def batched_dot(a: Any, b: Any) -> Any:
    """A product for each index of the first dimension."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if not a.ndim or not b.ndim:
        raise TypeError("a and b must have at least one dimension")
    if a.ndim == 1:
        return mul(DimShuffle(a.broadcastable, (0, *["x"] * (b.ndim - 1)))(a), b)
    if b.ndim == 1:
        return mul(a, DimShuffle(b.broadcastable, (0, *["x"] * (a.ndim - 1)))(b))
    if a.ndim > 3 or b.ndim > 3:
        return batched_tensordot(a, b, [[a.ndim - 1], [max(1, b.ndim - 2)]])
    return batched_dot_op(a, b)


def batched_tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """`tensordot` for each index of the first dimension."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if np.ndim(axes) == 0:
        count = int(axes)
        pairs = [list(range(x.ndim - count, x.ndim)), list(range(1, count + 1))]
    else:
        pairs = [[axis] if np.ndim(axis) == 0 else list(axis) for axis in axes]
    over_x, over_y = [d % x.ndim for d in pairs[0]], [d % y.ndim for d in pairs[1]]
    free_x = [d for d in range(1, x.ndim) if d not in over_x]
    free_y = [d for d in range(1, y.ndim) if d not in over_y]
    lengths = [x.shape[0]] + [x.shape[d] for d in free_x] + [y.shape[d] for d in free_y]
    left, right = _as_stack(x, free_x, over_x), _as_stack(y, over_y, free_y)
    return reshape(batched_dot_op(left, right), lengths, len(lengths))


def _as_stack(x: Any, rows: list[int], columns: list[int]) -> Any:
    moved = DimShuffle(x.broadcastable, [0, *rows, *columns])(x)
    lengths = [x.shape[0], 1, 1]
    for side, axes in enumerate((rows, columns), start=1):
        for d in axes:
            lengths[side] = lengths[side] * x.shape[d]
    return reshape(moved, lengths, 3)


def outer(x: Any, y: Any) -> Any:
    """The products of all elements of one with all of another."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    x = x if x.ndim == 1 else x.flatten()
    y = y if y.ndim == 1 else y.flatten()
    return dot(_column(x), _row(y))


def vdot(x: Any, y: Any) -> Any:
    """The sum of products of elements."""
    return sum_over(mul(x, y))


__all__ = [
    "BatchedDot",
    "Dot",
    "batched_dot",
    "batched_tensordot",
    "dot",
    "outer",
    "tensordot",
]
