"""Window functions: weights that taper towards the ends of a frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Unpack

import numpy as np

from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.tensor.arguments import Options, allocate, dtype_of, finish, require_int

# A window of n weights, symmetric.
Shape = Callable[[int], np.ndarray]


def cosines(n: int, a: Sequence[float]) -> np.ndarray:
    """``a[0] - a[1] cos(t) + a[2] cos(2t) - ...`` for n angles t from 0 to 2 pi."""
    t = np.linspace(0.0, 2 * math.pi, n)
    return sum(((-1) ** k * c * np.cos(k * t) for k, c in enumerate(a)), np.zeros(n))


def triangle(n: int) -> np.ndarray:
    """From 0 to 1 in the middle, and back."""
    return 1.0 - np.abs(np.linspace(-1.0, 1.0, n))


def kaiser(n: int, beta: float) -> np.ndarray:
    """Kaiser's window, a modified Bessel function over a half circle."""
    t = np.linspace(-1.0, 1.0, n)
    return np.i0(beta * np.sqrt(np.maximum(1.0 - t * t, 0.0))) / np.i0(beta)


def sampled(shape: Shape, n: int, periodic: bool, to: np.dtype) -> np.ndarray:
    """n weights: of the symmetric window, or (periodic) of one longer by a weight."""
    if n < 2:
        return np.ones(n, to)
    return (shape(n + 1)[:-1] if periodic else shape(n)).astype(to)


def _window(name: str, length: int, periodic: bool, options: Options, shape: Shape) -> Tensor:
    n = require_int(name, "window_length", length)
    dtype = dtype_of(name, options)
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if dtype.category == dtypes.COMPLEX:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtype.short}'")
    if n < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={n}")
    array = allocate(lambda _, to: sampled(shape, n, periodic, to), (n,), dtype, options)
    return finish(name, array, options)


def bartlett_window(
    window_length: int, periodic: bool = True, **options: Unpack[Options]
) -> Tensor:
    """A triangle. `periodic` windows continue into the next period, others are symmetric.

    >>> import wengert
    >>> wengert.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window("bartlett_window", window_length, periodic, options, triangle)


def blackman_window(
    window_length: int, periodic: bool = True, **options: Unpack[Options]
) -> Tensor:
    """Blackman's window, a sum of three cosines.

    >>> import wengert
    >>> wengert.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    a = (0.42, 0.5, 0.08)
    return _window("blackman_window", window_length, periodic, options, lambda n: cosines(n, a))


def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Unpack[Options],
) -> Tensor:
    """``alpha - beta cos(t)``, which does not fall to zero.

    >>> import wengert
    >>> wengert.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    a = (alpha, beta)
    return _window("hamming_window", window_length, periodic, options, lambda n: cosines(n, a))


def hann_window(window_length: int, periodic: bool = True, **options: Unpack[Options]) -> Tensor:
    """``(1 - cos(t)) / 2``.

    >>> import wengert
    >>> wengert.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _window(
        "hann_window", window_length, periodic, options, lambda n: cosines(n, (0.5, 0.5))
    )


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, **options: Unpack[Options]
) -> Tensor:
    """Kaiser's window: the larger `beta`, the narrower.

    >>> import wengert
    >>> wengert.kaiser_window(4)
    tensor([5.2773e-05, 2.1567e-01, 1.0000e+00, 2.1567e-01])
    """
    return _window("kaiser_window", window_length, periodic, options, lambda n: kaiser(n, beta))


__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]
