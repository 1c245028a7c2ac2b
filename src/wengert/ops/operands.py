"""What op functions call off their fast path: mixed dtypes, numbers, errors, views, sum_to."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import inexact
from wengert.core.inference import inherit
from wengert.core.storage import owner as _owner
from wengert.core.tensor import Tensor, Tracer, inferences, memory_of, tensors, wrap
from wengert.kernels.jit import TracedArray
from wengert.kernels.shapes import unbroadcast

if TYPE_CHECKING:
    from wengert.ops.declare import Op

Number = (bool, int, float, complex)

# Python numbers as 0-d arrays, by (value, dtype): NumPy takes twice as long to convert them.
# Only inexact dtypes: 2 and 2.0 are one key, and mean different things beside integers.
# No zeros in the first: 0.0 and -0.0 are one key as well. Operations without a derivative
# (comparisons) do not tell them apart and have the second.
Constants = dict[tuple[Any, "np.dtype[Any]"], np.ndarray]
constants: Constants = {}
thresholds: Constants = {}
# For products and quotients, which take a number in float32 where no half is equal to it.
factors: Constants = {}
_MOST_CONSTANTS = 4096


def call_foreign(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A call that the op's own function hands on: mixed dtypes, tracers, or what is no operand.

    Tracers go to the innermost level among them. Numbers beside them stay what they are: the
    operations further out convert them. Params are by name.
    """
    if op.halves is not None and _half_beside_number(*inputs):
        return op.halves(*inputs)
    level = dtype = None
    some = differ = False
    for x in inputs:
        if isinstance(x, Tensor):
            some = True
            if isinstance(x, Tracer) and (level is None or x.level.depth > level.depth):
                level = x.level
            own_dtype = memory_of(x).dtype
            differ = differ or (dtype is not None and own_dtype is not dtype)
            dtype = own_dtype
        elif x is not None and (type(x) not in Number or type(x) is complex):
            differ = True  # a complex number may change the dtype of what is beside it
    if not some and any(isinstance(x, TracedArray) for x in inputs):
        return apply(op.scalar, op, inputs, params.values())
    if not some or (op.tensors and any(type(x) in Number for x in _of_tensors(op, inputs))):
        raise _refusal(op, inputs)
    if level is None:
        return op(operands(op, *inputs) if op.mixed and len(inputs) > 1 else inputs, params)
    if op.mixed and differ and len(inputs) > 1:
        inputs = tuple(operands(op, *inputs))
    return _at_level(level, op, inputs, params)


def table_of(op: Op) -> Constants:
    """Where the function of an op looks for a Python number."""
    if op.halves is not None:
        return factors
    return constants if op.differentiable else thresholds


def _half_beside_number(a: Any, b: Any) -> bool:
    """Whether they are a tensor of halves and a number that no half is equal to."""
    tensor, number = (a, b) if isinstance(a, Tensor) else (b, a)
    if type(number) not in (int, float) or not isinstance(tensor, Tensor):
        return False
    dtype = memory_of(tensor).dtype
    if dtype.itemsize != 2 or dtype not in inexact:
        return False
    with np.errstate(over="ignore"):
        return float(np.float64(number).astype(dtype)) != number == number


def _at_level(level: Any, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A call with tracers among its inputs, on operands of one dtype."""
    if op.floats and not any(memory_of(x).dtype in inexact for x in inputs if _is_tensor(x)):
        inputs = tuple(to_float(*inputs))
    result = level.apply(op, inputs, params)
    if op.view:
        mark_view(result, inputs[0])
    return result


def apply(function: Any, op: Op, inputs: Iterable[Any], params: Iterable[Any]) -> Any:
    """Call a function that has the arguments of an op's forward."""
    arguments = dict(zip(op.inputs, inputs, strict=True)) | dict(
        zip(op.params, params, strict=True)
    )
    behind = {n: arguments.pop(n) for n in op.keyword_only}
    return function(*(arguments[n] for n in op.signature.parameters if n in arguments), **behind)


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def traced(values: Iterable[Any]) -> bool:
    """Whether a tracer is among the values."""
    for x in values:  # noqa: SIM110 (an any() of a generator costs more than all of this)
        if isinstance(x, Tracer):
            return True
    return False


def innermost(values: Iterable[Any]) -> Any:
    """The level of the tracer that the most recent transform made."""
    level = None
    for x in values:
        if isinstance(x, Tracer) and (level is None or x.level.depth > level.depth):
            level = x.level
    return level


def operands(op: Op, *inputs: Any) -> list[Any]:
    """The inputs converted to their common dtype; conversions of Tensors are recorded."""
    shapes = []
    for x in inputs:
        if isinstance(x, Tensor):
            shapes.append((dtypes.of_numpy[x._array.dtype], 2 if x._array.ndim else 1))
        elif isinstance(x, np.ndarray | np.generic):
            shapes.append((dtypes.of_numpy[x.dtype], 2 if x.ndim else 1))
        elif isinstance(x, Number):
            shapes.append((dtypes.of_number(x), 0))
        elif x is not None or not _optional(op, inputs):
            raise _wrong_type(op, inputs, x)
    common = dtypes.combine(shapes)
    if op.floats and common.category < dtypes.FLOAT:
        common = dtypes.defaults.dtype
    table = table_of(op)
    return [None if x is None else _converted(x, common.np, table) for x in inputs]


def _optional(op: Op, inputs: tuple[Any, ...]) -> bool:
    """Whether every input that is None may be left out."""
    defaults = op.signature.parameters
    return all(
        defaults[name].default is None
        for name, x in zip(op.inputs, inputs, strict=False)
        if x is None
    )


def _converted(x: Any, to: np.dtype[Any], table: Constants) -> Tensor:
    if isinstance(x, Tensor):
        return x if x._array.dtype == to else cast(x, to)
    if isinstance(x, Number):
        return wrap(number_as_array(x, to, table))
    return wrap(np.asarray(x, to))


def number_as_array(value: complex, to: np.dtype[Any], table: Constants = constants) -> np.ndarray:
    """A Python number as a 0-d array of a dtype, from the table if it is there."""
    try:
        array = np.asarray(value, to)
    except OverflowError:
        if to.kind not in "iu":
            raise
        # torch's integers wrap around
        array = np.asarray(value % 2 ** (8 * to.itemsize), f"u{to.itemsize}").astype(to)
    if to in dtypes.inexact and value == value and (value or table is thresholds):
        if len(table) >= _MOST_CONSTANTS:
            table.clear()
        table[value, to] = array
    return array


def cast(x: Tensor, to: np.dtype[Any]) -> Tensor:
    """`x` in another dtype; recorded where both are floating point or complex."""
    from wengert.ops.casting import convert

    return convert(x, dtypes.of_numpy[to])


def mixed(values: tuple[Any, ...]) -> bool:
    """Whether the values still have to be converted to one dtype."""
    first = None
    for v in values:
        if v is None:
            continue
        if not isinstance(v, np.ndarray):
            return True
        if first is None:
            first = v.dtype
        elif v.dtype != first:
            return True
    return False


def to_float(*inputs: Any) -> list[Any]:
    """Integer inputs in the default dtype; numbers as they are."""
    to = dtypes.defaults.dtype.np
    return [
        cast(x, to) if isinstance(x, Tensor) else x if isinstance(x, Number) else wrap(x.astype(to))
        for x in inputs
    ]


def _of_tensors(op: Op, inputs: tuple[Any, ...]) -> list[Any]:
    """Those of the inputs that have to be tensors."""
    return [inputs[op.inputs.index(name)] for name in op.tensors]


def _refusal(op: Op, inputs: tuple[Any, ...]) -> TypeError:
    """The error of a call of an op with neither Tensors nor arrays, or a number out of place."""
    for x in _of_tensors(op, inputs):
        if type(x) in Number:
            return _wrong_type(op, inputs, x)
    for kinds in ((np.ndarray, np.generic, *Number), (np.ndarray, np.generic)):
        for x in inputs:
            if x is not None and not isinstance(x, kinds):
                return _wrong_type(op, inputs, x)
    return _wrong_type(op, inputs, None)


def _wrong_type(op: Op, inputs: tuple[Any, ...], x: Any) -> TypeError:
    position = next(i for i, y in enumerate(inputs) if y is x)
    return TypeError(
        f"{op.called}(): argument '{op.inputs[position]}' (position {position + 1}) must be"
        f" Tensor, not {type(x).__name__}"
    )


def call_error(op: Op, error: Exception, inputs: tuple[Any, ...]) -> Exception:
    """The exception that PyTorch's users expect in the place of NumPy's, which is its cause.

    Never its own cause: that would be a cycle, which keeps the frames of the call and all that
    they hold.
    """
    explained = _explained(op, error, inputs)
    if explained is not error:
        explained.__cause__ = error
    return explained


def _explained(op: Op, error: Exception, inputs: tuple[Any, ...]) -> Exception:
    values = [x._array if isinstance(x, Tensor) else x for x in inputs]
    shapes = [v.shape for v in values if isinstance(v, np.ndarray)]
    if isinstance(error, np.exceptions.AxisError):
        n = error.ndim or 0
        low, high = -max(n, 1), max(n, 1) - 1
        return IndexError(
            f"Dimension out of range (expected to be in range of [{low}, {high}],"
            f" but got {error.axis}) in {op.called}()"
        )
    if type(error) is ValueError and op.kind == "elementwise":
        return RuntimeError(_broadcast_message(op.called, shapes) or f"{op.called}(): {error}")
    if isinstance(error, AttributeError):  # a forward met what is no array
        for x in inputs:
            if x is not None and not isinstance(x, Tensor) and not isinstance(x, np.ndarray):
                return _wrong_type(op, inputs, x)
    if type(error).__name__.startswith("_UFunc"):
        kinds = [dtypes.of_numpy[v.dtype].short for v in values if isinstance(v, np.ndarray)]
        return NotImplementedError(f"\"{op.called}\" not implemented for '{', '.join(kinds)}'")
    return error


def _broadcast_message(name: str, shapes: list[tuple[int, ...]]) -> str | None:
    if len(shapes) < 2:
        return None
    a, b = shapes[0], shapes[1]
    rank = max(len(a), len(b))
    padded = [(1,) * (rank - len(s)) + s for s in (a, b)]
    for d in range(rank - 1, -1, -1):
        x, y = padded[0][d], padded[1][d]
        if x != y and 1 not in (x, y):
            return (
                f"The size of tensor a ({x}) must match the size of tensor b ({y})"
                f" at non-singleton dimension {d}; {name}() got shapes {list(a)} and {list(b)}"
            )
    return None


def mark_view(view: Tensor, source: Any) -> None:
    """Note that `view` may show the memory of `source`, so that in-place writes reach both."""
    root = getattr(source, "_root", source)
    if type(source) in tensors:
        base = root._array.base
        owner = base if isinstance(base, np.ndarray) else root._array
        if view._array.base is not owner and view._array is not root._array:
            return  # the operation had to copy
    elif not _shown_by_tracer(view, source):
        return
    if inferences:
        inherit(view, source)
    view._root = root
    views = getattr(root, "_views", None)
    if views is None:
        root._views = [weakref.ref(view)]
        return
    views.append(weakref.ref(view))
    if len(views) & (len(views) - 1) == 0:  # a power of two: time to drop the dead
        views[:] = [v for v in views if v() is not None]


def leave_memory(tensor: Tensor) -> None:
    """Before a tensor shows other memory: what it showed is its root's and its views' alone."""
    root = getattr(tensor, "_root", None)
    if root is not None:
        root._views[:] = [v for v in root._views if v() is not None and v() is not tensor]
        del tensor._root
    views = [v for r in getattr(tensor, "_views", ()) if (v := r()) is not None]
    if views:
        former = wrap(tensor._array, tensor._edge)
        former._views, tensor._views = tensor._views, []
        for view in views:
            view._root = former


def _shown_by_tracer(view: Any, source: Any) -> bool:
    """Whether both are tracers of one level, and show the same memory."""
    if not (isinstance(view, Tracer) and isinstance(source, Tracer)) or view is source:
        return False
    return view.level is source.level and _owner(memory_of(view)) is _owner(memory_of(source))


def sum_to(g: Any, shape: tuple[int, ...]) -> Any:
    """A cotangent summed down to the shape that was broadcast."""
    if isinstance(g, Tensor):
        from wengert.ops.reduction import sum_to_shape

        return sum_to_shape(g, shape)
    return unbroadcast(g, shape)
