"""Cross entropy against class indices, along one axis."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

import numpy as np

from wengert.kernels.chunks import FEW, is_plain, pays_off, real_of, rows_of
from wengert.kernels.layout import contiguous, is_channels_last
from wengert.kernels.precision import narrowed, widened
from wengert.kernels.scatter.native import within

_INT64 = np.dtype(np.int64)
# Elements behind an axis, if it is not the last, from which kernels have vectors to work with.
_NARROW = 8
# Picked elements up to which one thread sums them.
_SUMMED = 1 << 14
# Below this a sum is in the range of float32.
_LARGE = 1e38


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


def picked(x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int, reduced: bool) -> Any:
    """The element of each class index, weighed: in the shape of the index, or their sum."""
    real = real_of(x, share) if x.size and _reads(index, share, x.shape[axis]) else None
    if real is None:
        loss = weighed(_pick(x, index, axis), share)
        return narrowed(np.add.reduce(loss, axis=None) if reduced else loss, x.dtype)
    whole = reduced and index.size <= _SUMMED
    out = np.empty(() if whole else index.shape, x.dtype)
    call = getattr(_loops().picked_sum if whole else _loops().picked, real)
    n, inner = x.shape[axis], prod(x.shape[axis + 1 :])
    if whole:
        call(x, index, share, min(share.ndim, 1), out, n, inner, index.size, index.size)
        return out
    call(x, index, share, min(share.ndim, 1), out, n, inner, index.size, rows_of(8))
    return np.add.reduce(out, axis=None) if reduced else out


def _pick(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(x[_key(index, axis)])


def weighed(losses: np.ndarray, share: np.ndarray) -> Any:
    """Losses or cotangents times shares: what counts for nothing is 0, even of an infinity."""
    out = losses * share
    return np.where(share == 0, out.dtype.type(0), out) if share.ndim else out


def put(values: np.ndarray, index: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Zeros of that shape, with the value of each class index, or one for all, in its place."""
    out = np.zeros(shape, values.dtype)
    real = real_of(out, values) if out.size and _reads(index, values, shape[axis]) else None
    if real is None:
        out[_key(index, axis)] = values
    else:
        n, inner = shape[axis], prod(shape[axis + 1 :])
        call = getattr(_loops().put, real)
        call(values, index, min(values.ndim, 1), out, n, inner, index.size, rows_of(8))
    return out


def _reads(index: np.ndarray, share: np.ndarray, classes: int) -> bool:
    """Whether kernels can read class indices, which are in bounds, and what there is of each."""
    return (
        isinstance(index, np.ndarray)
        and isinstance(share, np.ndarray)  # and no scalar
        and index.dtype == _INT64
        and is_plain(index)
        and (share.ndim == 0 or share.shape == index.shape)
        and within(index, classes)
    )


def cross_entropy(
    x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int, reduced: bool,
    smoothing: float = 0.0,
) -> tuple[Any, np.ndarray]:  # fmt: skip
    """-log(softmax(x)) at the index, weighed, and the logs of the softmax's denominators.

    Of the weight of each index all classes have an equal part in `smoothing`.
    """
    if _are_rows(x, axis):
        found, lse = cross_entropy(_rows(x), _flat(index), _flat(share), 1, reduced, smoothing)
        return found if reduced else found.reshape(index.shape), lse.reshape(2, *_beside(index))
    x = contiguous(x)
    wide = widened(x)
    if pays_off(x.size, FEW) and _native(wide, index, share, axis):
        lse = np.empty((2, *x.shape[:axis], 1, *x.shape[axis + 1 :]), wide.dtype)
        loss = np.empty(index.shape, wide.dtype)
        _run("cross_entropy", axis, wide, index, share, smoothing, loss, lse[0], lse[1])
    else:
        _refuse_others(index, x.shape[axis])
        lse = _log_denominators(wide, axis)
        most, rest = lse.reshape(2, *index.shape)
        part = _pick(wide, index, axis) - most
        if smoothing:
            mean = np.add.reduce(wide - lse[0], axis=axis) / x.shape[axis]
            part = (1 - smoothing) * part + smoothing * mean
        loss = weighed(rest - part, share)
    whole = _sum(loss)
    if whole != whole:
        _refuse_others(index, x.shape[axis])
    return narrowed(whole if reduced else loss, x.dtype), lse


def _are_rows(x: np.ndarray, axis: int) -> bool:
    """Whether the classes of each place of an image lie beside one another."""
    return x.ndim == 4 and axis == 1 and x.size >= FEW and is_channels_last(x)


def _rows(x: np.ndarray) -> np.ndarray:
    """A row of classes for each place."""
    return contiguous(x.transpose(0, 2, 3, 1)).reshape(-1, x.shape[1])


def _flat(x: np.ndarray) -> np.ndarray:
    """One for each place, or one for all."""
    return x.reshape(-1) if x.ndim else x


def _beside(index: np.ndarray) -> tuple[int, ...]:
    """The shape of one for each place, beside classes."""
    return (len(index), 1, *index.shape[1:])


def _sum(losses: np.ndarray) -> Any:
    """The sum of all, in float64 where they are not many."""
    if losses.size < FEW:
        whole = sum(losses.ravel().tolist())
        return np.array(whole, losses.dtype) if abs(whole) < _LARGE else np.add.reduce(losses, None)
    run = real_of(losses) if losses.size <= _SUMMED else None
    if run is None:
        return np.add.reduce(losses, axis=None)
    out = np.empty((), losses.dtype)
    getattr(_loops().total, run)(losses, out, losses.size, losses.size)
    return out


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
    if _are_rows(x, axis):
        g, lse = _flat(np.asarray(g)), lse.reshape(2, -1, 1)
        of_rows = cross_entropy_gradient(g, _rows(x), _flat(index), _flat(share), lse, 1, smoothing)
        n, c, *space = x.shape
        return of_rows.reshape(n, *space, c).transpose(0, 3, 1, 2)
    x = contiguous(x)
    wide = widened(x)
    scale = np.asarray(weighed(g, share), wide.dtype)
    if pays_off(x.size, FEW) and _native(wide, index, scale, axis):
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


def margins(
    x: np.ndarray, index: np.ndarray, share: np.ndarray, p: int, margin: float, reduced: bool
) -> Any:
    """By how much other scores in each row come within `margin` of that at the index.

    To the power of `p`, which is 1 or 2, and weighed.
    """
    wide = widened(x)
    if pays_off(x.size, FEW) and _native(wide, index, share, 1):
        loss = np.empty(index.shape, wide.dtype)
        _run_rows("margins", wide, index, share, int(p == 2), margin, loss)
    else:
        short = _short(wide, index, margin)
        loss = np.add.reduce(short if p == 1 else short * short, axis=1) * share
    return narrowed(np.add.reduce(loss, axis=None) if reduced else loss, x.dtype)


def margins_gradient(
    g: np.ndarray, x: np.ndarray, index: np.ndarray, share: np.ndarray, p: int, margin: float
) -> np.ndarray:
    """The adjoint of `margins`."""
    wide = widened(x)
    scale = np.asarray(g * share, wide.dtype)
    if pays_off(x.size, FEW) and _native(wide, index, scale, 1):
        out = np.empty_like(wide)
        _run_rows("margins_gradient", wide, index, scale, int(p == 2), margin, out)
        return narrowed(out, x.dtype)
    short = _short(wide, index, margin)
    slope = (short > 0).astype(wide.dtype) if p == 1 else 2 * short
    slope *= scale[:, None] if scale.ndim else scale
    slope[_key(index, 1)] = -np.add.reduce(slope, axis=1)
    return narrowed(slope, x.dtype)


def _short(x: np.ndarray, index: np.ndarray, margin: float) -> np.ndarray:
    """What other scores of a row are more than that at the index, less the margin."""
    key = _key(index, 1)
    least = x[key] - x.dtype.type(margin)
    short = np.maximum(x - least[:, None], 0)
    short[key] = 0
    return short


def _native(x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int) -> bool:
    """Whether compiled kernels can do it."""
    return (
        (axis == x.ndim - 1 or x.strides[axis] >= _NARROW * x.itemsize)
        and _reads(index, share, x.shape[axis])
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
    n, inner = x.shape[axis], prod(x.shape[axis + 1 :])
    if inner == 1:
        _run_rows(name, x, index, share, smoothing, *rest)
        return
    native, step, count = _loops(), min(share.ndim, 1), x.size // (n * inner)
    real = "f32" if x.itemsize == 4 else "f64"
    blocks, lanes = -(-inner // native.LANES), min(inner, native.LANES)
    call = getattr(getattr(native, f"{name}_columns"), real)
    args = (x, index, share, step, smoothing, *rest, n, inner, blocks)
    call(*args, count * blocks, rows_of(n * lanes))


def _run_rows(name: str, x: np.ndarray, index: np.ndarray, share: np.ndarray, *rest: Any) -> None:
    """Where the scores of each index are in a row."""
    width = x.size // index.size
    call = getattr(getattr(_loops(), name), "f32" if x.itemsize == 4 else "f64")
    call(x, index, share, min(share.ndim, 1), *rest, width, index.size, rows_of(width))
