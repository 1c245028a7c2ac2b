"""The operations on shapes, and what is known of a shape without computing."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.expressions.arithmetic import cast
from wengert.symbolic.expressions.elemwise import (
    DimShuffle,
    Elemwise,
    Rebroadcast,
    float_zeros,
    rebroadcast,
    sum_to,
)
from wengert.symbolic.expressions.joining import JoinAlong
from wengert.symbolic.expressions.type import (
    TensorConstant,
    TensorType,
    as_tensor_variable,
    constant,
)
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected


class NotScalarConstantError(Exception):
    """An expression is not one number that is known without computing."""


class EmptyConstantError(NotScalarConstantError):
    """An array of no elements was passed for a number."""


class ShapeError(Exception):
    """An operation cannot say what shapes its outputs have: `infer_shape` may raise it."""


class Shape(Operation):
    """The lengths of a variable's dimensions, int64."""

    def make_node(self, x: Any) -> Apply:
        """A vector."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", (False,))()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The shape."""
        return np.asarray(x.shape, np.int64)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Shapes do not vary with values."""
        return [[False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]


class Length(Operation):
    """The length of one dimension."""

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def make_node(self, x: Any) -> Apply:
        """A scalar."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", ())()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The length."""
        return np.asarray(x.shape[self.axis], np.int64)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Shapes do not vary with values."""
        return [[False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]

    def __str__(self) -> str:
        return f"Shape_i{{{self.axis}}}"


class MakeVector(Operation):
    """A vector of scalars."""

    __props__ = ("dtype",)

    def __init__(self, dtype: str = "int64") -> None:
        self.dtype = dtype

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs are converted."""
        scalars = [cast(as_tensor_variable(x), self.dtype) for x in inputs]
        for x in scalars:
            if x.ndim:
                raise TypeError(f"MakeVector: {x} is no scalar")
        return Apply(self, scalars, [TensorType(self.dtype, (len(scalars) == 1,))()])

    def compute(self, *values: Any) -> np.ndarray:
        """The vector."""
        return np.array(values, self.dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Elements of the gradient."""
        if self.dtype in DISCRETE:
            return [float_zeros(x) for x in inputs]
        return [output_gradients[0][k] for k in range(len(inputs))]


class Reshape(Operation):
    """The same elements in another shape."""

    __props__ = ("ndim", "pattern")

    def __init__(self, ndim: int, pattern: tuple[bool, ...] | None = None) -> None:
        self.ndim, self.pattern = ndim, (False,) * ndim if pattern is None else pattern

    def make_node(self, x: Any, shape: Any) -> Apply:
        """`shape` is a vector of integers."""
        x, lengths = as_tensor_variable(x), as_tensor_variable(shape)
        return Apply(self, [x, lengths], [TensorType(x.dtype, self.pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The lengths, where they are listed and none is -1; ShapeError otherwise."""
        listed = node.inputs[1].owner
        if listed is None or not isinstance(listed.op, MakeVector):
            raise ShapeError(f"{self}: the lengths are not known")
        numbers = [number_in(n) for n in listed.inputs]
        if any(n is not None and n < 0 for n in numbers):
            raise ShapeError(f"{self}: a length is what the others leave")
        lengths = [n for n, number in zip(listed.inputs, numbers, strict=True) if number is None]
        if any(n.owner is None or not isinstance(n.owner.op, Length) for n in lengths):
            raise ShapeError(f"{self}: a length may turn out to be -1")
        return [tuple(listed.inputs)]

    def compute(self, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
        """A view where that is possible."""
        if len(shape) != self.ndim:
            raise ValueError(
                f"shape argument to Reshape.perform has incorrect length {len(shape)}, should be"
                f" {self.ndim}"
            )
        return x.reshape(tuple(shape))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The shape has no gradient."""
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient in the shape of the input."""
        x = inputs[0]
        op = Reshape(x.ndim, x.broadcastable)
        return [op(output_gradients[0], shape(x)), disconnected()]

    def __str__(self) -> str:
        return f"Reshape{{{self.ndim}}}"


class Join(Operation):
    """Variables one after another along an axis."""

    __props__ = ("axis",)

    def __init__(self, axis: int | None = None, view: int = -1) -> None:
        self.axis: Any = axis

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs have the same number of dimensions, and the result a common dtype.

        An operation without an axis takes that as its first input.
        """
        if self.axis is None:
            number = number_in(as_tensor_variable(inputs[0]))
            if number is None:
                return JoinAlong().make_node(*inputs)
            return Join(number % max(as_tensor_variable(inputs[1]).ndim, 1)).make_node(*inputs[1:])
        variables = [as_tensor_variable(x) for x in inputs]
        ndims = {x.ndim for x in variables}
        if len(ndims) != 1:
            raise TypeError("Join() can only join tensors with the same number of dimensions.")
        dtype = upcast(*[x.dtype for x in variables])
        variables = [cast(x, dtype) for x in variables]
        pattern = [any(flags) for flags in zip(*(x.broadcastable for x in variables), strict=True)]
        pattern[self.axis] = len(variables) == 1 and variables[0].broadcastable[self.axis]
        return Apply(self, variables, [TensorType(dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The sum of the lengths along the axis."""
        lengths = list(shapes[0])
        for other in shapes[1:]:
            lengths[self.axis] = lengths[self.axis] + other[self.axis]
        return [tuple(lengths)]

    def compute(self, *values: np.ndarray) -> np.ndarray:
        """NumPy's concatenation."""
        return np.concatenate(values, self.axis)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Parts of the gradient."""
        (g,) = output_gradients
        if outputs[0].dtype in DISCRETE:
            return [float_zeros(x) for x in inputs]
        sizes = MakeVector()(*[shape_i(x, self.axis) for x in inputs])
        pieces = Split(self.axis, len(inputs))(g, sizes, return_list=True)
        return [rebroadcast(p, x.broadcastable) for p, x in zip(pieces, inputs, strict=True)]


class Split(Operation):
    """Several variables from one, cut along an axis."""

    __props__ = ("axis", "count")

    def __init__(self, axis: int, count: int | None = None) -> None:
        # By the number of parts alone, as programs make it, it takes the axis as an input.
        self.axis: Any = None if count is None else axis
        self.count: Any = axis if count is None else count

    def make_node(self, x: Any, *rest: Any) -> Apply:
        """The lengths of the parts are a vector."""
        if self.axis is None:
            axis, sizes = rest
            number = number_in(as_tensor_variable(axis))
            if number is None:
                raise TypeError("split: the axis has to be known when the expression is built")
            own = Split(number % max(as_tensor_variable(x).ndim, 1), self.count)
            return own.make_node(x, sizes)
        (sizes,) = rest
        x, sizes = as_tensor_variable(x), as_tensor_variable(sizes)
        pattern = [b and d != self.axis for d, b in enumerate(x.broadcastable)]
        outputs = [TensorType(x.dtype, pattern)() for _ in range(self.count)]
        return Apply(self, [x, sizes], outputs)

    def compute(self, x: np.ndarray, sizes: np.ndarray) -> Any:
        """Views."""
        if len(sizes) != self.count:
            raise ValueError("In Split.perform(), len(splits) != len_splits.")
        if sizes.sum() != x.shape[self.axis]:
            raise ValueError(f"The splits sum to {sizes.sum()}, expected {x.shape[self.axis]}")
        if (sizes < 0).any():
            raise ValueError(f"Split: pieces cannot have a negative number of elements: {sizes}")
        pieces = tuple(np.split(x, np.cumsum(sizes)[:-1], self.axis))
        return pieces if self.count > 1 else pieces[0]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The sizes have no gradient."""
        return [[True] * self.count, [False] * self.count]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients, joined; zeros for pieces that were not used."""
        pieces = [
            g if isinstance(g.type, TensorType) else float_zeros(out)
            for g, out in zip(output_gradients, outputs, strict=True)
        ]
        joined = rebroadcast(Join(self.axis)(*pieces), inputs[0].broadcastable)
        return [joined, disconnected()]


class SpecifyShape(Operation):
    """The same array, whose shape is checked."""

    def make_node(self, x: Any, shape: Any) -> Apply:
        """`shape` is a vector."""
        x, lengths = as_tensor_variable(x), as_tensor_variable(shape)
        empty = isinstance(lengths, TensorConstant) and not lengths.data.size
        if (lengths.ndim != 1 or lengths.dtype not in DISCRETE) and not empty:
            raise AssertionError(f"specify_shape: expected a vector of integers, got {shape!r}")
        if isinstance(lengths, TensorConstant) and len(lengths.data) != x.ndim:
            raise AssertionError(
                f"specify_shape: {x} has {x.ndim} dimensions, and the shape is {shape!r}"
            )
        return Apply(self, [x, lengths], [x.type()])

    def compute(self, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
        """The array, or AssertionError."""
        if x.shape != tuple(shape):
            raise AssertionError(f"SpecifyShape: got shape {x.shape}, expected {tuple(shape)}")
        return x

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The shape has no gradient."""
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient."""
        return [output_gradients[0], disconnected()]


class Alloc(Operation):
    """A value, repeated to a shape."""

    def make_node(self, value: Any, *lengths: Any) -> Apply:
        """Lengths are scalars; those that are the constant 1 give broadcastable dimensions."""
        value = as_tensor_variable(value)
        scalars = [as_tensor_variable(n) for n in lengths]
        for n in scalars:
            if n.ndim or n.dtype not in DISCRETE:
                raise TypeError(f"Shape arguments to Alloc must be integers, but got {n}: {n.type}")
        if value.ndim > len(scalars):
            raise TypeError(
                "The Alloc value to use has more dimensions than the specified dimensions",
                value.ndim,
                len(scalars),
            )
        pattern = [number_in(n) == 1 for n in scalars]
        return Apply(self, [value, *scalars], [TensorType(value.dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The lengths."""
        return [tuple(node.inputs[1:])]

    def compute(self, value: np.ndarray, *lengths: Any) -> np.ndarray:
        """A fresh array."""
        out = np.empty([int(n) for n in lengths], value.dtype)
        out[...] = value
        return out

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Lengths have no gradient."""
        return [[True], *[[False]] * (node.nin - 1)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Summed over what was repeated."""
        value, (g,) = inputs[0], output_gradients
        none = [disconnected() for _ in inputs[1:]]
        extra = g.ndim - value.ndim
        g = sum_to(g, [True] * extra + list(value.broadcastable))
        order = list(range(extra, g.ndim))
        return [DimShuffle(g.broadcastable, order)(g) if extra else g, *none]


shape_op, alloc_op = Shape(), Alloc()


def shape(x: Any) -> Any:
    """The lengths of all dimensions, a vector of int64."""
    return shape_op(x)


def shape_i(x: Any, axis: int) -> Any:
    """The length of one dimension."""
    x = as_tensor_variable(x)
    if x.broadcastable[axis]:
        return constant(1, dtype="int64")
    return Length(axis % x.ndim)(x)


def number_in(variable: Any) -> int | None:
    """The value of a scalar that is known without computing, or None."""
    try:
        return int(get_scalar_constant_value(variable))
    except NotScalarConstantError:
        return None


def get_scalar_constant_value(v: Any, elemwise: bool = True, only_process_constants: bool = False,
                              max_recur: int = 10) -> Any:  # fmt: skip
    """The number in an expression that consists of constants; NotScalarConstantError otherwise.

    Args:
        v: a number, or a variable all of whose elements are that number.
        elemwise: whether to look through operations on elements.
        only_process_constants: whether to look at nothing but constants.
        max_recur: accepted; expressions are searched to their ends.
    """
    if isinstance(v, int | float | np.generic | np.ndarray | TensorConstant):
        data = v.data if isinstance(v, TensorConstant) else np.asarray(v)
        if not data.size:
            raise EmptyConstantError(v)
        if (data == data.flat[0]).all():
            return data.flat[0]
        raise NotScalarConstantError(v)
    node = getattr(v, "owner", None)
    if node is None or only_process_constants:
        raise NotScalarConstantError(v)
    if isinstance(node.op, DimShuffle | Rebroadcast | Alloc | SpecifyShape):
        return get_scalar_constant_value(node.inputs[0])
    if isinstance(node.op, Elemwise) and node.op.scalar_op.name == "second":
        return get_scalar_constant_value(node.inputs[1])
    if not isinstance(node.op, Elemwise):
        return _number_through(node)
    if not v.ndim and elemwise:
        values = [get_scalar_constant_value(x) for x in node.inputs]
        return node.op.kernel(node)(*[
            np.asarray(value, x.dtype) for value, x in zip(values, node.inputs, strict=True)
        ])  # fmt: skip
    raise NotScalarConstantError(v)


def _number_through(node: Apply) -> Any:
    """The number of a length, of an element, or of what is asserted."""
    if not node.inputs:
        raise NotScalarConstantError(node)
    x, *others = node.inputs
    if isinstance(node.op, MakeVector) and not others:
        return get_scalar_constant_value(x)
    if isinstance(node.op, Length):
        if x.broadcastable[node.op.axis]:
            return np.asarray(1)
        if isinstance(x, TensorConstant):
            return np.asarray(x.data.shape[node.op.axis])
    if type(node.op).__name__ in ("ScalarFromTensor", "TensorFromScalar"):
        return get_scalar_constant_value(x)
    if type(node.op).__name__ not in ("Subtensor", "Assert"):
        raise NotScalarConstantError(node)
    values = [get_scalar_constant_value(n) for n in others]
    if type(node.op).__name__ == "Assert":
        if not np.all(values):
            raise NotScalarConstantError(node)
        return get_scalar_constant_value(x)
    return _element(node, x, values)


def _element(node: Apply, x: Any, values: list[Any]) -> Any:
    """The number at an index of a constant, of listed scalars or of a shape."""
    key = getattr(node.op, "key", None)
    if key is None or set(key.entries) != {"i"} or node.outputs[0].ndim:
        raise NotScalarConstantError(node)
    if isinstance(x, TensorConstant):
        return np.asarray(x.data[key.filled(values)])
    if x.owner is not None and isinstance(x.owner.op, MakeVector):
        return get_scalar_constant_value(x.owner.inputs[int(values[0])])
    if x.owner is not None and isinstance(x.owner.op, Shape):
        return get_scalar_constant_value(shape_i(x.owner.inputs[0], int(values[0])))
    raise NotScalarConstantError(node)


def as_shape(lengths: Any) -> Any:
    """Lengths, some of which may be variables, as a vector."""
    if not isinstance(lengths, list | tuple):
        return as_tensor_variable(lengths)
    if any(isinstance(n, Variable) and not isinstance(n, TensorConstant) for n in lengths):
        return MakeVector()(*lengths)
    numbers = [int(n.data) if isinstance(n, TensorConstant) else int(n) for n in lengths]
    return constant(np.asarray(numbers, np.int64))


__all__ = [
    "Alloc",
    "EmptyConstantError",
    "Join",
    "Length",
    "MakeVector",
    "NotScalarConstantError",
    "Reshape",
    "Shape",
    "ShapeError",
    "SpecifyShape",
    "Split",
    "get_scalar_constant_value",
    "shape",
    "shape_i",
]
