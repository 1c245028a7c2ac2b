"""What op functions call off their fast path: mixed dtypes, numbers, errors, views, sum_to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from wengert.core import dtypes
from wengert.core.dtypes import inexact
from wengert.core.fronts import (
    PublicFunction,
    arm_for_classes,
    armed_for_classes,
    called_from_a_function,
    public_functions,
)
from wengert.core.inference import inherit
from wengert.core.overriding import (
    NoImplementationError,
    answering,
    answers,
    ask,
    overrides,
    overriding,
    silent,
)
from wengert.core.preparations import preparation
from wengert.core.sparse import SparseTensor
from wengert.core.storage import owner as _owner
from wengert.core.tensor import (
    Tensor,
    Tracer,
    concrete,
    inferences,
    memory_of,
    new,
    root_of,
    tensors,
    wrap,
)
from wengert.kernels.jit import TracedArray
from wengert.kernels.shapes import unbroadcast
from wengert.ops.numbers import Constants, Number, constants, factors, number_as_array, thresholds
from wengert.ops.op import Op


class RecordedOps:
    """Operations that this module needs, and that need it: `casting` and `reduction` put them here.

    Attributes:
        convert: a tensor in another dtype.
        sum_to_shape: a tensor summed down to a shape that broadcasts to its own.
    """

    convert: Callable[[Tensor, dtypes.dtype], Tensor]
    sum_to_shape: Callable[[Tensor, tuple[int, ...]], Tensor]


recorded_ops = RecordedOps()


def call_foreign(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A call that the op's own function hands on: mixed dtypes, tracers, or what is no operand.

    Tracers go to the innermost level among them. Numbers beside them stay what they are: the
    operations further out convert them. Params are by name. Classes that answer for their
    instances are asked.
    """
    for x in inputs:
        if type(x) not in silent and answers(type(x)) and not _only_followed(x):
            return _overridden(op, inputs, params)
        if isinstance(x, SparseTensor):
            return SparseTensor.dispatch(op, inputs, params)
    if op.halves is not None and half_beside_number(*inputs):
        return op.halves(*inputs)
    level, some, differ = _compared(inputs)
    if not some and any(isinstance(x, TracedArray) for x in inputs):
        return apply(op.scalar, op, inputs, params.values())
    if not some and op.numbers and all(type(x) in Number for x in inputs):
        return op(operands(op, *inputs), params)
    if not some or (op.tensors and any(type(x) in Number for x in _of_tensors(op, inputs))):
        raise _refusal(op, inputs)
    if level is None:
        return op(operands(op, *inputs) if op.mixed and len(inputs) > 1 else inputs, params)
    if op.mixed and differ and len(inputs) > 1:
        inputs = tuple(operands(op, *inputs))
    return _at_level(level, op, inputs, params)


def _only_followed(x: Any) -> bool:
    """Whether a tracer's class is not to be asked now: its level is."""
    return isinstance(x, Tracer) and (overriding.off or overriding.subclasses_off)


def _compared(inputs: tuple[Any, ...]) -> tuple[Any, bool, bool]:
    """The innermost level of tracers; whether there are tensors; whether dtypes may differ."""
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
    return level, some, differ


def _overridden(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What classes answer in an operation's place, or what it makes of their plain values."""
    asked = answering(inputs)
    if overriding.off or overriding.subclasses_off:
        if not all(isinstance(x, Tensor) for x in asked):
            raise _refusal(op, tuple([plain(x) for x in inputs]))
        values = [plain(x) for x in inputs]
        result = op(values, params)
        if op.view and getattr(result, "_root", None) is values[0]:
            mark_view(result, inputs[0])
        return result
    args, kwargs = _as_called(op, inputs, params)
    return ask_classes(op.function, asked, args, kwargs)


def ask_classes(
    function: Callable[..., Any], asked: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the classes of `asked` answer in the place of a function that has been called."""
    op = getattr(function, "op", None)
    name = function.__name__ if op is None else op.public_name
    public = public_functions.get(function)
    if not armed_for_classes():
        arm_for_classes()
        if called_from_a_function(public):
            raise RuntimeError(
                f"{name}() met the first argument of a class that defines"
                f" __torch_function__, {type(asked[0]).__name__}, when it had already begun. Call"
                " it again, or import wengert.overrides first: then every function looks for such"
                " classes"
            )
    if public is None:
        public = PublicFunction(function, f"torch.{name}", None, False)
    try:
        return ask(public.func, public.name, asked, args, kwargs)
    except NoImplementationError:
        if public.operator:
            return NotImplemented
        raise


def plain(x: Any) -> Any:
    """An instance of a subclass that answers, as a Tensor of the same memory and graph."""
    if not isinstance(x, Tensor) or type(x) not in concrete or type(x) in tensors:
        return x
    tensor = new(Tensor)
    tensor._array, tensor._edge = x._array, x._edge
    tensor._cut = x._cut if x._edge is None else None
    tensor._root = getattr(x, "_root", None)
    if inferences:
        tensor._block = getattr(x, "_block", None)
    return tensor


def _as_called(
    op: Op, inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, without those that have their defaults."""
    values = dict(zip(op.inputs, inputs, strict=True)) | params
    parameters = op.signature.parameters
    named = {n for n in op.keyword_only if values[n] is not parameters[n].default}
    ordered = [n for n in parameters if n in values and n not in op.keyword_only]
    while ordered and values[ordered[-1]] is parameters[ordered[-1]].default:
        ordered.pop()
    return tuple([values[n] for n in ordered]), {n: values[n] for n in named}


def table_of(op: Op) -> Constants:
    """Where the function of an op looks for a Python number."""
    if op.halves is not None:
        return factors
    return constants if op.differentiable else thresholds


def half_beside_number(a: Any, b: Any) -> bool:
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
    """Whether a tracer, or a sparse tensor, is among the values."""
    for x in values:  # noqa: SIM110 (an any() of a generator costs more than all of this)
        if isinstance(x, (Tracer, SparseTensor)):
            return True
    return False


# What operations take as it is, beside tensors.
_UNTRACED = frozenset({np.ndarray, float, int, bool, complex, type(None)})


def foreign(values: Iterable[Any]) -> bool:
    """Whether operations do not unwrap one of the values: a tracer, or what may answer."""
    for x in values:
        kind = type(x)
        if kind in tensors or kind in _UNTRACED:
            continue
        if isinstance(x, (Tracer, SparseTensor)) or overrides(x):
            return True
    return False


def innermost(values: Iterable[Any]) -> Any:
    """The level of the tracer that the most recent transform made."""
    level = None
    for x in values:
        if isinstance(x, Tracer) and (level is None or x.level.depth > level.depth):
            level = x.level
    return level


def as_one_call(input: Any) -> Any:
    """The level of a tracer, if it takes calls of whole functions: a recording does.

    For functions whose operations have parameters that say little, and change with sizes, where
    their own arguments do not: ``level.call(function, args, kwargs)`` is their result then.
    """
    return input.level if isinstance(input, Tracer) and input.level.composite else None


def operands(op: Op, *inputs: Any) -> list[Any]:
    """The inputs converted to their common dtype; conversions of Tensors are recorded."""
    shapes = []
    for x in inputs:
        if isinstance(x, Tensor):
            shapes.append((dtypes.of_numpy[x._outline.dtype], 2 if x._outline.ndim else 1))
        elif isinstance(x, np.floating) and any(map(_is_tensor, inputs)):
            shapes.append((dtypes.defaults.dtype, 0))  # beside a tensor as any other float
        elif isinstance(x, (np.ndarray, np.generic)):
            shapes.append((dtypes.of_numpy[x.dtype], 2 if x.ndim else 1))
        elif isinstance(x, Number):
            shapes.append((dtypes.of_number(x), 0))
        elif x is not None or not _optional(op, inputs):
            raise _wrong_type(op, inputs, x)
    common = dtypes.combine(shapes)
    if op.refuses is not None and common is not dtypes.bool_:
        op.refuses([dtype for dtype, rank in shapes if rank or dtype is dtypes.bool_])
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
        return x if x._outline.dtype == to else cast(x, to)
    return _of_number(x, to, table)


@preparation
def _of_number(x: Any, to: np.dtype[Any], table: Constants) -> Tensor:
    return wrap(number_as_array(x, to, table) if isinstance(x, Number) else np.asarray(x, to))


def cast(x: Tensor, to: np.dtype[Any]) -> Tensor:
    """`x` in another dtype; recorded where both are floating point or complex."""
    return recorded_ops.convert(x, dtypes.of_numpy[to])


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
    if op.numbers:
        return _wrong_type(op, inputs, next(x for x in inputs if type(x) not in Number))
    for kinds in ((np.ndarray, np.generic, *Number), (np.ndarray, np.generic)):
        for x in inputs:
            if x is not None and not isinstance(x, kinds):
                return _wrong_type(op, inputs, x)
    return _wrong_type(op, inputs, None)


def _wrong_type(op: Op, inputs: tuple[Any, ...], x: Any) -> TypeError:
    position = next(i for i, y in enumerate(inputs) if y is x)
    return TypeError(
        f"{op.public_name}(): argument '{op.inputs[position]}' (position {position + 1}) must be"
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
            f" but got {error.axis}) in {op.public_name}()"
        )
    if type(error) is ValueError and op.kind == "elementwise":
        return RuntimeError(
            _broadcast_message(op.public_name, shapes) or f"{op.public_name}(): {error}"
        )
    if isinstance(error, AttributeError):  # a forward met what is no array
        for x in inputs:
            if x is not None and not isinstance(x, Tensor) and not isinstance(x, np.ndarray):
                return _wrong_type(op, inputs, x)
    if type(error).__name__.startswith("_UFunc"):
        kinds = [dtypes.of_numpy[v.dtype].short for v in values if isinstance(v, np.ndarray)]
        return NotImplementedError(f"\"{op.public_name}\" not implemented for '{', '.join(kinds)}'")
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


# Views of one tensor from which those that are gone are looked for.
_MANY_VIEWS = 8


def mark_view(view: Tensor, source: Any) -> None:
    """Note that `view` may show the memory of `source`, so that in-place writes reach both."""
    root = getattr(source, "_root", None)
    if root is None:
        root = source
    if type(source) in concrete:
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
        root._views = [ref(view)]
        return
    views.append(ref(view))
    count = len(views)
    if count >= _MANY_VIEWS and count & (count - 1) == 0:  # a power of two: time to drop the dead
        views[:] = [v for v in views if v() is not None]


def mark_views(views: Sequence[Tensor], source: Any) -> None:
    """`mark_view` of the outputs of one operation, which all show `source` or all had to copy."""
    if not views or inferences or type(source) not in concrete:
        for view in views:
            mark_view(view, source)
        return
    root = root_of(source)
    base = root._array.base
    owner = base if isinstance(base, np.ndarray) else root._array
    memory = root._array
    for view in views:
        if view._array.base is not owner and view._array is not memory:
            for other in views:
                mark_view(other, source)
            return
    for view in views:
        view._root = root
    known = getattr(root, "_views", None)
    root._views = [*([v for v in known if v() is not None] if known else ()), *map(ref, views)]


def leave_memory(tensor: Tensor) -> None:
    """Before a tensor shows other memory: what it showed is its root's and its views' alone."""
    root = getattr(tensor, "_root", None)
    if root is not None:
        root._views[:] = [v for v in root._views if v() is not None and v() is not tensor]
        tensor._root = None
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
    """A cotangent summed down to the shape that was broadcast.

    What is traced is one element: programs trace rules of operands that were not broadcast.
    """
    if isinstance(g, TracedArray) or g.shape == shape:
        return g
    if isinstance(g, Tensor):
        return recorded_ops.sum_to_shape(g, shape)
    return unbroadcast(g, shape)
