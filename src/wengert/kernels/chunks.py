"""How compiled kernels of rows are called: for which types, and in what pieces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from wengert.kernels.jit import CHUNK, available, loaded
from wengert.kernels.layout import in_c_order
from wengert.kernels.precision import BRAIN, HALF

# Elements from which a kernel pays off where NumPy takes several passes. One call of a kernel costs
# what two passes cost whatever the size; the bound spares the smallest arrays its compilation.
FEW = 1 << 5
# The same where NumPy takes few passes.
SOME = 1 << 8

_C_CONTIGUOUS, _ALIGNED = 0x1, 0x100
_IN_PLACE = _C_CONTIGUOUS | _ALIGNED  # one look at all flags takes as long as that at one
_OWN: dict[np.dtype[Any], str] = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_HALF = np.dtype(np.float16)
_REALS = dict.fromkeys(HALF, "f32") | _OWN


def pays_off(size: int, least: int) -> bool:
    """Whether to call a kernel that gives NumPy's result bit for bit: from `least` elements on, or
    for any number once kernels are in use, when one more costs little."""
    return size >= least or (size > 0 and loaded())


def rows_of(width: int) -> int:
    """The number of rows per chunk, given their width and the arithmetic per element.

    Independent of the number of threads, so that results are, too.
    """
    return max(1, 2 * CHUNK // max(1, width))


def real_for(dtype: np.dtype[Any]) -> str | None:
    """The variant of kernels for a dtype, widened if it is a half type: "f32", "f64" or none."""
    return _REALS.get(dtype) if available() else None


@cache
def _stored() -> dict[np.dtype[Any], str]:
    from wengert.kernels.halves import has_halves  # which loads kernels

    half = {_HALF: "half"} if has_halves() else {}
    return _OWN | half | {BRAIN: "brain"}


def stored_for(dtype: np.dtype[Any]) -> str | None:
    """The variant of kernels whose `stored` arrays have a dtype: those of halves read them as they
    are, and compute in float32. None without kernels, or instructions for float16."""
    return _stored().get(dtype) if available() else None


def real_of(*arrays: np.ndarray) -> str | None:
    """The variant of kernels that can read these arrays in place: "f32", "f64" or none."""
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype != dtype or array.flags.num & _IN_PLACE != _IN_PLACE:
            return None
    return _OWN.get(dtype) if available() else None


def stored_of(*arrays: np.ndarray) -> str | None:
    """As `real_of`, of `stored_for`."""
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype != dtype or not is_plain(array):
            return None
    return stored_for(dtype)


def is_plain(array: np.ndarray) -> bool:
    """Whether kernels can read the array in place: it is C-contiguous and aligned."""
    return array.flags.num & _IN_PLACE == _IN_PLACE


def plain(x: np.ndarray) -> np.ndarray:
    """The array as kernels read it."""
    return x if x.flags.num & _IN_PLACE == _IN_PLACE else in_c_order(x)
