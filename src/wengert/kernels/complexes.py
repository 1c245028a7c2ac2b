"""Complex numbers of their parts, as a kernel: NumPy writes each part in a pass of its own."""

from __future__ import annotations

import numpy as np

from wengert.kernels.chunks import SOME, real_of
from wengert.kernels.jit import CHUNK, kernel
from wengert.kernels.jit.builtins import i64, reals


@kernel
def _join(real_part: reals, imaginary: reals, out: reals, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[2 * i] = real_part[i]
        out[2 * i + 1] = imaginary[i]


def joined(real: np.ndarray, imag: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Complex numbers of that dtype, whose parts broadcast."""
    if real.shape == imag.shape:
        out = np.empty(real.shape, dtype)
        run = real_of(real, imag) if real.size >= SOME else None
        if run is not None:
            getattr(_join, run)(real, imag, out.view(real.dtype), real.size, CHUNK // 2)
            return out
    else:
        out = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
    out.real, out.imag = real, imag
    return out
