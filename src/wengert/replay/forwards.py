"""What the operations of a record compute, as functions of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.kernels.jit.tracing import Expression
from wengert.kernels.precision import HALF
from wengert.ops import operands
from wengert.ops.op import Op
from wengert.ops.subscript import deferred
from wengert.replay.ir import Instruction
from wengert.replay.plain import plain_function
from wengert.replay.rules import SeveralForm
from wengert.replay.trace import OpEntry

_SINGLE, _MASK = np.dtype(np.float32), np.dtype(np.bool_)


def view_of(entry: OpEntry, array: np.ndarray) -> Any:
    """What an operation that gives views shows of an array; several views, if it gives several."""
    if isinstance(entry.op, SeveralForm):
        return of_one(entry.op.op.forward, tuple(entry.params.values()), array)
    return forward_of(entry.op, [entry.op.inputs[0]], entry.params)(array)


def apply_of_values(rule: Any, *values: Any) -> Any:
    """A rule of nothing but values."""
    result = rule(*values)
    return result.dense() if type(result) in deferred else result


def apply_rule(rule: Any, template: tuple[Any, ...], *values: Any) -> Any:
    """A rule with its constants in their places; `values` begin with its first argument."""
    rest = [constant if k is None else values[k] for k, constant in template]
    result = rule(values[0], *rest)
    return result.dense() if type(result) in deferred else result


def of_list(forward: Any, params: tuple[Any, ...], *arrays: Any) -> Any:
    """A forward of a list, which gives what its rule reads as well."""
    return forward(list(arrays), *params)[0]


def of_one(forward: Any, params: tuple[Any, ...], array: Any) -> Any:
    """The same of one array."""
    return forward(array, *params)[0]


def converted(to: np.dtype[Any], array: Any) -> Any:
    """An array of another dtype."""
    with np.errstate(over="ignore"):  # an integer may be none of float16's numbers
        return array.astype(to)


def list_rule(rule: Any, k: int, kept: Any, g: Any) -> Any:
    """The rule of one of the tensors of a list."""
    return rule(g, k, kept)


def several_rule(rule: Any, kept: Any, template: tuple[Any, ...], *gs: Any) -> Any:
    """The rule of several outputs, those without a cotangent in their places."""
    return rule([gs[t] if type(t) is int else t for t in template], kept)


def pointwise_of(instruction: Instruction) -> Callable[..., Any] | None:
    """What an operation computes of single elements; None for what is no such operation."""
    entry, key = instruction.entry, instruction.key
    if not isinstance(entry, OpEntry) or not key or type(key[0]) is not str:
        return None
    return pointwise_of_entry(entry) if isinstance(entry.op, Op) else None


def pointwise_of_entry(entry: OpEntry) -> Callable[..., Any] | None:
    """The same, of an operation as it is recorded."""
    op = entry.op
    if op.name == "_cast":
        return conversion_of(entry.params["source"], entry.params["to"])
    if op.scalar is None or any(entry.refs[n] is None for n in op.inputs):
        return None
    dtype = entry.outlines[0].dtype
    return in_halves(dtype, partial(_scalar, op, tuple(entry.params.values())))


def conversion_of(source: np.dtype[Any], to: np.dtype[Any]) -> Callable[..., Any] | None:
    """A conversion of single elements, of masks to floats too; None if it is another."""
    if source == _MASK and to in HALF | {_SINGLE}:
        return in_halves(to, _number_of)
    if not {source, to} <= HALF | {_SINGLE}:
        return None
    return partial(_rounded, to, _itself) if to in HALF else _widened


def _number_of(mask: Any) -> Any:
    return mask.astype(_SINGLE)


def _widened(x: Any) -> Any:
    return x.widened()


def _itself(x: Any) -> Any:
    return x


def in_halves(dtype: np.dtype[Any] | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of single elements, as it gives a dtype: halves are rounded after each operation.

    In eager mode, too, an operation computes with them in float32, and rounds once.
    """
    if dtype is None or dtype not in HALF:
        return function
    if type(function) is partial:
        return partial(_rounded, dtype, function.func, *function.args)
    return partial(_rounded, dtype, function)


def _rounded(dtype: np.dtype[Any], function: Callable[..., Any], *operands: Any) -> Any:
    """The value of a function, in halves; it is told that it is one of these."""
    traces = [x.trace for x in operands if isinstance(x, Expression)]
    if not traces:
        return function(*operands)
    (trace, *_), before = traces, traces[0].stored_dtype
    trace.stored_dtype = dtype
    try:
        return function(*operands).rounded(dtype)
    finally:
        trace.stored_dtype = before


def _scalar(op: Op, params: tuple[Any, ...], *inputs: Any) -> Any:
    return operands.apply(op.scalar, op, inputs, params)


def forward_of(op: Op, present: list[str], params: dict[str, Any]) -> Callable[..., Any]:
    """The forward of an operation on arrays, given the inputs that are present."""
    options = {n: v for n, v in params.items() if v is not op.params[n]}
    absent = [op.signature.parameters[n] for n in op.inputs if n not in present]
    if op.aux or any(p.default is p.empty for p in absent):
        every = tuple(params.values())

        def further(*arrays: Any) -> Any:
            by_name = dict(zip(present, arrays, strict=True))
            return operands.apply(op.forward, op, [by_name.get(n) for n in op.inputs], every)

        return further
    function = plain_function(op)
    if op.in_order and present == op.inputs[: len(present)]:
        return partial(function, **options) if options else function
    return lambda *arrays: function(**dict(zip(present, arrays, strict=True)), **options)


def of_one_element(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A forward of one element, which NumPy gives as a number: others take arrays alone."""
    return lambda *arrays: np.asarray(compute(*arrays))


def in_layout(
    compute: Callable[..., Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> Callable[..., Any]:
    """A forward whose result has the record's layout in memory; that of eager mode."""
    if len(shape) < 2:
        return compute

    def computed(*arrays: Any) -> Any:
        out = compute(*arrays)
        return out if out.strides == strides else laid_out(out, strides)

    return computed


def laid_out(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """A copy with these strides, if they are those of a dense array; else the array."""
    # A dimension of length 1 has any stride.
    order = sorted(range(array.ndim), key=lambda d: (array.shape[d] != 1, -strides[d], d))
    dense = np.empty([array.shape[d] for d in order], array.dtype)
    out = dense.transpose(np.argsort(order))
    if any(out.strides[d] != strides[d] for d in order if array.shape[d] != 1):
        return array
    out[...] = array
    return np.ndarray(array.shape, array.dtype, dense, 0, strides)
