"""Shapes: read, changed, joined and split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, upcast
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected
from wengert.symbolic.expressions.arithmetic import cast
from wengert.symbolic.expressions.elemwise import (
    DimShuffle,
    Elemwise,
    Rebroadcast,
    float_zeros,
    normal_axes,
    pad_left,
    rebroadcast,
    sum_to,
)
from wengert.symbolic.expressions.type import (
    TensorConstant,
    TensorType,
    as_tensor_variable,
    constant,
    stacking,
)


class NotScalarConstantError(Exception):
    """An expression is not one number that is known without computing."""


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

    def __init__(self, ndim: int, pattern: tuple[bool, ...]) -> None:
        self.ndim, self.pattern = ndim, pattern

    def make_node(self, x: Any, shape: Any) -> Apply:
        """`shape` is a vector of integers."""
        x, lengths = as_tensor_variable(x), as_tensor_variable(shape)
        return Apply(self, [x, lengths], [TensorType(x.dtype, self.pattern)()])

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

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs have the same number of dimensions, and the result a common dtype."""
        variables = [as_tensor_variable(x) for x in inputs]
        ndims = {x.ndim for x in variables}
        if len(ndims) != 1:
            raise TypeError("Join() can only join tensors with the same number of dimensions.")
        dtype = upcast(*[x.dtype for x in variables])
        variables = [cast(x, dtype) for x in variables]
        pattern = [any(flags) for flags in zip(*(x.broadcastable for x in variables), strict=True)]
        pattern[self.axis] = len(variables) == 1 and variables[0].broadcastable[self.axis]
        return Apply(self, variables, [TensorType(dtype, pattern)()])

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

    def __init__(self, axis: int, count: int) -> None:
        self.axis, self.count = axis, count

    def make_node(self, x: Any, sizes: Any) -> Apply:
        """`sizes` is a vector of lengths."""
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
        if value.dtype in DISCRETE:
            return [float_zeros(value), *none]
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


def get_scalar_constant_value(v: Any) -> Any:
    """The number in an expression that consists of constants; NotScalarConstantError otherwise."""
    if isinstance(v, int | float | np.generic):
        return np.asarray(v)
    if isinstance(v, np.ndarray):
        if v.size == 1:
            return v.reshape(())
        raise NotScalarConstantError(v)
    if isinstance(v, TensorConstant):
        if v.data.size and (v.data == v.data.flat[0]).all():
            return v.data.flat[0]
        raise NotScalarConstantError(v)
    node = getattr(v, "owner", None)
    if node is None:
        raise NotScalarConstantError(v)
    if isinstance(node.op, DimShuffle | Rebroadcast | Alloc | SpecifyShape):
        return get_scalar_constant_value(node.inputs[0])
    if isinstance(node.op, Length) and node.inputs[0].broadcastable[node.op.axis]:
        return np.asarray(1)
    if isinstance(node.op, Elemwise) and not v.ndim:
        if node.op.scalar_op.name == "second":
            return get_scalar_constant_value(node.inputs[1])
        values = [get_scalar_constant_value(x) for x in node.inputs]
        return node.op.kernel(node)(*[
            np.asarray(value, x.dtype) for value, x in zip(values, node.inputs, strict=True)
        ])  # fmt: skip
    raise NotScalarConstantError(v)


def reshape(x: Any, newshape: Any, ndim: int | None = None) -> Any:
    """The same elements in another shape; `ndim` is needed for a shape of unknown length."""
    x = as_tensor_variable(x)
    scalars: list[Any] | None = None
    if isinstance(newshape, list | tuple):
        scalars = list(newshape)
    elif isinstance(newshape, TensorConstant) and newshape.ndim == 1:
        scalars = list(newshape.data)
    elif isinstance(newshape, np.ndarray) and newshape.ndim == 1:
        scalars = list(newshape)
    elif isinstance(newshape, Variable) and newshape.owner is not None:
        if isinstance(newshape.owner.op, MakeVector):
            scalars = newshape.owner.inputs
        elif isinstance(newshape.owner.op, Shape):
            scalars = [shape_i(newshape.owner.inputs[0], d)
                       for d in range(newshape.owner.inputs[0].ndim)]  # fmt: skip
    elif isinstance(newshape, int | np.integer) or not getattr(newshape, "ndim", 1):
        scalars = [newshape]
    if scalars is not None:
        if ndim is not None and len(scalars) != ndim:
            raise ValueError(f"newshape has {len(scalars)} elements, and ndim is {ndim}")
        numbers = [number_in(n) if isinstance(n, Variable) else int(n) for n in scalars]
        if sum(n == -1 for n in numbers) > 1:
            raise ValueError("Reshape: at most one dimension of the new shape can be -1")
        pattern = tuple(n == 1 for n in numbers)
        vector = as_shape(scalars)
        return Reshape(len(scalars), pattern)(x, vector)
    if ndim is None:
        raise ValueError(
            f"The length of the provided shape ({newshape}) cannot be automatically determined, so"
            " Theano is not able to know what the number of dimensions of the reshaped variable"
            " will be. You can provide the 'ndim' keyword argument to 'reshape' to avoid this"
            " problem."
        )
    return Reshape(ndim, (False,) * ndim)(x, as_tensor_variable(newshape))


def as_shape(lengths: Any) -> Any:
    """Lengths, some of which may be variables, as a vector."""
    if not isinstance(lengths, list | tuple):
        return as_tensor_variable(lengths)
    if any(isinstance(n, Variable) and not isinstance(n, TensorConstant) for n in lengths):
        return MakeVector()(*lengths)
    numbers = [int(n.data) if isinstance(n, TensorConstant) else int(n) for n in lengths]
    return constant(np.asarray(numbers, np.int64))


def flatten(x: Any, ndim: int | None = None, outdim: int | None = None) -> Any:
    """With as many dimensions as asked for: the last ones become one."""
    count = outdim or ndim or 1
    x = as_tensor_variable(x)
    if not 1 <= count <= max(x.ndim, 1):
        raise ValueError(f"ndim {count} out of bound [1, {x.ndim + 1})")
    if x.ndim == count:
        return x
    lengths = [shape_i(x, d) for d in range(count - 1)]
    tail = all(x.broadcastable[count - 1 :])
    out = reshape(x, (*lengths, 1 if tail else -1))
    return rebroadcast(out, (*x.broadcastable[: count - 1], tail))


def join(axis: Any, *tensors_list: Any) -> Any:
    """Variables one after another along an axis."""
    if len(tensors_list) == 1:
        return as_tensor_variable(tensors_list[0])
    first = as_tensor_variable(tensors_list[0])
    number = number_in(axis) if isinstance(axis, Variable) else int(axis)
    if number is None:
        raise TypeError("join: the axis has to be known when the expression is built")
    if not first.ndim:
        raise TypeError("Join cannot handle arguments of dimension 0. Use stack for that")
    if not -first.ndim <= number < first.ndim:
        raise IndexError(f"Join axis {number} out of bounds [0, {first.ndim})")
    return Join(number % first.ndim)(*tensors_list)


def concatenate(tensor_list: Any, axis: Any = 0) -> Any:
    """As `join`, of a list."""
    if not isinstance(tensor_list, list | tuple):
        raise TypeError(
            "The 'tensors' argument must be either a tuple or a list, make sure you did not forget"
            f" () or [] around arguments of concatenate. {tensor_list}"
        )
    return join(axis, *tensor_list)


def stack(*tensors: Any, **options: Any) -> Any:
    """Variables side by side along a new axis."""
    axis = options.pop("axis", 0)
    if len(tensors) == 2 and isinstance(tensors[0], list | tuple) and isinstance(tensors[1], int):
        tensors, axis = (tensors[0],), tensors[1]
    values = list(tensors[0]) if len(tensors) == 1 and isinstance(
        tensors[0], list | tuple) else list(tensors)  # fmt: skip
    if not values:
        raise Exception("theano.tensor.stack(tensors, axis) must have at least one parameter")
    variables = [as_tensor_variable(x) for x in values]
    ndim = variables[0].ndim
    if not -ndim - 1 <= axis <= ndim:
        raise IndexError(f"axis {axis} out of bounds [{-ndim - 1}, {ndim + 1})")
    axis %= ndim + 1
    if not ndim:
        return MakeVector(upcast(*[x.dtype for x in variables]))(*variables)
    return join(axis, *[shape_padaxis(x, axis) for x in variables])


def stacklists(arg: Any) -> Any:
    """Nested lists of variables as one variable."""
    if isinstance(arg, list | tuple):
        return stack(list(map(stacklists, arg)))
    return arg


def split(x: Any, splits_size: Any, n_splits: int, axis: int = 0) -> Any:
    """`n_splits` pieces of given lengths along an axis."""
    x = as_tensor_variable(x)
    return Split(axis % x.ndim, n_splits)(x, as_shape(splits_size), return_list=True)


def shape_padleft(t: Any, n_ones: int = 1) -> Any:
    """Broadcastable dimensions in front."""
    return pad_left(as_tensor_variable(t), n_ones)


def shape_padright(t: Any, n_ones: int = 1) -> Any:
    """Broadcastable dimensions at the end."""
    t = as_tensor_variable(t)
    return DimShuffle(t.broadcastable, [*range(t.ndim), *["x"] * n_ones])(t)


def shape_padaxis(t: Any, axis: int) -> Any:
    """A broadcastable dimension before an axis."""
    t = as_tensor_variable(t)
    if not -t.ndim - 1 <= axis <= t.ndim:
        raise IndexError(f"axis {axis} out of bounds [-{t.ndim + 1}, {t.ndim + 1})")
    order: list[Any] = list(range(t.ndim))
    order.insert(axis % (t.ndim + 1), "x")
    return DimShuffle(t.broadcastable, order)(t)


def transpose(x: Any, axes: Any = None) -> Any:
    """Dimensions in another order; reversed by default."""
    x = as_tensor_variable(x)
    if axes is None:
        axes = range(x.ndim - 1, -1, -1)
    out = DimShuffle(x.broadcastable, [a % x.ndim for a in axes])(x)
    if x.name and x.ndim <= 2:
        out.name = f"{x.name}.T"
    return out


def swapaxes(y: Any, axis1: int, axis2: int) -> Any:
    """Two dimensions exchanged."""
    y = as_tensor_variable(y)
    order = list(range(y.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return DimShuffle(y.broadcastable, order)(y)


def dimshuffle(x: Any, *pattern: Any) -> Any:
    """Dimensions in another order, with broadcastable ones where "x" stands."""
    if len(pattern) == 1 and isinstance(pattern[0], list | tuple):
        pattern = tuple(pattern[0])
    x = as_tensor_variable(x)
    return DimShuffle(x.broadcastable, pattern)(x)


def squeeze(x: Any, axis: Any = None) -> Any:
    """Without broadcastable dimensions: all of them, or some."""
    x = as_tensor_variable(x)
    if axis is None:
        axes = [d for d, b in enumerate(x.broadcastable) if b]
    else:
        axes = list(normal_axes(axis, x.ndim))
    return DimShuffle(x.broadcastable, [d for d in range(x.ndim) if d not in axes])(x)


def patternbroadcast(x: Any, broadcastable: Sequence[bool]) -> Any:
    """A variable with exactly these dimensions declared broadcastable."""
    return rebroadcast(as_tensor_variable(x), [bool(b) for b in broadcastable])


def addbroadcast(x: Any, *axes: int) -> Any:
    """Some dimensions declared broadcastable."""
    x = as_tensor_variable(x)
    numbers = normal_axes(axes, x.ndim)
    return rebroadcast(x, [b or d in numbers for d, b in enumerate(x.broadcastable)])


def unbroadcast(x: Any, *axes: int) -> Any:
    """Some dimensions declared not broadcastable."""
    x = as_tensor_variable(x)
    numbers = normal_axes(axes, x.ndim)
    return rebroadcast(x, [b and d not in numbers for d, b in enumerate(x.broadcastable)])


def specify_shape(x: Any, shape: Any) -> Any:
    """The same array, whose shape is checked when it is computed."""
    return SpecifyShape()(x, as_shape(shape))


def alloc(value: Any, *shape: Any) -> Any:
    """A value, repeated to a shape."""
    if len(shape) == 1 and isinstance(shape[0], list | tuple):
        shape = tuple(shape[0])
    if len(shape) == 1 and getattr(shape[0], "ndim", 0) == 1:
        shape = tuple(scalars_in(shape[0]))
    return alloc_op(value, *shape)


def scalars_in(vector: Any) -> list[Any]:
    """The elements of a vector whose length is known."""
    vector = as_tensor_variable(vector)
    return [vector[k] for k in range(get_vector_length(vector))]


def get_vector_length(v: Any) -> int:
    """The length of a vector, if it is known without computing; ValueError otherwise."""
    v = as_tensor_variable(v)
    if v.ndim != 1:
        raise TypeError(f"argument must be symbolic vector, got '{v}'")
    if v.broadcastable[0]:
        return 1
    if isinstance(v, TensorConstant):
        return len(v.data)
    if v.owner is not None:
        if isinstance(v.owner.op, MakeVector):
            return len(v.owner.inputs)
        if isinstance(v.owner.op, Shape):
            return int(v.owner.inputs[0].ndim)
        if isinstance(v.owner.op, Join):
            return sum(get_vector_length(x) for x in v.owner.inputs)
    raise ValueError(f"length not known: {v}")


stacking.stack = staticmethod(stack)  # type: ignore[method-assign]


__all__ = [
    "Alloc",
    "Join",
    "Length",
    "MakeVector",
    "NotScalarConstantError",
    "Reshape",
    "Shape",
    "SpecifyShape",
    "Split",
    "addbroadcast",
    "alloc",
    "concatenate",
    "dimshuffle",
    "flatten",
    "get_scalar_constant_value",
    "get_vector_length",
    "join",
    "patternbroadcast",
    "reshape",
    "shape",
    "shape_i",
    "shape_padaxis",
    "shape_padleft",
    "shape_padright",
    "specify_shape",
    "split",
    "squeeze",
    "stack",
    "stacklists",
    "swapaxes",
    "transpose",
    "unbroadcast",
]
