"""Softmax and its kin along one axis, and their pullbacks.

The largest element is subtracted first. Half precision is computed in float32 and rounded
once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.chunks import FEW, is_plain, plain, real_of, rows_of, stored_of
from wengert.kernels.precision import HALF, narrowed, widened
from wengert.kernels.reduction import add_reduce, total

_max_reduce: Any = np.maximum.reduce

# Along axes with fewer elements behind them kernels have no vectors to work with.
_NARROW = 8
# Elements that NumPy's passes go over together.
_BLOCK = 1 << 14


def _softmax_into(axis: int, out: np.ndarray, x: np.ndarray) -> None:
    np.subtract(x, _max_reduce(x, axis=axis, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= add_reduce(out, axis=axis, keepdims=True)


def _log_softmax_into(axis: int, out: np.ndarray, x: np.ndarray) -> None:
    np.subtract(x, _max_reduce(x, axis=axis, keepdims=True), out=out)
    out -= np.log(add_reduce(np.exp(out), axis=axis, keepdims=True))


def _softmax_pullback_into(axis: int, out: np.ndarray, g: np.ndarray, y: np.ndarray) -> None:
    np.subtract(g, _dot_along(g, y, axis), out=out)
    out *= y


def _log_softmax_pullback_into(axis: int, out: np.ndarray, g: np.ndarray, y: np.ndarray) -> None:
    np.exp(y, out=out)
    out *= add_reduce(g, axis=axis, keepdims=True)
    np.subtract(g, out, out=out)


def _dot_along(a: np.ndarray, b: np.ndarray, axis: int) -> Any:
    """The sum of products along an axis, which is kept."""
    if axis == a.ndim - 1:
        return np.vecdot(a, b)[..., None]
    return add_reduce(a * b, axis=axis, keepdims=True)


def _apply(kernel: Callable[..., None], axis: int, *arrays: np.ndarray) -> Any:
    """The result of a kernel, in the dtype of the last array."""
    last = arrays[-1]
    wide = [widened(a) for a in arrays]
    out = np.empty_like(wide[-1])
    if axis % last.ndim and last.size > _BLOCK:  # several passes over what stays in the cache
        step = max(1, _BLOCK * len(last) // last.size)
        for start in range(0, len(last), step):
            rows = slice(start, start + step)
            kernel(axis, out[rows], *[a[rows] for a in wide])
    else:
        kernel(axis, out, *wide)
    return narrowed(out, last.dtype)


@cache
def _loops() -> Any:
    """The module of kernels, which is loaded on first use."""
    from wengert.kernels.softmax import native

    return native


def _native(name: str, axis: int, *arrays: np.ndarray) -> Any:
    """The result of a compiled kernel; None where none will do."""
    x = arrays[-1]
    if not (x.ndim and x.size >= FEW):
        return None
    # The exponentials of a softmax are written before their sum is known.
    real = real_of(*arrays) if name == "softmax" else stored_of(*arrays)
    if real is None and x.dtype in HALF:
        out = _native(name, axis, *[widened(a) for a in arrays])
        return None if out is None else narrowed(out, x.dtype)
    if real is None:
        return None if all(map(is_plain, arrays)) else _native(name, axis, *map(plain, arrays))
    plan = _plan(name, real, x.shape, axis)
    if plan is None:
        return None
    run, numbers = plan
    out = np.empty(x.shape, x.dtype)
    run(*arrays, out, *numbers)
    return out


@lru_cache(1024)
def _plan(name: str, real: str, shape: tuple[int, ...], axis: int) -> Any:
    """A kernel for arrays of a shape, and the numbers it takes; None where NumPy is for it."""
    native, axis = _loops(), axis % len(shape)
    n, outer, inner = shape[axis], prod(shape[:axis]), prod(shape[axis + 1 :])
    if inner == 1:
        return getattr(getattr(native, name), real), (n, outer, rows_of(n))
    if inner < _NARROW:
        return None
    blocks = -(-inner // native.LANES)
    chunk = rows_of(n * min(inner, native.LANES))
    return getattr(getattr(native, f"{name}_columns"), real), (
        n, inner, blocks, outer * blocks, chunk
    )  # fmt: skip


def softmax(array: np.ndarray, axis: int) -> Any:
    """exp(x) / sum(exp(x)); nan where all are -inf."""
    if (out := _native("softmax", axis, array)) is not None:
        return out
    if not array.size or not array.ndim:
        return np.exp(array - array)
    return _apply(_softmax_into, axis, array)


def masked_softmax(array: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The softmax of array + mask along the last axis; zeros where all are -inf."""
    if array.size >= FEW and _repeats(mask, array) and (real := real_of(array, mask)):
        native = _loops()
        out, n = np.empty_like(array), array.shape[-1]
        count, period = array.size // n, mask.size // n
        getattr(native.masked_softmax, real)(array, mask, out, n, period, count, rows_of(n))
        return out
    out = array + mask
    if out.shape != array.shape:
        raise ValueError(f"a mask of {mask.shape} for {array.shape}")
    if not out.size:
        return out
    top = _max_reduce(out, axis=-1, keepdims=True)
    blind = top == -np.inf
    if blind.any():
        top[blind] = 0
    np.exp(np.subtract(out, top, out=out), out=out)
    total = add_reduce(out, axis=-1, keepdims=True)
    if blind.any():
        total[blind] = 1
    out /= total
    return out


def _repeats(mask: np.ndarray, array: np.ndarray) -> bool:
    """Whether the mask has the shape of the last axes of the array."""
    return mask.ndim > 0 and mask.shape == array.shape[array.ndim - mask.ndim :]


def log_softmax(array: np.ndarray, axis: int) -> Any:
    """x - log(sum(exp(x)))."""
    if (out := _native("log_softmax", axis, array)) is not None:
        return out
    if not array.size or not array.ndim:
        return array - array
    return _apply(_log_softmax_into, axis, array)


def softmax_pullback(g: np.ndarray, out: np.ndarray, axis: int) -> Any:
    """out * (g - sum(g * out))."""
    if (grad := _native("softmax_pullback", axis, g, out)) is not None:
        return grad
    if not out.size or not out.ndim:
        return np.zeros_like(out)
    return _apply(_softmax_pullback_into, axis, g, out)


def log_softmax_pullback(g: np.ndarray, out: np.ndarray, axis: int) -> Any:
    """g - exp(out) * sum(g)."""
    if (grad := _native("log_softmax_pullback", axis, g, out)) is not None:
        return grad
    if not out.size or not out.ndim:
        return np.zeros_like(out)
    return _apply(_log_softmax_pullback_into, axis, g, out)


def logsumexp(array: np.ndarray, axes: tuple[int, ...] | None, keepdim: bool) -> Any:
    """log(sum(exp(x))); -inf of nothing."""
    one = axes is not None and len(axes) == 1 and array.size >= FEW
    if axes and one and (real := real_of(array)):
        (axis,), shape = axes, array.shape
        plan = _plan("logsumexp", real, shape, axis)
        if plan is not None:
            out = np.empty(shape[:axis] + (1,) * keepdim + shape[axis + 1 :], array.dtype)
            run, numbers = plan
            run(array, out, *numbers)
            return out
    wide = widened(array)
    top = _max_reduce(wide.real, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, top.dtype.type(0))
    with np.errstate(divide="ignore"):
        out = np.log(total(np.exp(wide - top), axes, True)) + top
    if not keepdim:
        out = out.reshape(()) if axes is None else out.squeeze(axes)
    return out if wide is array else out.astype(array.dtype)
