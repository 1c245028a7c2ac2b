"""Operations on each element, rearranged dimensions, and sums: the three that derive each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from operator import attrgetter
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import CONTINUOUS, DISCRETE, accumulator, as_name, sum_dtype, upcast
from wengert.symbolic.expressions.type import (
    TensorConstant,
    TensorType,
    as_tensor_variable,
    stacking,
)
from wengert.symbolic.graph import Apply, Constant, Kernel, NullType, Operation, disconnected
from wengert.symbolic.settings import config


class Scalar:
    """What an elementwise operation does to elements.

    Attributes:
        name: what it is called in printed graphs.
        function: of arrays.
        dtype: gives the dtype of the result, from those of the inputs.
        operand_dtype: gives the dtype in which operands are, from those of the inputs and that of
            the result; None leaves them as they are.
        gradient: gives the gradients of the inputs (None where there is none), from the inputs,
            the output and its gradient.
        label: how the operation is printed, if not as ``Elemwise{name,no_inplace}``.
        nin: how many inputs there are; -1 for any number.
    """

    def __init__(
        self, name: str, function: Callable[..., Any], dtype: Callable[..., str],
        gradient: Callable[..., Sequence[Any]], operand_dtype: Callable[..., Any] | None = None,
        label: str | None = None, apart: tuple[int, ...] = (), nin: int = -1,
    ) -> None:  # fmt: skip
        self.name, self.function, self.dtype, self.gradient = name, function, dtype, gradient
        self.nin = nin
        self.operand_dtype = operand_dtype
        self.label = label
        self.apart = apart  # inputs on whose values the result does not depend
        SCALARS[name] = self

    def __reduce__(self) -> Any:
        return _scalar_of, (self.name,)

    def __repr__(self) -> str:
        return self.name


SCALARS: dict[str, Scalar] = {}
# What makes a scalar from a name with a parameter, such as "Cast{float32}": by what stands before.
PARAMETRIC: dict[str, Callable[[str], Scalar]] = {}


def _scalar_of(name: str) -> Scalar:
    if name not in SCALARS:
        head, _, parameter = name.partition("{")
        return PARAMETRIC[head](parameter.rstrip("}"))
    return SCALARS[name]


def scalar_of(operation: Any) -> Any:
    """The scalar operation that a function such as ``scalar.exp`` applies, or itself."""
    applied = getattr(operation, "op", None)
    return operation if applied is None else applied.scalar_op


class Elemwise(Operation):
    """A scalar operation, on each element of arrays that broadcast where they are declared to.

    Args:
        scalar_op: the operation, or the function that applies it, such as ``scalar.exp``.
        inplace_pattern: accepted; what may be written to is decided when a function is compiled.
        name: what graphs call it.
    """

    __props__ = ("scalar_op",)

    def __init__(
        self, scalar_op: Any, inplace_pattern: Any = None, name: str | None = None,
        nfunc_spec: Any = None, openmp: Any = None,
    ) -> None:  # fmt: skip
        self.scalar_op = scalar_of(scalar_op)
        self.name = name or self.scalar_op.name

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The output; a list of them, by a node for each, for a scalar that has several."""
        parts = getattr(self.scalar_op, "parts", ())
        if not parts:
            return super().__call__(*inputs, **options)
        return [Elemwise(part)(*inputs, **options | {"return_list": False}) for part in parts]

    def make_node(self, *inputs: Any) -> Apply:
        """Inputs of fewer dimensions get broadcastable ones in front."""
        if getattr(self.scalar_op, "parts", ()):
            raise NotImplementedError(f"{self} has several outputs: call it for a node of each")
        variables = [as_tensor_variable(x) for x in inputs]
        if self.scalar_op.nin not in (-1, len(variables)):
            raise TypeError(
                f"Wrong number of inputs for {self.name} (got {len(variables)}, expected"
                f" {self.scalar_op.nin})"
            )
        ndim = max(x.ndim for x in variables)
        padded = [pad_left(x, ndim - x.ndim) for x in variables]
        pattern = [all(flags) for flags in zip(*(x.broadcastable for x in padded), strict=True)]
        dtype = self.scalar_op.dtype(*[x.dtype for x in padded])
        return Apply(self, padded, [TensorType(dtype, pattern)()])

    def kernel(self, node: Apply) -> Kernel:
        """The scalar's function, with the check that nothing broadcasts undeclared."""
        if node.nin == 1 or not node.outputs[0].ndim:
            return elementwise_kernel(node)
        function, expected = _converting(node), np.dtype(node.outputs[0].dtype)
        check = undeclared(node.inputs, str(self))

        def run(*values: np.ndarray) -> np.ndarray:
            try:
                out = function(*values)
            except (ValueError, RuntimeError) as error:
                raise mismatch(values, str(self)) or error from None
            if type(out) is not np.ndarray or out.dtype is not expected:
                out = _fitted(out, expected)
            check(out.shape, values)
            return out

        return run

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """By the scalar: an output does not depend on an input read for its shape alone."""
        return [[k not in self.scalar_op.apart] for k in range(node.nin)]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """By the scalar's gradient; what was broadcast is summed."""
        (out,), (g,) = outputs, output_gradients
        if out.dtype in DISCRETE:
            return [
                disconnected() if k in self.scalar_op.apart else float_zeros(x)
                for k, x in enumerate(inputs)
            ]
        gradients = []
        for k, (x, own) in enumerate(
            zip(inputs, self.scalar_op.gradient(inputs, out, g), strict=True)
        ):
            if k in self.scalar_op.apart:
                gradients.append(disconnected())
            elif own is None:
                gradients.append(float_zeros(x))
            elif isinstance(own.type, NullType):
                gradients.append(own)
            else:
                gradients.append(sum_to(own, x.broadcastable))
        return gradients

    def __str__(self) -> str:
        return self.scalar_op.label or f"Elemwise{{{self.scalar_op.name},no_inplace}}"


def elementwise_kernel(node: Apply) -> Kernel:
    """A function of arrays (or of elements in a kernel) for an elementwise node."""
    function, expected = _converting(node), np.dtype(node.outputs[0].dtype)

    def run(*values: Any) -> Any:
        result = function(*values)
        if type(result) is np.ndarray and result.dtype is expected:
            return result
        return _fitted(result, expected)

    return run


def _fitted(result: Any, expected: np.dtype[Any]) -> Any:
    """A result as an array (or an element in a kernel) of a dtype."""
    if result.dtype != expected:
        result = result.astype(expected)
    return np.asarray(result) if isinstance(result, np.generic) else result


def _converting(node: Apply) -> Kernel:
    """A scalar's function on operands in the dtype in which it computes."""
    scalar = node.op.scalar_op
    function: Kernel = scalar.function
    dtypes = [x.dtype for x in node.inputs]
    target = scalar.operand_dtype and scalar.operand_dtype(dtypes, node.outputs[0].dtype)
    if target is None or all(d == target for d in dtypes):
        return function
    operand = np.dtype(target)
    converted = [d != target for d in dtypes]

    def convert(*values: Any) -> Any:
        arrays = [v.astype(operand) if c else v for v, c in zip(values, converted, strict=True)]
        return function(*arrays)

    return convert


def mismatch(values: Sequence[np.ndarray], what: str) -> ValueError | None:
    """The error for arrays that do not broadcast, if that is what they do not."""
    ndim = max(v.ndim for v in values)
    for axis in range(-ndim, 0):
        longer = [
            (k, v.shape[axis])
            for k, v in enumerate(values) if v.ndim >= -axis and v.shape[axis] != 1
        ]  # fmt: skip
        for k, length in longer[1:]:
            if length != longer[0][1]:
                return ValueError(
                    f"Input dimension mis-match. (input[{longer[0][0]}].shape[{axis + ndim}] ="
                    f" {longer[0][1]}, input[{k}].shape[{axis + ndim}] = {length}) in {what}"
                )
    return None


def undeclared(inputs: Sequence[Any], what: str) -> Callable[[Any, Sequence[np.ndarray]], None]:
    """A check that arrays were repeated only along dimensions declared broadcastable.

    Dimensions that are missing in front are.
    """
    ndim = max(x.ndim for x in inputs)
    full = [k for k, x in enumerate(inputs) if x.ndim == ndim and not any(x.broadcastable)]
    mixed = [
        (k, [d - x.ndim for d, b in enumerate(x.broadcastable) if not b])
        for k, x in enumerate(inputs) if k not in full and not all(x.broadcastable)
    ]  # fmt: skip

    def check(shape: tuple[int, ...], values: Sequence[np.ndarray]) -> None:
        for k in full:
            if values[k].shape != shape:
                raise _undeclared_error(values, shape, k, what)
        for k, axes in mixed:
            own = values[k].shape
            for d in axes:
                if own[d] != shape[d]:
                    raise _undeclared_error(values, shape, k, what)

    return check


def _undeclared_error(
    values: Sequence[np.ndarray], shape: tuple[int, ...], k: int, what: str
) -> ValueError:
    own, ndim = values[k].shape, len(shape)
    if len(own) > ndim:
        return ValueError(f"Input dimension mis-match: {own} in a result of shape {shape}")
    axis = next(d for d in range(-len(own), 0) if own[d] != shape[d])
    others = [j for j, v in enumerate(values) if v.ndim >= -axis and v.shape[axis] == shape[axis]]
    first, second = sorted((k, others[0]))
    return ValueError(
        f"Input dimension mis-match. (input[{first}].shape[{axis + ndim}] ="
        f" {values[first].shape[axis]}, input[{second}].shape[{axis + ndim}] ="
        f" {values[second].shape[axis]}) in {what}: a dimension of length 1 is repeated only if"
        " its variable declares it broadcastable"
    )


class DimShuffle(Operation):
    """Dimensions in another order, dropped where broadcastable, or added where "x" stands."""

    __props__ = ("input_broadcastable", "new_order")

    def __init__(self, input_broadcastable: Sequence[bool], new_order: Sequence[Any]) -> None:
        self.input_broadcastable = tuple(input_broadcastable)
        self.new_order: tuple[Any, ...] = tuple(
            [d if isinstance(d, str) else int(d) for d in new_order]
        )
        ndim = len(self.input_broadcastable)
        for d in self.new_order:
            if d == "x":
                continue
            if not isinstance(d, int):
                raise TypeError(
                    "DimShuffle indices must be python ints. Got: '%s' of type '%s'."  # noqa: UP031
                    % (d, type(d))
                )
            if d >= ndim or d < 0:
                raise ValueError(f"new_order[{d}] is {d}, but the input only has {ndim} axes.")
            if self.new_order.count(d) != 1:
                raise ValueError(
                    "The same input dimension may not appear twice in the list of output"
                    f" dimensions: {self.new_order}"
                )
        self.shuffle = [d for d in self.new_order if d != "x"]
        self.drop = [d for d in range(ndim) if d not in self.new_order]
        self.augment = [k for k, d in enumerate(self.new_order) if d == "x"]
        order = [d - sum(e < d for e in self.drop) for d in self.shuffle]
        self.order = None if order == sorted(order) else order
        self.places = tuple(None if d == "x" else slice(None) for d in self.new_order)
        for d in self.drop:
            if not self.input_broadcastable[d]:
                raise ValueError(
                    "You cannot drop a non-broadcastable dimension:"
                    f" {self.input_broadcastable}, {self.new_order}"
                )

    def make_node(self, input: Any) -> Apply:
        """The result is broadcastable where "x" stands."""
        x = as_tensor_variable(input)
        fits = len(x.broadcastable) == len(self.input_broadcastable) and all(
            own or not expected
            for own, expected in zip(x.broadcastable, self.input_broadcastable, strict=True)
        )
        if not fits:
            raise TypeError(
                f"DimShuffle: input has broadcastable dimensions {x.broadcastable}, expected"
                f" {self.input_broadcastable}"
            )
        pattern = [True if d == "x" else x.broadcastable[d] for d in self.new_order]
        return Apply(self, [x], [TensorType(x.dtype, pattern)()])

    def kernel(self, node: Apply) -> Kernel:
        """`compute`; of a matrix NumPy's own attribute."""
        return attrgetter("T") if self.new_order == (1, 0) else self.compute

    def compute(self, x: np.ndarray) -> np.ndarray:
        """A view."""
        if self.drop:
            x = x.reshape([n for d, n in enumerate(x.shape) if d not in self.drop])
        if self.order is not None:
            x = x.transpose(self.order)
        return x[self.places] if self.augment else x

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The dimensions of the gradient, in the order they had."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        order: list[Any] = ["x"] * x.ndim
        for k, d in enumerate(self.new_order):
            if d != "x":
                order[d] = k
        pattern = [d == "x" or x.broadcastable[d] for d in self.new_order]
        return [DimShuffle(pattern, order)(rebroadcast(g, pattern))]

    def __str__(self) -> str:
        return f"InplaceDimShuffle{{{','.join(str(d) for d in self.new_order)}}}"


class Rebroadcast(Operation):
    """The same array, with other dimensions declared broadcastable, which is checked."""

    __props__ = ("pattern",)

    def __init__(self, pattern: Sequence[bool]) -> None:
        self.pattern = tuple(pattern)

    def make_node(self, x: Any) -> Apply:
        """The result has the pattern."""
        x = as_tensor_variable(x)
        return Apply(self, [x], [TensorType(x.dtype, self.pattern)()])

    def compute(self, x: np.ndarray) -> np.ndarray:
        """The array; ValueError where a broadcastable dimension is longer than 1."""
        for d, single in enumerate(self.pattern):
            if single and x.shape[d] != 1:
                raise ValueError(
                    f"Dimension {d} in Rebroadcast's input was supposed to be 1 (got"
                    f" {x.shape[d]} instead)"
                )
        return x

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, with the input's pattern."""
        return [rebroadcast(output_gradients[0], inputs[0].broadcastable)]


def rebroadcast(x: Any, pattern: Sequence[bool]) -> Any:
    """A variable with exactly these dimensions declared broadcastable."""
    return x if x.broadcastable == tuple(pattern) else Rebroadcast(pattern)(x)


def pad_left(x: Any, count: int) -> Any:
    """A variable with broadcastable dimensions in front."""
    if not count:
        return x
    return DimShuffle(x.broadcastable, ["x"] * count + list(range(x.ndim)))(x)


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as a sorted tuple of numbers from 0; all of them for None."""
    if isinstance(axis, Constant):  # a number, or None
        axis = axis.data
    if axis is None:
        return tuple(range(ndim))
    axes = [axis] if np.ndim(axis) == 0 else list(axis)
    numbers = []
    for a in axes:
        a = a.data if isinstance(a, TensorConstant) else a
        if int(a) != a:
            raise TypeError("axis must be an integer", a)
        a = int(a)
        if not -ndim <= a < ndim:
            raise ValueError(f"Not enough dimensions to reduce on axis {a}: the input has {ndim}")
        numbers.append(a % ndim)
    return tuple(sorted(set(numbers)))


class Reduction(Operation):
    """A result for each place along the axes that are not reduced."""

    __props__: tuple[str, ...] = ("axis",)

    def __init__(self, axis: Any = None) -> None:
        if isinstance(axis, Constant):
            axis = axis.data
        if axis is not None:
            axis = (axis,) if np.ndim(axis) == 0 else tuple(int(a) for a in axis)
        self.axis = axis

    def result_dtype(self, dtype: str) -> str:
        """The dtype of the result for an input's."""
        return dtype

    def make_node(self, input: Any) -> Apply:
        """The reduced dimensions are gone."""
        x = as_tensor_variable(input)
        axes = normal_axes(self.axis, x.ndim)
        pattern = [b for d, b in enumerate(x.broadcastable) if d not in axes]
        dtype = self.result_dtype(x.dtype)
        op = self
        if self.axis is not None and axes != self.axis:
            op = copy(self)
            op.axis = axes
        return Apply(op, [x], [TensorType(dtype, pattern)()])

    def infer_shape(self, node: Apply, shapes: Any) -> list[Any]:
        """The lengths of the dimensions that are left."""
        axes = normal_axes(self.axis, node.inputs[0].ndim)
        return [tuple(n for d, n in enumerate(shapes[0]) if d not in axes)]

    def __str__(self) -> str:
        axis = "" if self.axis is None else f"{{{', '.join(map(str, self.axis))}}}"
        return f"{type(self).__name__}{axis}"


_FEW = 1 << 10  # elements whose sum NumPy begins sooner than the library
_F64 = np.dtype(np.float64)


class CAReduce(Reduction):
    """A commutative operation of two elements, applied to all that lie along axes.

    >>> from wengert.symbolic import function, scalar
    >>> from wengert.symbolic import tensor as T
    >>> x = T.lmatrix("x")
    >>> function([x], T.elemwise.CAReduce(scalar.xor, axis=1)(x))([[1, 2, 4], [1, 1, 1]])
    array([7, 1])
    """

    __props__: tuple[str, ...] = ("scalar_op", "axis")

    def __init__(self, scalar_op: Any, axis: Any = None) -> None:
        super().__init__(axis)
        self.scalar_op = scalar_of(scalar_op)
        if self.scalar_op.name not in REDUCERS:
            raise NotImplementedError(
                f"CAReduce: scalar_op is one of {sorted(REDUCERS)}, got {self.scalar_op}"
            )

    def accumulator(self, dtype: str) -> str:
        """The dtype in which results are computed: that of the input."""
        return dtype

    def kernel(self, node: Apply) -> Kernel:
        """NumPy's reduction, or that of floats as the library computes it."""
        x, out = node.inputs[0], np.dtype(node.outputs[0].dtype)
        axes: Any = normal_axes(self.axis, x.ndim)
        if not axes:
            return lambda v: v.astype(out)
        every = None if axes == tuple(range(x.ndim)) else axes
        reduce, wide = REDUCERS[self.scalar_op.name], np.dtype(self.accumulator(x.dtype))
        if self.scalar_op.name != "add" or wide != _F64:
            return lambda v: np.asarray(reduce(v, every, wide), out)
        few = np.add.reduce

        def run(v: np.ndarray) -> np.ndarray:
            total = few(v, every, wide) if v.size <= _FEW else reduce(v, every, wide)
            return np.asarray(total, out)

        return run


class CAReduceDtype(CAReduce):
    """A reduction whose results have a dtype, and are computed in one that is no narrower.

    Args:
        scalar_op: the operation of two elements.
        axis: the axes; all of them by default.
        dtype: of the results; by default the input's, of integers 64 bits.
        acc_dtype: in which results are computed; by default the next wider one.
    """

    __props__: tuple[str, ...] = ("scalar_op", "axis", "dtype", "acc_dtype")

    def __init__(
        self, scalar_op: Any, axis: Any = None, dtype: Any = None, acc_dtype: Any = None
    ) -> None:
        super().__init__(scalar_op, axis)
        self.dtype = None if dtype is None else as_name(dtype)
        self.acc_dtype = None if acc_dtype is None else as_name(acc_dtype)

    def result_dtype(self, dtype: str) -> str:
        """Of integers 64 bits."""
        return self.dtype or sum_dtype(dtype)

    def accumulator(self, dtype: str) -> str:
        """`acc_dtype`; TypeError where it is narrower than an input's dtype."""
        acc = self.acc_dtype
        if acc is None:
            return accumulator(dtype)
        if upcast(dtype, acc) != acc and not (dtype in DISCRETE and acc in CONTINUOUS):
            raise TypeError(
                f"{type(self).__name__}: acc_dtype is {acc}, and the input has dtype {dtype}:"
                " precision would be lost"
            )
        return acc

    def make_node(self, input: Any) -> Apply:
        """The operation in the graph has its dtypes filled in."""
        node = super().make_node(input)
        acc = self.accumulator(node.inputs[0].dtype)
        if acc != self.acc_dtype:
            node.op = copy(node.op)
            node.op.acc_dtype = acc
        return node

    def __str__(self) -> str:
        acc = self.acc_dtype
        options = [] if self.axis is None else [f"axis={list(self.axis)}"]
        options += [] if acc is None else [f"acc_dtype={acc}"]
        return f"{type(self).__name__}{{{', '.join(options)}}}"


class Sum(CAReduceDtype):
    """Sums over axes, accumulated in a wider dtype."""

    def __init__(self, axis: Any = None, dtype: Any = None, acc_dtype: Any = None) -> None:
        super().__init__(SCALARS["add"], axis, dtype, acc_dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient, repeated."""
        (x,), (g,) = inputs, output_gradients
        if x.dtype in DISCRETE:
            return [float_zeros(x)]
        return [fill(x, expanded(g, normal_axes(self.axis, x.ndim)))]


# How arrays are reduced, by the scalar operation: set by `reductions`, which has the library's.
REDUCERS: dict[str, Callable[..., Any]] = {}


def expanded(g: Any, axes: Sequence[int]) -> Any:
    """A reduced variable with broadcastable dimensions where there were axes."""
    if not axes:
        return g
    order: list[Any] = []
    remaining = iter(range(g.ndim))
    order += ["x" if d in axes else next(remaining) for d in range(g.ndim + len(axes))]
    return DimShuffle(g.broadcastable, order)(g)


def fill(model: Any, value: Any) -> Any:
    """`value`, repeated to the shape of `model`."""
    return Elemwise(SCALARS["second"])(model, value)


def sum_to(g: Any, pattern: Sequence[bool]) -> Any:
    """The sums over the dimensions that a pattern declares broadcastable and `g` does not."""
    axes = [d for d, b in enumerate(pattern) if b and not g.broadcastable[d]]
    if axes:
        g = expanded(total(g, axes), axes)
    return rebroadcast(g, pattern)


def total(x: Any, axis: Any) -> Any:
    """Sums over axes in the dtype of `x`."""
    return Sum(axis, acc_dtype=accumulator(x.dtype))(x)


def float_zeros(x: Any) -> Any:
    """Zeros in the shape of `x`, floats where it has integers."""
    dtype = x.dtype if x.dtype in CONTINUOUS else config.floatX
    zero = TensorConstant(TensorType(dtype, ()), np.zeros((), dtype))
    return fill(x, zero)


def _relaxed(variable: Any, pattern: tuple[bool, ...]) -> Any:
    return Rebroadcast(pattern)(variable)


TensorType.relaxed = staticmethod(_relaxed)  # type: ignore[method-assign]
stacking.padleft = staticmethod(pad_left)  # type: ignore[method-assign]
