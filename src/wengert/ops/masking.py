"""Choosing between values: where, masks, the larger and the smaller, bounds."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.preparations import preparation
from wengert.core.tensor import Tensor, Tracer, wrap
from wengert.kernels.jit import ARRAYS
from wengert.ops import operands
from wengert.ops.checks import not_implemented, require_in_range
from wengert.ops.comparison import isnan, ne
from wengert.ops.declare import Value, elementwise, primitive
from wengert.ops.gathering import nonzero
from wengert.ops.numbers import Number
from wengert.ops.outputs import write_out
from wengert.ops.variadic import require_tensor
from wengert.ops.zeros import aligned, drop, keep, or_zeros

# For `clamp`: dtypes and bounds that need no conversion.
_REAL = frozenset(d for d in dtypes.inexact if d.kind != "c")
# By the dtype of a tensor: types of the numbers that leave it as it is.
_LIMITS = dict.fromkeys(_REAL, frozenset({int, float, type(None)})) | {
    d.np: frozenset({int, type(None)}) for d in dtypes.ALL if d.category == dtypes.INT
}


@primitive(
    mixed=False,
    input=lambda g, condition, input_shape: operands.sum_to(keep(g, condition), input_shape),
    other=lambda g, condition, other_shape: operands.sum_to(drop(g, condition), other_shape),
    condition=None,
    batch=aligned,
    jvp=lambda d_input, d_other, input, other, condition: _where(
        or_zeros(d_input, input), or_zeros(d_other, other), condition
    ),
    scalar=lambda input, other, condition: np.where(condition, input, other),
    layout=("condition", "input", "other"),
)
def _where(input: Value, other: Value, condition: Value) -> Value:
    try:
        return np.where(condition, input, other)
    except ValueError:
        raise RuntimeError(_mismatch(condition.shape, input.shape, other.shape)) from None


_WHERE = getattr(_where, "op")  # noqa: B009 (the published function has it, its type does not)


def _mismatch(*shapes: tuple[int, ...]) -> str:
    """The message for shapes that do not broadcast: the first two that disagree."""
    pairs = ((a, b) for i, a in enumerate(shapes) for b in shapes[i + 1 :])
    messages = (operands._broadcast_message("where", list(pair)) for pair in pairs)
    return next(message for message in messages if message is not None)


def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """Elements of `input` where `condition` is true, of `other` elsewhere; all broadcast.

    With the condition alone: the indices of its nonzero elements, one tensor per dimension.

    >>> import wengert
    >>> wengert.where(wengert.tensor([True, False]), wengert.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if out is not None:
        return write_out(where, out, condition, input, other)
    if not isinstance(condition, Tensor):
        some = isinstance(input, Tensor) or isinstance(other, Tensor)
        if isinstance(condition, ARRAYS) and not some:
            return np.where(condition, input, other)
        if not isinstance(condition, (np.ndarray, np.generic)):
            raise TypeError(
                "where(): argument 'condition' (position 1) must be Tensor, not"
                f" {type(condition).__name__}"
            )
        condition = wrap(condition)
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition._outline.dtype != np.bool_:
        condition = _as_mask(condition)
    if (
        isinstance(input, Tensor)
        and isinstance(other, Tensor)
        and input._outline.dtype is other._outline.dtype
    ):
        return _where(input, other, condition)
    if input is None or other is None:
        raise TypeError("where(): arguments 'input' and 'other' must come together")
    a, b = operands.operands(_WHERE, input, other)
    if a._outline.dtype == np.float32:
        numbers = [x for x in (input, other) if type(x) in (int, float)]
        require_in_range("where", a._outline.dtype, *numbers)
    return _where(a, b, condition)


def _as_mask(condition: Tensor) -> Tensor:
    if condition._outline.dtype != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype"
            f" {dtypes.of_numpy[condition._outline.dtype].short}"
        )
    return ne(condition, 0)


@primitive(
    mixed=False,
    input=lambda g, mask, input_shape: operands.sum_to(drop(g, mask), input_shape),
    mask=None,
    value=lambda g, mask, value_shape: operands.sum_to(keep(g, mask), value_shape),
    batch=aligned,
    jvp=lambda d_input, d_value, input, mask, value: _masked_fill(
        or_zeros(d_input, input), mask, or_zeros(d_value, value)
    ),
    scalar=lambda input, mask, value: np.where(mask, value, input),
    layout="contiguous",
)
def _masked_fill(input: Value, mask: Value, value: Value) -> Value:
    if input.shape == mask.shape and not value.ndim:
        out = input.copy()
        kernels.masks.put(out, mask, value)
        return out
    try:
        shape = np.broadcast_shapes(input.shape, mask.shape)
    except ValueError:
        shapes = [input.shape, mask.shape]
        raise RuntimeError(operands._broadcast_message("masked_fill", shapes)) from None
    out = np.empty(shape, input.dtype)
    out[...] = input
    np.copyto(out, value, where=mask)
    return out


def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with `value`, a number or a 0-d tensor, where `mask` is true.

    >>> import wengert
    >>> wengert.masked_fill(wengert.tensor([1.0, 2.0]), wengert.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    require_tensor("masked_fill", "input", input)
    if not isinstance(mask, Tensor):
        raise TypeError(
            f"masked_fill(): argument 'mask' (position 2) must be Tensor, not {type(mask).__name__}"
        )
    if mask._outline.dtype != np.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype"
            f" {dtypes.of_numpy[mask._outline.dtype]}"
        )
    return _masked_fill(input, mask, filling("masked_fill", value, input))


def filling(name: str, value: Any, input: Tensor) -> Tensor:
    """The fill value, as a 0-d tensor of the input's dtype."""
    dtype = dtypes.of_numpy[input._outline.dtype]
    if isinstance(value, Tensor):
        if value._outline.ndim:
            raise RuntimeError(
                f"{name}_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value._outline.ndim} dimension(s)."
            )
        value_dtype = dtypes.of_numpy[value._outline.dtype]
    elif isinstance(value, (*Number, np.generic)):
        value = value.item() if isinstance(value, np.generic) else value
        value_dtype = dtypes.of_number(value)
    else:
        raise TypeError(
            f"{name}(): argument 'value' (position 3) must be Number or Tensor, not"
            f" {type(value).__name__}"
        )
    if value_dtype.category == dtypes.COMPLEX != dtype.category:
        raise RuntimeError(
            f"value cannot be converted to type {dtype} without overflow: it is {value_dtype}"
        )
    if not isinstance(value, Tensor):
        return _scalar(value, dtype, name)
    if value_dtype is dtype:
        return value
    if not isinstance(value, Tracer):
        dtypes.scalar_array(value._array.item(), dtype, name)
    return operands.cast(value, dtype.np)


@preparation
def _scalar(value: Any, dtype: dtypes.dtype, name: str) -> Tensor:
    return wrap(dtypes.scalar_array(value, dtype, name))


def _require_real(name: str, *arrays: np.ndarray) -> None:
    if any(a.dtype.kind == "c" for a in arrays):
        raise RuntimeError(f"{name} not implemented for complex tensors.")


@elementwise(
    input=lambda g, input, other: where(input == other, g * 0.5, drop(g, input < other)),
    other=lambda g, input, other: where(input == other, g * 0.5, drop(g, input > other)),
    tensors=("input", "other"),
)
def maximum(input: Value, other: Value) -> Value:
    """The larger of two elements; NaN if either is. Equal elements share the gradient.

    >>> import wengert
    >>> wengert.maximum(wengert.tensor([1.0, 4.0]), wengert.tensor([3.0, 2.0]))
    tensor([3., 4.])
    """
    _require_real("maximum", input)
    return np.maximum(input, other)


@elementwise(
    input=lambda g, input, other: where(input == other, g * 0.5, drop(g, input > other)),
    other=lambda g, input, other: where(input == other, g * 0.5, drop(g, input < other)),
    tensors=("input", "other"),
)
def minimum(input: Value, other: Value) -> Value:
    """The smaller of two elements; NaN if either is. Equal elements share the gradient.

    >>> import wengert
    >>> wengert.minimum(wengert.tensor([1.0, 4.0]), wengert.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """
    _require_real("minimum", input)
    return np.minimum(input, other)


@elementwise(
    input=lambda g, input, other: keep(g, (input >= other) | isnan(other)),
    other=lambda g, input, other: drop(g, (input >= other) | isnan(other)),
    tensors=("input", "other"),
)
def fmax(input: Value, other: Value) -> Value:
    """The larger of two elements; NaN only if both are.

    >>> import wengert
    >>> wengert.fmax(wengert.tensor([1.0, float("nan")]), wengert.tensor([3.0, 2.0]))
    tensor([3., 2.])
    """
    _require_real("fmax", input)
    return np.fmax(input, other)


@elementwise(
    input=lambda g, input, other: keep(g, (input <= other) | isnan(other)),
    other=lambda g, input, other: drop(g, (input <= other) | isnan(other)),
    tensors=("input", "other"),
)
def fmin(input: Value, other: Value) -> Value:
    """The smaller of two elements; NaN only if both are.

    >>> import wengert
    >>> wengert.fmin(wengert.tensor([1.0, float("nan")]), wengert.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """
    _require_real("fmin", input)
    return np.fmin(input, other)


def number_of(dtype: np.dtype, value: Any, name: str) -> Any:
    """An argument of function `name` as a 0-d array, which ufuncs take faster than a scalar.

    RuntimeError if it is out of range.
    """
    return dtypes.scalar_array(value, dtypes.of_numpy[dtype], name)


@elementwise(
    input=lambda g, input, min, max: keep(g, _inside(input, min, max)),
    label="ClampBackward0",
    name="clamp",
)
def _clamp_numbers(input: Value, min: float | None, max: float | None) -> Value:
    """`clamp` with bounds that do not change the dtype."""
    out = input
    low = None if min is None else number_of(input.dtype, min, "clamp")
    high = None if max is None else number_of(input.dtype, max, "clamp")
    if type(input) is np.ndarray and input.dtype.kind == "i":
        between = kernels.limits.between(input, low, high)
        if between is not None:
            return between
    if low is not None:
        out = np.maximum(out, low)
    if high is not None:
        out = np.minimum(out, high)
    return out


@elementwise(
    input=lambda g, input, min, max: keep(g, _inside(input, min, max)),
    min=lambda g, input, min, max: keep(g, _below(input, min, max)),
    max=lambda g, input, min, max: keep(g, _above(input, min, max)),
    label="ClampBackward1",
    name="clamp",
)
def _clamp_tensors(input: Value, min: Value = None, max: Value = None) -> Value:
    out = input
    if min is not None:
        out = np.maximum(out, min)
    if max is not None:
        out = np.minimum(out, max)
    return out


def _inside(input: Value, min: Value, max: Value) -> Value:
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


def _below(input: Value, min: Value, max: Value) -> Value:
    return input < min if max is None else (input < min) & (min < max)


def _above(input: Value, min: Value, max: Value) -> Value:
    return input > max if min is None else (input > max) | (max < min)


def _are_mixed(bounds: list[Any]) -> bool:
    """Whether these are a number and a tensor that stands for one."""
    numbers = [b for b in bounds if isinstance(b, (int, float))]
    others = [b for b in bounds if isinstance(b, Tensor) and not (b.ndim or b.requires_grad)]
    return len(numbers) == len(others) == 1


def _refuse_complex(*values: Any) -> None:
    if any(isinstance(x, Tensor) and x._outline.dtype.kind == "c" for x in values):
        raise NotImplementedError("clamp is not supported for complex types")


def _as_bound(bound: Any) -> Tensor | None:
    if bound is None or isinstance(bound, Tensor):
        return bound
    return wrap(np.asarray(bound, dtypes.of_number(bound).np))


def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Elements limited to [min, max]; the bounds are both numbers or both tensors, or None.

    If min > max, the result is `max`. The gradient passes inside and at the bounds.

    >>> import wengert
    >>> wengert.clamp(wengert.tensor([-2.0, 0.5, 3.0]), min=0.0, max=1.0)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if out is not None:
        return write_out(clamp, out, input, min, max)
    if (
        isinstance(input, Tensor)
        and (limits := _LIMITS.get(input._outline.dtype)) is not None
        and type(min) in limits
        and type(max) in limits
        and min is not max
    ):
        return _clamp_numbers(input, min, max)  # fast path for the usual case
    if isinstance(min, np.generic) or isinstance(max, np.generic):
        numbers = [b.item() if isinstance(b, np.generic) else b for b in (min, max)]
        return clamp(input, *numbers)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    bounds = [b for b in (min, max) if b is not None]
    if not isinstance(input, Tensor):
        raise TypeError(
            f"clamp(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    dtype = dtypes.of_numpy[input._outline.dtype]
    _refuse_complex(input, *bounds)
    if _are_mixed(bounds) or all(isinstance(b, Tensor) for b in bounds):
        return _clamp_tensors(input, _as_bound(min), _as_bound(max))
    if not all(isinstance(b, (int, float)) for b in bounds):
        kinds = ", ".join(type(b).__name__ for b in bounds)
        raise TypeError(
            f"clamp(): arguments 'min' and 'max' must be both numbers or both Tensors, got {kinds}"
        )
    common = dtypes.combine([(dtype, 2), *((dtypes.of_number(b), 0) for b in bounds)])
    if common is dtypes.bool_:
        raise not_implemented("clamp_scalar_cpu", input._outline)
    if common is not dtype:
        input = operands.cast(input, common.np)
    return _clamp_numbers(input, min, max)


def clamp_min(input: Tensor, min: Any, *, out: Tensor | None = None) -> Tensor:
    """Elements limited from below by `min`, a number or a tensor.

    >>> import wengert
    >>> wengert.clamp_min(wengert.tensor([-2.0, 3.0]), 0.0)
    tensor([0., 3.])
    """
    if out is not None:
        return write_out(clamp_min, out, input, min)
    return clamp(input, min=min)


def clamp_max(input: Tensor, max: Any, *, out: Tensor | None = None) -> Tensor:
    """Elements limited from above by `max`, a number or a tensor.

    >>> import wengert
    >>> wengert.clamp_max(wengert.tensor([-2.0, 3.0]), 1.0)
    tensor([-2.,  1.])
    """
    if out is not None:
        return write_out(clamp_max, out, input, max)
    return clamp(input, max=max)


clip = clamp


@elementwise(
    input=lambda g, input: keep(g, abs(input) < float("inf")),
)
def nan_to_num(
    input: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Value:
    """Replace NaN and infinities by 0, the largest and the smallest number, or given values.

    >>> import wengert
    >>> wengert.nan_to_num(wengert.tensor([float("nan"), 1.0]))
    tensor([0., 1.])
    """
    if input.dtype not in dtypes.inexact:
        return input.copy()
    if input.dtype.kind == "c":
        out = input.copy()
        out.real = nan_to_num(out.real, nan, posinf, neginf)
        out.imag = nan_to_num(out.imag, nan, posinf, neginf)
        return out
    # In a kernel, halves are computed in float32.
    stored = getattr(input, "stored_dtype", input.dtype)
    top = float(ml_dtypes.finfo(stored).max)  # type: ignore[no-untyped-call]
    cast = input.dtype.type
    out = np.where(np.isnan(input), cast(0.0 if nan is None else nan), input)
    out = np.where(input == np.inf, cast(top if posinf is None else posinf), out)
    return np.where(input == -np.inf, cast(-top if neginf is None else neginf), out)


__all__ = [
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "fmax",
    "fmin",
    "masked_fill",
    "maximum",
    "minimum",
    "nan_to_num",
    "where",
]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = (
    "clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "masked_fill", "maximum", "minimum",
    "nan_to_num",
)  # fmt: skip
INPLACE = ("clamp", "clamp_max", "clamp_min", "clip", "masked_fill", "nan_to_num")
