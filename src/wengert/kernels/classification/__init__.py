"""Cross entropy against class indices, along one axis."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.chunks import FEW, real_of, rows_of
from wengert.kernels.precision import narrowed, widened
from wengert.kernels.scatter.native import within

# Elements behind an axis, if it is not the last, from which kernels have vectors to work with.
_NARROW = 8


def _key(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """What to index by: the class along the axis, and every place along the others."""
    ndim = index.ndim
    places = [np.arange(n).reshape(-1, *(1,) * (ndim - d - 1)) for d, n in enumerate(index.shape)]
    return (*places[:axis], index, *places[axis:])


def _log_denominators(x: np.ndarray, axis: int) -> np.ndarray:
    """log(sum(exp(x))) along an axis, which is kept, in two parts: the maximum, and the rest.

    Their sum would lose the rest beside a large maximum.
    """
    most = np.maximum.reduce(x, axis=axis, keepdims=True)
    less = x - most
    np.exp(less, out=less)
    return np.stack([most, np.log(np.add.reduce(less, axis=axis, keepdims=True))])


def pick(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """The element of each class index, in the shape of the index."""
    return np.asarray(x[_key(index, axis)])


def weighed(losses: np.ndarray, share: np.ndarray) -> Any:
    """Losses times their shares: what counts for nothing is 0, even of an infinite loss."""
    out = losses * share
    return np.where(share == 0, out.dtype.type(0), out) if share.ndim else out


def put(values: np.ndarray, index: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """The adjoint of `pick`: zeros of that shape, with the values at the class indices."""
    out = np.zeros(shape, values.dtype)
    out[_key(index, axis)] = values
    return out


def cross_entropy(
    x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int, reduced: bool,
    smoothing: float = 0.0,
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """-log(softmax(x)) at the index, weighed, and the logs of the softmax's denominators.

    Of the weight of each index all classes have an equal part in `smoothing`.
    """
    wide = widened(x)
    if x.size >= FEW and _native(wide, index, share, axis):
        lse = np.empty((2, *x.shape[:axis], 1, *x.shape[axis + 1 :]), wide.dtype)
        loss = np.empty(index.shape, wide.dtype)
        _run("cross_entropy", axis, wide, index, share, smoothing, loss, *lse)
    else:
        _refuse_others(index, x.shape[axis])
        lse = _log_denominators(wide, axis)
        most, rest = lse.reshape(2, *index.shape)
        part = pick(wide, index, axis) - most
        if smoothing:
            mean = np.add.reduce(wide - lse[0], axis=axis) / x.shape[axis]
            part = (1 - smoothing) * part + smoothing * mean
        loss = weighed(rest - part, share)
    whole = np.add.reduce(loss, axis=None)
    if whole != whole:
        _refuse_others(index, x.shape[axis])
    return narrowed(whole if reduced else loss, x.dtype), lse


def _refuse_others(index: np.ndarray, classes: int) -> None:
    """IndexError for an index that is no class."""
    if not within(index, classes):
        wrong = (index < 0) | (index >= classes)
        raise IndexError(f"Target {index[wrong].flat[0]} is out of bounds.")


def cross_entropy_gradient(
    g: np.ndarray, x: np.ndarray, index: np.ndarray, share: np.ndarray, lse: np.ndarray, axis: int,
    smoothing: float = 0.0,
) -> np.ndarray:  # fmt: skip
    """(softmax(x) - one-hot(index)), weighed."""
    wide = widened(x)
    scale = np.asarray(g * share, wide.dtype)
    if x.size >= FEW and _native(wide, index, scale, axis):
        out = np.empty_like(wide)
        _run("cross_entropy_gradient", axis, wide, index, scale, smoothing, *lse, out)
        return narrowed(out, x.dtype)
    out = wide - lse[0]
    out -= lse[1]
    np.exp(out, out=out)
    out[_key(index, axis)] -= 1 - smoothing
    if smoothing:
        out -= smoothing / x.shape[axis]
    out *= scale.reshape(lse.shape[1:]) if scale.ndim else scale
    return narrowed(out, x.dtype)


def _native(x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int) -> bool:
    """Whether compiled kernels can do it."""
    return (
        (axis == x.ndim - 1 or x.strides[axis] >= _NARROW * x.itemsize)
        and index.dtype == np.int64
        and index.flags.c_contiguous
        and (share.ndim == 0 or share.shape == index.shape)
        and real_of(x, share) is not None
    )


@cache
def _loops() -> Any:
    """The module of kernels, which is loaded on first use."""
    from wengert.kernels.classification import native

    return native


def _run(
    name: str, axis: int, x: np.ndarray, index: np.ndarray, share: np.ndarray, smoothing: float,
    *rest: np.ndarray,
) -> None:  # fmt: skip
    native, n, inner = _loops(), x.shape[axis], prod(x.shape[axis + 1 :])
    step, count = min(share.ndim, 1), x.size // (n * inner)
    real = "f32" if x.itemsize == 4 else "f64"
    if inner == 1:
        call = getattr(getattr(native, name), real)
        call(x, index, share, step, smoothing, *rest, n, count, rows_of(n))
        return
    blocks, lanes = -(-inner // native.LANES), min(inner, native.LANES)
    call = getattr(getattr(native, f"{name}_columns"), real)
    args = (x, index, share, step, smoothing, *rest, n, inner, blocks)
    call(*args, count * blocks, rows_of(n * lanes))
