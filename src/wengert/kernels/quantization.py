"""Eight-bit integers in the place of floating-point numbers, in arrays of float32.

Sums of products of such integers are exact in float32 below 2**24, so that BLAS does the work of
an integer product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_HIGHEST = 127  # of activations: seven bits, as PyTorch takes on processors of this kind
_TERMS = (1 << 24) // (_HIGHEST * 128)  # products that add up exactly
_LEAST_SCALE = 6.1e-5


class Scaled(NamedTuple):
    """Integers, as floating-point numbers, less their zero point; times `scale` they are values."""

    integers: np.ndarray
    scale: float


def quantized_weight(weight: np.ndarray, by_row: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """A matrix in int8 around zero, and its scale, or those of its rows."""
    bound = np.abs(weight).max(-1 if by_row else None, initial=0, keepdims=True)
    scale = np.maximum(bound / np.float32(127.5), np.finfo(np.float32).eps)
    integers = np.clip(np.rint(weight * (1 / scale)), -128, 127).astype(np.int8)
    return integers, scale.reshape(-1)


def quantized_activations(x: np.ndarray) -> Scaled:
    """Values in integers from 0 to 127, between their least and their greatest."""
    least, most = float(x.min(initial=0)), float(x.max(initial=0))
    scale = (most - least) / _HIGHEST
    if not scale:
        scale = 0.1
    elif scale < _LEAST_SCALE:
        least, most = least * _LEAST_SCALE / scale, most * _LEAST_SCALE / scale
        scale = _LEAST_SCALE
    below, above = -least / scale, most / scale
    exact = below if below < _HIGHEST + above else _HIGHEST - above
    zero = np.float32(np.rint(min(max(exact, 0), _HIGHEST)))
    integers = np.clip(np.rint(x * np.float32(1 / scale)) + zero, 0, _HIGHEST)
    integers -= zero
    return Scaled(integers, scale)


def integer_product(rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows of integers in float32 times the rows of an int8 matrix: exact sums, in float64."""
    out = np.zeros((len(rows), len(weight)))
    for start in range(0, rows.shape[1], _TERMS):
        stop = start + _TERMS
        out += rows[:, start:stop] @ weight[:, start:stop].T.astype(np.float32)
    return out
