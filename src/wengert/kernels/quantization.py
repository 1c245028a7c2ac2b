"""Eight-bit integers in the place of floating-point numbers, in arrays of float32.

Where the processor has no instruction for it (`products.quads`), products are of float32: sums of
products of such integers are exact in it below 2**24.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wengert import kernels
from wengert.kernels.jit import CHUNK, available, exact_kernel
from wengert.kernels.jit.builtins import f32, f32s, i32, i64, maximum, minimum, rint, u8, u8s

_HIGHEST = 127  # of activations: seven bits, as PyTorch takes on processors of this kind
_TERMS = (1 << 24) // (_HIGHEST * 128)  # products that add up exactly
_LEAST_SCALE = 6.1e-5


class Grid(NamedTuple):
    """Values as integers from 0 to 127: `scale` times what they are above `zero`."""

    scale: float
    zero: float


def quantized_weight(weight: np.ndarray, by_row: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A matrix in int8 around zero, and its scale, or those of its rows."""
    bound = np.abs(weight).max(-1 if by_row else None, initial=0, keepdims=True)
    scale = np.maximum(bound / np.float32(127.5), np.finfo(np.float32).eps)
    integers = np.clip(np.rint(weight * (1 / scale)), -128, 127).astype(np.int8)
    return integers, scale.reshape(-1)


def grid_of(x: np.ndarray) -> Grid:
    """The integers for values between the least and the greatest of these."""
    least, most = float(x.min(initial=0)), float(x.max(initial=0))
    scale = (most - least) / _HIGHEST
    if not scale:
        scale = 0.1
    elif scale < _LEAST_SCALE:
        least, most = least * _LEAST_SCALE / scale, most * _LEAST_SCALE / scale
        scale = _LEAST_SCALE
    below, above = -least / scale, most / scale
    exact = below if below < _HIGHEST + above else _HIGHEST - above
    return Grid(scale, float(np.rint(min(max(exact, 0), _HIGHEST))))


def quantized(x: np.ndarray, grid: Grid, out: np.ndarray) -> None:
    """Write the integers of values into an array of uint8."""
    if available() and x.flags.c_contiguous and out.flags.c_contiguous:
        _quantized.f32(x, out, 1 / grid.scale, grid.zero, x.size, CHUNK)
    else:
        values = np.rint(x * np.float32(1 / grid.scale)) + np.float32(grid.zero)
        out[...] = np.clip(values, 0, _HIGHEST)


@exact_kernel
def _quantized(x: f32s, out: u8s, inverse: f32, zero: f32, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        value = rint(x[i] * inverse) + zero
        out[i] = u8(i32(maximum(minimum(value, 127.0), 0.0)))


def product(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Rows times the rows of an int8 matrix, in integers; and what a unit of the result is."""
    grid = grid_of(x)
    rows = np.ones((len(x) + 1, x.shape[1]), np.uint8)  # one more, for the sums of the weights
    quantized(x, grid, rows[:-1])
    out = kernels.products.quads.product(rows, weight)
    if out is None:
        return _in_floats(rows[:-1].astype(np.float32) - np.float32(grid.zero), weight), grid.scale
    return out[:-1] - np.float32(grid.zero) * out[-1], grid.scale


def _in_floats(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of integers in float32 times the rows of an int8 matrix: exact sums, in float64."""
    out = np.zeros((len(rows), len(weight)))
    for start in range(0, rows.shape[1], _TERMS):
        stop = start + _TERMS
        out += rows[:, start:stop] @ weight[:, start:stop].T.astype(np.float32)
    return out
