"""Discrete Fourier transforms over arrays, by SciPy: in the precision of the input."""

from __future__ import annotations

import numpy as np

Axes = tuple[int, ...]


def complex_to_complex(x: np.ndarray, axes: Axes, norm: str, inverse: bool) -> np.ndarray:
    """The transform along `axes`, or its inverse; of a real array too."""
    from scipy import fft

    if len(axes) > 1:
        out = (fft.ifftn if inverse else fft.fftn)(x, axes=axes, norm=norm)
    else:  # a third of the time, for short arrays
        out = (fft.ifft if inverse else fft.fft)(x, axis=axes[0], norm=norm)
    if x.dtype.kind != "c" and not (inverse and len(axes) == 1):
        out += 0  # zeros among the imaginary parts are negative, and would be printed so
    return out


def real_to_half(x: np.ndarray, axes: Axes, norm: str) -> np.ndarray:
    """The transform of a real array; along the last axis only its first half and the middle."""
    from scipy import fft

    if len(axes) == 1:
        return fft.rfft(x, axis=axes[0], norm=norm)
    return fft.rfftn(x, axes=axes, norm=norm)


def half_to_real(x: np.ndarray, axes: Axes, n: int, norm: str) -> np.ndarray:
    """The inverse of `real_to_half`, with length `n` along the last axis."""
    from scipy import fft

    if len(axes) > 1:
        x = fft.ifftn(x, axes=axes[:-1], norm=norm)
    return fft.irfft(x, n, axis=axes[-1], norm=norm)


def mirrored_weights(n: int, middle: float, after: int, like: np.dtype) -> np.ndarray:
    """Factors for half a spectrum of length `n`: `middle` where an element has a mirror image.

    `after` is the number of dimensions behind; `like` the dtype, or the complex one, of what
    they multiply.
    """
    weights = np.full(n // 2 + 1, middle, np.finfo(like).dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return weights.reshape(-1, *(1,) * after)
