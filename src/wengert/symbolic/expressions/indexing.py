"""Elements picked by numbers, slices, arrays and masks, and arrays with some elements replaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from wengert.symbolic.dtypes import CONTINUOUS, DISCRETE
from wengert.symbolic.expressions.arithmetic import cast, clip, mod
from wengert.symbolic.expressions.elemwise import (
    DimShuffle,
    Rebroadcast,
    float_zeros,
    pad_left,
    rebroadcast,
    sum_to,
)
from wengert.symbolic.expressions.shapes import Reshape, Shape, number_in, shape, shape_i
from wengert.symbolic.expressions.structure import stack
from wengert.symbolic.expressions.type import (
    TensorConstant,
    TensorType,
    as_tensor_variable,
    constant,
)
from wengert.symbolic.expressions.values import SliceType
from wengert.symbolic.graph import Apply, Kernel, Operation, Variable, disconnected

_WHOLE = (False, False, False)  # the entry of a slice without bounds


class AdvancedIndexingError(TypeError):
    """An index that only arrays of indices can stand for."""


class Key:
    """The form of an index: what stands at each place. The numbers themselves are inputs.

    Each entry is "i" (a number), "a" (an array of integers), "x" (a new dimension), "s" (a slice
    that is a value of a variable), or a triple that says which of start, stop and step a slice has.
    """

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = tuple(entries)
        self.advanced = "a" in self.entries
        self.count = sum(sum(e) if isinstance(e, tuple) else e != "x" for e in self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def filled(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The index, with values at its places."""
        remaining = iter(values)
        key: list[Any] = []
        for e in self.entries:
            if e == "x":
                key.append(None)
            elif e in ("a", "s"):
                key.append(next(remaining))
            elif e == "i":
                key.append(int(next(remaining)))
            else:
                key.append(slice(*[int(next(remaining)) if has else None for has in e]))
        return tuple(key)

    def pattern(self, x: Any, values: Sequence[Any]) -> list[bool]:
        """Which dimensions of the result are broadcastable."""
        remaining = iter(values)
        out: list[Any] = []
        arrays: list[Any] = []
        axis, positions = 0, []
        for e in self.entries:
            if e == "x":
                out.append(True)
                continue
            if e in ("a", "i"):
                value = next(remaining)
                if e == "a" or self.advanced:
                    arrays.append(value)
                    positions.append((len(out), axis))
                axis += 1
                continue
            if e == "s":  # as Theano has it: a length of 1 is taken to stay
                next(remaining)
                out.append(x.broadcastable[axis])
                axis += 1
                continue
            bounds = [next(remaining) if has else None for has in e]
            out.append(x.broadcastable[axis] and _is_full(bounds))
            axis += 1
        out += x.broadcastable[axis:]
        if arrays:
            flags = _joint_pattern(arrays)
            apart = len({p for p, _ in positions}) > 1
            at = 0 if apart else positions[0][0]
            out[at:at] = flags
        return [bool(b) for b in out]

    def __str__(self) -> str:
        names = []
        for e in self.entries:
            if isinstance(e, tuple):
                names.append(":".join("int64" if has else "" for has in e))
            else:
                names.append({"i": "int64", "a": "array", "x": "None", "s": "slice"}[e])
        return ", ".join(names)


def _is_full(bounds: Sequence[Any]) -> bool:
    start, stop, _ = bounds
    first = 0 if start is None else number_in(start)
    last = 1 if stop is None else number_in(stop)
    return first == 0 and last is not None and last >= 1


def _joint_pattern(arrays: Sequence[Any]) -> list[bool]:
    ndim = max(a.ndim for a in arrays)
    padded = [(True,) * (ndim - a.ndim) + a.broadcastable for a in arrays]
    return [all(flags) for flags in zip(*padded, strict=True)]


class Subtensor(Operation):
    """The elements at an index."""

    __props__ = ("key",)

    def __init__(self, key: Key) -> None:
        self.key = key

    def make_node(self, x: Any, *values: Any) -> Apply:
        """`values` fill the places of the key."""
        x = as_tensor_variable(x)
        out = TensorType(x.dtype, self.key.pattern(x, values))
        return Apply(self, [x, *values], [out()])

    def compute(self, x: np.ndarray, *values: Any) -> np.ndarray:
        """A view for numbers and slices, a copy for arrays."""
        return np.asarray(x[self.key.filled(values)])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not vary with the index."""
        return [[True], *[[False]] * (node.nin - 1)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient at the index, zeros elsewhere."""
        x, *values = inputs
        none = [disconnected() for _ in values]
        if x.dtype in DISCRETE:
            return [float_zeros(x), *none]
        return [IncSubtensor(self.key, False)(float_zeros(x), output_gradients[0], *values), *none]

    def __str__(self) -> str:
        if self.key.advanced:
            return "AdvancedSubtensor1" if self.key.entries == ("a",) else "AdvancedSubtensor"
        return f"Subtensor{{{self.key}}}"


class IncSubtensor(Operation):
    """An array with values added to, or set in place of, the elements at an index."""

    __props__ = ("key", "set_instead_of_inc")

    def __init__(self, key: Key, set_instead_of_inc: bool) -> None:
        self.key, self.set_instead_of_inc = key, set_instead_of_inc

    def make_node(self, x: Any, y: Any, *values: Any) -> Apply:
        """`y` broadcasts to the elements."""
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        pattern = self.key.pattern(x, values)
        if y.ndim > len(pattern):
            raise ValueError(
                f"Trying to increment a {len(pattern)}-dimensional subtensor with a"
                f" {y.ndim}-dimensional value."
            )
        if self.set_instead_of_inc or x.dtype in CONTINUOUS or y.dtype in DISCRETE:
            y = cast(y, x.dtype)  # else what is added has a fraction, and NumPy says what becomes
        return Apply(self, [x, y, *values], [x.type()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """That of the array."""
        return [shapes[0]]

    def compute(self, x: np.ndarray, y: np.ndarray, *values: Any) -> np.ndarray:
        """A changed copy."""
        return self.write(x.copy(), y, *values)

    def write(self, x: np.ndarray, y: np.ndarray, *values: Any) -> np.ndarray:
        """Change an array in place."""
        key = self.key.filled(values)
        if self.set_instead_of_inc:
            x[key] = y
        elif self.key.advanced and y.dtype != x.dtype:
            total = x.astype(y.dtype)
            np.add.at(total, key, y)
            x[...] = total
        elif self.key.advanced:
            np.add.at(x, key, y)
        else:
            x[key] += y
        return x

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The result does not vary with the index."""
        return [[True], [True], *[[False]] * (node.nin - 2)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Of the array: the gradient, zero where values were set; of the values: at the index."""
        x, y, *values = inputs
        (g,) = output_gradients
        none = [disconnected() for _ in values]
        if x.dtype in DISCRETE:
            return [float_zeros(x), float_zeros(y), *none]
        of_x = g
        if self.set_instead_of_inc:
            zero = constant(0, dtype=g.dtype)
            of_x = IncSubtensor(self.key, True)(g, zero, *values)
        of_y = Subtensor(self.key)(g, *values)
        extra = of_y.ndim - y.ndim
        of_y = sum_to(of_y, [True] * extra + list(y.broadcastable))
        if extra:
            of_y = DimShuffle(of_y.broadcastable, list(range(extra, of_y.ndim)))(of_y)
        return [of_x, of_y, *none]

    def __str__(self) -> str:
        what = "Set" if self.set_instead_of_inc else "Inc"
        if self.key.advanced:
            return f"AdvancedIncSubtensor{{{what}}}"
        return f"IncSubtensor{{{what};{self.key}}}"


class Nonzero(Operation):
    """The indices of elements that are not zero: a vector for each dimension."""

    __props__ = ("ndim",)

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim

    def make_node(self, x: Any) -> Apply:
        """Vectors of int64."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType("int64", (False,))() for _ in range(self.ndim)])

    def compute(self, x: np.ndarray) -> Any:
        """NumPy's."""
        positions = x.nonzero()
        return positions if self.ndim > 1 else positions[0]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Indices do not vary with values."""
        return [[False] * self.ndim]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]


def nonzero(a: Any, return_matrix: bool = False) -> Any:
    """The indices of elements that are not zero: a tuple of vectors, or the rows of a matrix."""
    a = as_tensor_variable(a)
    if not a.ndim:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    vectors = Nonzero(a.ndim)(a, return_list=True)
    return stack(vectors) if return_matrix else tuple(vectors)


def nonzero_values(a: Any) -> Any:
    """The elements that are not zero."""
    a = as_tensor_variable(a)
    return index(a.flatten(), nonzero(a.flatten()))


def flatnonzero(a: Any) -> Any:
    """The places of elements that are not zero, in the flat array."""
    a = as_tensor_variable(a)
    if not a.ndim:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return nonzero(a.flatten())[0]


def _number(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        raise TypeError("index must be integers or a boolean mask")
    if isinstance(value, float | np.floating):
        raise TypeError("index must be integers or a boolean mask")
    v = as_tensor_variable(value)
    if v.dtype not in DISCRETE:
        raise TypeError(f"Expected an integer index, got {v} of type {v.type}")
    if isinstance(v, TensorConstant) and v.dtype != "int64":
        if v.dtype == "uint64" and (v.data > np.iinfo(np.int64).max).any():
            raise TypeError(f"An index must fit into int64, got {value}")
        return constant(v.data.astype(np.int64))
    return v


def _slice_entry(item: slice, entries: list[Any], values: list[Any]) -> None:
    bounds = [item.start, item.stop, item.step]
    for bound in bounds:
        if bound is not None:
            values.append(_number(bound))
            if values[-1].ndim:
                raise TypeError(f"The bounds of a slice must be scalars, got {bound}")
    entries.append(tuple(b is not None for b in bounds))


def _array_entry(item: Any, entries: list[Any], values: list[Any]) -> None:
    array = as_tensor_variable(item)
    if array.dtype == "bool":
        for v in nonzero(array):
            entries.append("a")
            values.append(v)
        return
    if array.dtype not in DISCRETE:
        if not isinstance(array, TensorConstant) or array.data.size:
            raise TypeError("index must be integers or a boolean mask")
        array = cast(array, "int64")
    entries.append("a")
    values.append(array)


def _entry(item: Any, entries: list[Any], values: list[Any]) -> None:
    """Add one item of an index to the form and its values."""
    if item is None:
        entries.append("x")
    elif isinstance(item, slice):
        _slice_entry(item, entries, values)
    elif isinstance(item, Variable) and isinstance(item.type, SliceType):
        entries.append("s")
        values.append(item)
    elif isinstance(item, list | tuple | np.ndarray) or getattr(item, "ndim", False):
        _array_entry(item, entries, values)
    else:
        entries.append("i")
        values.append(_number(item))


def _consumed(entries: Sequence[Any]) -> int:
    return sum(e != "x" for e in entries)


def key_of(x: Any, args: Any) -> tuple[Key, list[Any]]:
    """The form and the values of an index into `x`."""
    items = list(args) if isinstance(args, tuple) else [args]
    entries: list[Any] = []
    values: list[Any] = []
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single Ellipsis (`...`)")
    if dots:
        after: list[Any] = []
        after_values: list[Any] = []
        for item in items[: dots[0]]:
            _entry(item, entries, values)
        for item in items[dots[0] + 1 :]:
            _entry(item, after, after_values)
        missing = x.ndim - _consumed(entries) - _consumed(after)
        entries += [_WHOLE] * missing + after
        values += after_values
    else:
        for item in items:
            _entry(item, entries, values)
    if _consumed(entries) > x.ndim:
        raise IndexError("too many indices for array")
    return Key(entries), values


def index(x: Any, args: Any) -> Any:
    """``x[args]``: basic and advanced, as in NumPy."""
    x = as_tensor_variable(x)
    if isinstance(args, list) and any(isinstance(a, slice | Variable) or a is None for a in args):
        args = tuple(args)
    if x.owner is not None and isinstance(x.owner.op, Shape) and type(args) is int:
        source = x.owner.inputs[0]
        if -source.ndim <= args < source.ndim:
            return shape_i(source, args % source.ndim)
    key, values = key_of(x, args)
    if "x" in key.entries and not key.advanced:
        order: list[Any] = []
        axis = 0
        for e in key.entries:
            order.append("x" if e == "x" else axis)
            axis += e != "x"
        order += range(axis, x.ndim)
        x = DimShuffle(x.broadcastable, order)(x)
        key = Key([_WHOLE if e == "x" else e for e in key.entries])
        if all(e == _WHOLE for e in key.entries):
            return x
    return Subtensor(key)(x, *values)


def _written(x: Any, y: Any, set_instead_of_inc: bool) -> Any:
    """The array of which `x` is a part, with that part changed."""
    x, y = as_tensor_variable(x), as_tensor_variable(y)
    if y.ndim > x.ndim:
        raise TypeError(
            f"Trying to increment a {x.ndim}-dimensional subtensor with a {y.ndim}-dimensional"
            " value."
        )
    for d in range(y.ndim):
        if x.broadcastable[-d - 1] and not y.broadcastable[-d - 1]:
            y = rebroadcast(y, [b or k == y.ndim - d - 1 for k, b in enumerate(y.broadcastable)])
    node = x.owner
    if node is not None and isinstance(node.op, Subtensor):
        source, *values = node.inputs
        return IncSubtensor(node.op.key, set_instead_of_inc)(source, y, *values)
    turn = None if node is None else _TURNED.get(type(node.op))
    if turn is None:
        raise TypeError("x must be the result of a subtensor operation")
    return _written(node.inputs[0], turn(node, x, y), set_instead_of_inc)


def _before_rebroadcast(node: Apply, x: Any, y: Any) -> Any:
    return rebroadcast(pad_left(y, x.ndim - y.ndim), y.broadcastable)


def _before_shuffle(node: Apply, x: Any, y: Any) -> Any:
    y = pad_left(y, x.ndim - y.ndim)
    order: list[Any] = ["x"] * node.inputs[0].ndim
    for k, d in enumerate(node.op.new_order):
        if d != "x":
            order[d] = k
    dropped = [k for k, d in enumerate(node.op.new_order) if d == "x"]
    y = rebroadcast(y, [b or k in dropped for k, b in enumerate(y.broadcastable)])
    return DimShuffle(y.broadcastable, order)(y)


def _before_reshape(node: Apply, x: Any, y: Any) -> Any:
    inner = node.inputs[0]
    full = y if y.ndim == x.ndim and not any(y.broadcastable) else y + float_zeros(x)
    return Reshape(inner.ndim, inner.broadcastable)(full, shape(inner))


# What is written to a view, as it is written to what the view shows.
_TURNED: dict[Any, Any] = {
    Rebroadcast: _before_rebroadcast,
    DimShuffle: _before_shuffle,
    Reshape: _before_reshape,
}


def set_subtensor(x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False
                  ) -> Any:  # fmt: skip
    """The array that `x` is a part of, with `y` in place of that part: ``x[2:4]`` becomes `y`."""
    return _written(x, y, True)


def inc_subtensor(x: Any, y: Any, inplace: bool = False, set_instead_of_inc: bool = False,
                  tolerate_inplace_aliasing: bool = False) -> Any:  # fmt: skip
    """The array that `x` is a part of, with `y` added to that part; equal indices add up."""
    return _written(x, y, set_instead_of_inc)


def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """The elements, or the slices along an axis, at some indices."""
    a, indices = as_tensor_variable(a), as_tensor_variable(indices)
    if axis is None:
        a, axis = a.flatten(), 0
    axis = normalize_axis_index(axis, a.ndim)
    if mode == "clip":
        indices = clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = mod(indices, a.shape[axis])
    return index(a, (*[slice(None)] * axis, indices))


class InPlaceKernel:
    """A kernel that may write to its first input: `IncSubtensor` on an array of no other use."""

    def __init__(self, op: IncSubtensor) -> None:
        self.op = op

    def __call__(self, x: np.ndarray, y: np.ndarray, *values: Any) -> np.ndarray:
        return self.op.write(x if x.flags.writeable else x.copy(), y, *values)


def in_place(node: Apply) -> Kernel | None:
    """What may write to the array of a node's first input, if the node has such a kernel."""
    return InPlaceKernel(node.op) if isinstance(node.op, IncSubtensor) else None


__all__ = [
    "AdvancedIndexingError",
    "IncSubtensor",
    "Nonzero",
    "Subtensor",
    "flatnonzero",
    "inc_subtensor",
    "nonzero",
    "nonzero_values",
    "set_subtensor",
    "take",
]
