"""Cross entropy against class indices, along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.kernels.precision import narrowed, widened


def _key(index: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """What to index by: the class along the axis, and every place along the others."""
    ndim = index.ndim
    places = [np.arange(n).reshape(-1, *(1,) * (ndim - d - 1)) for d, n in enumerate(index.shape)]
    return (*places[:axis], index, *places[axis:])


def log_sum_exp(x: np.ndarray, axis: int) -> np.ndarray:
    """log(sum(exp(x))) along an axis, which is kept."""
    most = np.maximum.reduce(x, axis=axis, keepdims=True)
    shifted = x - most
    np.exp(shifted, out=shifted)
    return np.log(np.add.reduce(shifted, axis=axis, keepdims=True)) + most


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
    x: np.ndarray, index: np.ndarray, share: np.ndarray, axis: int, reduced: bool
) -> tuple[Any, np.ndarray]:
    """-log(softmax(x)) at the index, weighed, and the log of the softmax's denominator."""
    wide = widened(x)
    lse = log_sum_exp(wide, axis)
    loss = weighed(lse.reshape(index.shape) - pick(wide, index, axis), share)
    if reduced:
        loss = np.add.reduce(loss, axis=None)
    return narrowed(loss, x.dtype), lse


def cross_entropy_gradient(
    g: np.ndarray, x: np.ndarray, index: np.ndarray, share: np.ndarray, lse: np.ndarray, axis: int
) -> np.ndarray:
    """(softmax(x) - one-hot(index)), weighed."""
    wide = widened(x)
    scale = np.asarray(g * share, wide.dtype)
    out = wide - lse
    np.exp(out, out=out)
    out[_key(index, axis)] -= 1
    out *= scale.reshape(lse.shape) if scale.ndim else scale
    return narrowed(out, x.dtype)
