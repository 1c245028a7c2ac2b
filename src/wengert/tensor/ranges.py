"""Tensors of evenly spaced numbers."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.device import on_meta
from wengert.core.float8 import is_float8
from wengert.core.messages import warn
from wengert.core.tensor import Tensor
from wengert.kernels import spacing
from wengert.meta.tensors import without_memory
from wengert.tensor.arguments import Options, dtype_of, finish, require_int

# Integers below this are in the range of int64.
_FAR = 1 << 62
# Elements that deserve several threads.
_MANY = 1 << 15
# Numbers below this are in the range of all dtypes of floats whose ends `evenly` rounds itself.
_SMALL = 1024
_ROUNDED = frozenset({np.float32, np.float64})


def arange(*args: Any, out: Tensor | None = None, start: Any = None, end: Any = None,
           step: Any = None, **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """``arange(end)``, ``arange(start, end, step=1)``: from `start` up to, but excluding, `end`.

    int64 if all arguments are ints, else the default dtype.

    >>> import wengert
    >>> wengert.arange(5)
    tensor([0, 1, 2, 3, 4])
    >>> wengert.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if len(args) == 1 and end is None:
        end = args[0]
    elif args:
        named = {"start": start, "end": end, "step": step}
        named |= dict(zip(("start", "end", "step"), args, strict=False))
        start, end, step = named.values()
    if end is None or len(args) > 3:
        raise TypeError(
            f"arange() received an invalid combination of arguments - got {len(args)} positional,"
            " expected (end), (start, end) or (start, end, step)"
        )
    first = 0 if start is None else _number("arange", "start", start)
    last = _number("arange", "end", end)
    by = 1 if step is None else _number("arange", "step", step)
    integral = isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
    natural = dtypes.int64 if integral else None
    dtype = _dtype_of("arange", options, natural if out is None else out.dtype)
    if on_meta(options.get("device")):
        return finish("arange", _outline(_count(first, last, by, dtype), dtype), options, out)
    return finish("arange", _evenly(first, last, by, dtype), options, out)


def _count(first: Any, last: Any, by: Any, dtype: dtypes.dtype) -> int:
    """How many numbers `arange` gives."""
    _check_range(first, last, by)
    if dtype is dtypes.int64:
        return max(-((int(first) - int(last)) // int(by)), 0)
    return math.ceil((last - first) / by)


def _outline(count: int, dtype: dtypes.dtype) -> Any:
    """What stands for so many numbers on the meta device."""
    return without_memory((count,), dtype.np)._array


def _dtype_of(name: str, options: Options, otherwise: Any = None) -> dtypes.dtype:
    """The dtype that the options ask for, which has more than a few numbers."""
    dtype = dtype_of(name, options, otherwise)
    if is_float8(dtype.np):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtype.short}'")
    return dtype


def _evenly(first: Any, last: Any, by: Any, dtype: dtypes.dtype) -> np.ndarray:
    if dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtype.short}'")
    whole = dtype is dtypes.int64 and type(first) is type(last) is type(by) is int
    if whole and -_FAR < first <= last < _FAR and 0 < by < _FAR:  # nothing to check
        if last - first < _MANY * by:
            return np.arange(first, last, by, dtype=np.int64)
        return kernels.filling.counted(first, last, by)
    _check_range(first, last, by)
    if dtype.category == dtypes.INT:
        return _integers(first, last, by, dtype)
    n = math.ceil((last - first) / by)
    if dtype.name in ("float32", "float64") and n < 1 << 24:  # all of which float32 holds
        kind = dtype.np if (first, by) == (0, 1) else np.float64
        values = np.arange(n, dtype=np.int32).astype(kind)  # which counts twice as fast
        if by != 1:
            values *= by
        if first != 0 or by < 0:  # 0 * -1 is -0, and 0 + -0 is 0
            values += first
        return values.astype(dtype.np, copy=False)
    return (first + by * np.arange(n)).astype(dtype.np)


def _integers(first: Any, last: Any, by: Any, dtype: dtypes.dtype) -> np.ndarray:
    for value in (first, last):
        dtypes.scalar_array(int(value), dtypes.int64, "arange")
    if dtype is dtypes.int64:
        if int(by) == 0:
            raise ValueError(f"step must be nonzero: arange() of {dtype} got a step below 1")
        return np.arange(int(first), int(last), int(by), dtype=np.int64)
    # The smaller ones count in floating point, and then step by integers.
    n = math.ceil((last - first) / by)
    return (int(first) + int(by) * np.arange(n)).astype(dtype.np)


def _check_range(first: Any, last: Any, by: Any) -> None:
    for value in (first, last, by):
        if isinstance(value, complex):
            raise RuntimeError(
                f"value cannot be converted to type double without overflow: got {value}"
            )
    if by == 0:
        raise RuntimeError(f"step must be nonzero: got start={first}, end={last}, step={by}")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    if (last < first) if by > 0 else (last > first):
        raise RuntimeError(
            "upper bound and lower bound inconsistent with step sign: got"
            f" start={first}, end={last}, step={by}"
        )


def range(start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None,
          **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """Numbers from `start` to `end`, inclusive. Deprecated in favour of `arange`.

    >>> import warnings, wengert
    >>> with warnings.catch_warnings(action="ignore"):
    ...     wengert.range(1, 3)
    tensor([1., 2., 3.])
    """
    warn(
        "torch.range is deprecated and will be removed in a future release because its behavior"
        " is inconsistent with Python's range builtin. Instead, use torch.arange, which produces"
        " values in [start, end)."
    )
    first, last, by = (_number("range", n, v)
                       for n, v in (("start", start), ("end", end), ("step", step)))  # fmt: skip
    _check_range(first, last, by)
    dtype = _dtype_of("range", options)
    n = math.floor((last - first) / by) + 1
    if on_meta(options.get("device")):
        return finish("range", _outline(n, dtype), options, out)
    return finish("range", (first + by * np.arange(n)).astype(dtype.np), options, out)


def linspace(start: Any, end: Any, steps: int, *, out: Tensor | None = None,
             **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """`steps` numbers from `start` to `end`, both included.

    >>> import wengert
    >>> wengert.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last, n, dtype = _ends("linspace", start, end, steps, options)
    if on_meta(options.get("device")):
        return finish("linspace", _outline(n, dtype), options, out)
    kind = dtype.np.type if dtype.np in dtypes.inexact else np.float64
    # Small ends are rounded with the others.
    if n > 1 and not (dtype.np.type in _ROUNDED and _is_small(first) and _is_small(last)):
        first, last = (_stored("linspace", value, dtype) for value in (first, last))
    values = spacing.evenly(first, last, n, kind)
    return finish("linspace", values.astype(dtype.np, copy=False), options, out)


def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, out: Tensor | None = None,
             **options: Unpack[Options]) -> Tensor:  # fmt: skip
    """`base` to the powers from `start` to `end`, `steps` of them.

    >>> import wengert
    >>> wengert.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    first, last, n, dtype = _ends("logspace", start, end, steps, options)
    if on_meta(options.get("device")):
        return finish("logspace", _outline(n, dtype), options, out)
    if n > 1:
        first, last = (_stored("logspace", value, dtype) for value in (first, last))
    with np.errstate(all="ignore"):
        if dtype.category == dtypes.COMPLEX:
            exponents = spacing.from_both_ends(first, last, n, np.complex128, np.complex128)
            values = np.power(base, exponents).astype(dtype.np)
        else:
            exponents = spacing.from_both_ends(first, last, n, np.float64, np.float64)
            narrow = dtype.category == dtypes.FLOAT and dtype.itemsize <= 4
            wide = np.float64 if narrow else np.longdouble
            values = np.power(wide(base), exponents).astype(dtype.np)
    return finish("logspace", values, options, out)


def _is_small(value: Any) -> bool:
    return (type(value) is float or type(value) is int) and -_SMALL < value < _SMALL


def _stored(name: str, value: Any, dtype: dtypes.dtype) -> Any:
    """An end point, rounded to `dtype`; an error if it does not fit."""
    if dtype.category == dtypes.BOOL:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtype.short}'")
    return dtypes.scalar_array(value, dtype, name).item()


def _ends(name: str, start: Any, end: Any, steps: Any,
          options: Options) -> tuple[Any, Any, int, dtypes.dtype]:  # fmt: skip
    for argument, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value._outline.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {argument}"
                f" with {value._outline.ndim} dimension(s)."
            )
    n = require_int(name, "steps", steps, 3)
    if n < 0:
        raise RuntimeError(f"number of steps must be non-negative: {name}() got steps={n}")
    first, last = _number(name, "start", start), _number(name, "end", end)
    natural = dtypes.defaults.dtype
    if isinstance(first, complex) or isinstance(last, complex):
        natural = natural.to_complex()
    dtype = _dtype_of(name, options, natural)
    if natural.category == dtypes.COMPLEX and dtype.category != dtypes.COMPLEX:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype {natural} can't be safely cast to passed dtype {dtype}"
        )
    return first, last, n, dtype


def _number(name: str, argument: str, value: Any) -> Any:
    """A Python number for an argument that may also be a scalar or 0-d tensor."""
    if type(value) is int or type(value) is float:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float, complex)):
        return value
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and value._outline.size == 1):
        return value.item()
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


__all__ = ["arange", "linspace", "logspace", "range"]
