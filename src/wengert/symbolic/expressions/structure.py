"""Variables reshaped, joined, split and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.elemwise import (
    DimShuffle,
    normal_axes,
    pad_left,
    rebroadcast,
)
from wengert.symbolic.expressions.joining import JoinAlong, SplitAlong
from wengert.symbolic.expressions.shapes import (
    Join,
    MakeVector,
    Reshape,
    Shape,
    SpecifyShape,
    Split,
    alloc_op,
    as_shape,
    number_in,
    shape_i,
)
from wengert.symbolic.expressions.type import (
    TensorConstant,
    as_tensor_variable,
    stacking,
)
from wengert.symbolic.graph import Variable


def _lengths_in(newshape: Any) -> list[Any] | None:
    """The lengths of a shape, one by one, where it is known how many there are."""
    if isinstance(newshape, list | tuple):
        return list(newshape)
    if isinstance(newshape, int | np.integer) or not getattr(newshape, "ndim", True):
        return [newshape]
    if isinstance(newshape, TensorConstant):
        return list(newshape.data)
    if isinstance(newshape, np.ndarray):
        return list(newshape)
    node = newshape.owner
    if node is not None and isinstance(node.op, MakeVector):
        return list(node.inputs)
    if node is not None and isinstance(node.op, Shape):
        source = node.inputs[0]
        return [shape_i(source, d) for d in range(source.ndim)]
    return None


def reshape(x: Any, newshape: Any, ndim: int | None = None) -> Any:
    """The same elements in another shape; `ndim` is needed for a shape of unknown length."""
    x = as_tensor_variable(x)
    scalars = _lengths_in(newshape)
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


def flatten(x: Any, ndim: int | None = None, outdim: int | None = None) -> Any:
    """With as many dimensions as asked for: the last ones become one."""
    count = next((n for n in (outdim, ndim) if n is not None), 1)
    x = as_tensor_variable(x)
    if not 1 <= count <= max(x.ndim, 1):
        raise ValueError(f"ndim {count} out of bound [1, {x.ndim + 1})")
    if x.ndim == count:
        return x
    lengths = [shape_i(x, d) for d in range(count - 1)]
    tail = all(x.broadcastable[count - 1 :])
    out = reshape(x, (*lengths, 1 if tail else -1))
    return rebroadcast(out, (*x.broadcastable[: count - 1], tail))


def is_flat(var: Any, ndim: int | None = None, outdim: int | None = None) -> bool:
    """Whether a variable has as many dimensions as `flatten` would give it."""
    return bool(as_tensor_variable(var).ndim == (outdim or ndim or 1))


def join(axis: Any, *tensors_list: Any) -> Any:
    """Variables one after another along an axis."""
    if len(tensors_list) == 1:
        return as_tensor_variable(tensors_list[0])
    first = as_tensor_variable(tensors_list[0])
    number = number_in(axis) if isinstance(axis, Variable) else int(axis)
    if not first.ndim:
        raise TypeError("Join cannot handle arguments of dimension 0. Use stack for that")
    if number is None:
        return JoinAlong()(axis, *tensors_list)
    return Join(normalize_axis_index(number, first.ndim))(*tensors_list)


def concatenate(tensor_list: Any, axis: Any = 0) -> Any:
    """As `join`, of a list."""
    if not isinstance(tensor_list, list | tuple):
        raise TypeError(
            "The 'tensors' argument must be either a tuple or a list, make sure you did not forget"
            f" () or [] around arguments of concatenate. {tensor_list}"
        )
    return join(axis, *tensor_list)


def stack(*args: Any, **options: Any) -> Any:
    """Variables side by side along a new axis."""
    axis, tensors = options.pop("axis", 0), list(args)
    if len(tensors) == 2 and isinstance(tensors[0], list | tuple) and isinstance(tensors[1], int):
        tensors, axis = tensors[:1], tensors[1]
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


def horizontal_stack(*args: Any) -> Any:
    """Matrices side by side."""
    if len(args) < 2:
        raise ValueError("Too few arguments")
    return concatenate(list(args), axis=1)


def vertical_stack(*args: Any) -> Any:
    """Matrices one below the other."""
    if len(args) < 2:
        raise ValueError("Too few arguments")
    return concatenate(list(args), axis=0)


def stacklists(arg: Any) -> Any:
    """Nested lists of variables as one variable."""
    if isinstance(arg, list | tuple):
        return stack(list(map(stacklists, arg)))
    return arg


def split(x: Any, splits_size: Any, n_splits: int, axis: int = 0) -> Any:
    """`n_splits` pieces of given lengths along an axis."""
    x = as_tensor_variable(x)
    if isinstance(axis, Variable):
        number = number_in(axis)
        if number is None:
            sizes = as_shape(splits_size)
            lengths = [sizes[k] for k in range(n_splits)]
            return SplitAlong()(axis, x, *lengths, return_list=True)
        axis = int(number)
    return Split(normalize_axis_index(axis, x.ndim), n_splits)(
        x, as_shape(splits_size), return_list=True
    )


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
    out = DimShuffle(x.broadcastable, normalize_axis_tuple(axes, x.ndim))(x)
    if x.name:
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
        if getattr(v.owner.op, "key", None) and not v.owner.op.key.advanced:
            return _sliced_length(v.owner)
    raise ValueError(f"length not known: {v}")


def _sliced_length(node: Any) -> int:
    """The length of a slice of a vector of known length, between ends that are known."""
    x, *values = node.inputs
    numbers = [number_in(n) for n in values]
    if None in numbers:
        raise ValueError(f"length not known: {node.outputs[0]}")
    return len(range(get_vector_length(x))[node.op.key.filled(numbers)[0]])


stacking.stack = staticmethod(stack)  # type: ignore[method-assign]


__all__ = [
    "addbroadcast",
    "alloc",
    "concatenate",
    "dimshuffle",
    "flatten",
    "get_vector_length",
    "horizontal_stack",
    "is_flat",
    "join",
    "patternbroadcast",
    "reshape",
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
    "vertical_stack",
]
