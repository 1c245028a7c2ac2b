"""Gated linear units: one half of an array times the sigmoid of the other."""

from __future__ import annotations

from math import prod

import numpy as np

from wengert.kernels.chunks import FEW, pays_off, real_of, rows_of
from wengert.kernels.jit import kernel
from wengert.kernels.jit.builtins import at, i64, reals
from wengert.kernels.jit.mathlib import sigmoid
from wengert.kernels.precision import narrowed, widened


@kernel
def _gated(x: reals, out: reals, half: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        values = at(x, 2 * r * half)
        gates = at(values, half)
        target = at(out, r * half)
        for k in range(half):
            target[k] = values[k] * sigmoid(gates[k])


@kernel
def _gradient(g: reals, x: reals, out: reals, half: i64, start: i64, stop: i64) -> None:
    for r in range(start, stop):
        values = at(x, 2 * r * half)
        gates = at(values, half)
        slopes = at(g, r * half)
        first = at(out, 2 * r * half)
        second = at(first, half)
        for k in range(half):
            share = sigmoid(gates[k])
            slope = slopes[k] * share
            first[k] = slope
            second[k] = slope * values[k] * (1.0 - share)


def _sizes(shape: tuple[int, ...], axis: int) -> tuple[int, int, int]:
    """The elements of a half that lie together, how often they do, and how many are a chunk."""
    half = prod(shape[axis:]) // 2
    return half, prod(shape[:axis]), rows_of(8 * half)


def _halves(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.split(x, 2, axis)
    with np.errstate(over="ignore"):
        return first, 1 / (1 + np.exp(-second))


def gated(x: np.ndarray, axis: int) -> np.ndarray:
    """The first half along an axis times the sigmoid of the second."""
    wide = widened(x)
    shape = (*x.shape[:axis], x.shape[axis] // 2, *x.shape[axis + 1 :])
    real = real_of(wide) if pays_off(wide.size, FEW) else None
    if real is not None:
        out = np.empty(shape, wide.dtype)
        getattr(_gated, real)(wide, out, *_sizes(x.shape, axis))
    else:
        values, shares = _halves(wide, axis)
        out = values * shares
    return narrowed(out, x.dtype)


def gradient(g: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    """The cotangent of `x`, of that of `gated`."""
    slopes, wide = widened(g), widened(x)
    real = real_of(wide, slopes) if pays_off(wide.size, FEW) else None
    if real is not None:
        out = np.empty_like(wide)
        getattr(_gradient, real)(slopes, wide, out, *_sizes(x.shape, axis))
    else:
        values, shares = _halves(wide, axis)
        first = slopes * shares
        out = np.concatenate([first, first * values * (1 - shares)], axis)
    return narrowed(out, x.dtype)
