"""Shapes of factors of matrices and of spectra, which would take long to compute.

The results of a decomposition lie one behind the other, in the last dimension of one array.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.tensor import memory_of
from wengert.meta.dense import Described, Shape, rows


def _behind_each_other(matrices: Any, count: int, dtype: Any = None) -> Described:
    """So many elements for each matrix."""
    array = memory_of(matrices)
    return _plain((*array.shape[:-2], count), dtype or array.dtype)


def _plain(shape: Shape, dtype: np.dtype[Any]) -> Described:
    return shape, dtype, rows(shape, dtype)


def _sizes(matrices: Any) -> tuple[int, int, int]:
    """The rows, the columns and the rank, if it is full."""
    m, n = memory_of(matrices).shape[-2:]
    return m, n, min(m, n)


def _svd(matrices: Any, full: bool) -> Described:
    m, n, k = _sizes(matrices)
    return _behind_each_other(matrices, (m * m if full else m * k) + k + (n * n if full else k * n))


def _qr(matrices: Any, form: str) -> Described:
    m, n, k = _sizes(matrices)
    order = m if form == "complete" else k
    return _behind_each_other(matrices, (0 if form == "r" else m * order) + order * n)


def _lu(matrices: Any, called: str | None) -> Described:
    m, n, k = _sizes(matrices)
    return _behind_each_other(matrices, m * n + k + 1)


def _reflectors(input: Any) -> Described:
    m, n, k = _sizes(input)
    return _behind_each_other(input, m * n + k)


def _eigh(matrices: Any, uplo: str) -> Described:
    n = _sizes(matrices)[0]
    return _behind_each_other(matrices, n + n * n)


def _eig(matrices: Any, is_real: bool) -> Described:
    n = _sizes(matrices)[0]
    return _behind_each_other(matrices, n + n * n, _complex(matrices))


def _svdvals(matrices: Any) -> Described:
    return _behind_each_other(matrices, _sizes(matrices)[2], _real(matrices))


def _eigvalsh(matrices: Any, uplo: str) -> Described:
    return _behind_each_other(matrices, _sizes(matrices)[0], _real(matrices))


def _eigvals(matrices: Any, is_real: bool) -> Described:
    return _behind_each_other(matrices, _sizes(matrices)[0], _complex(matrices))


def _slogdet(matrices: Any) -> Described:
    return _behind_each_other(matrices, 2)


def _complex(x: Any) -> np.dtype[Any]:
    return np.result_type(memory_of(x).dtype, np.complex64)


def _real(x: Any) -> np.dtype[Any]:
    return np.empty(0, memory_of(x).dtype).real.dtype


def _spectrum(input: Any, dim: Shape, norm: str, inverse: bool) -> Described:
    return _plain(memory_of(input).shape, _complex(input))


def _half_spectrum(input: Any, dim: Shape, norm: str) -> Described:
    shape = [*memory_of(input).shape]
    shape[dim[-1]] = shape[dim[-1]] // 2 + 1
    return _plain(tuple(shape), _complex(input))


def _from_half(input: Any, dim: Shape, n: int, norm: str) -> Described:
    shape = [*memory_of(input).shape]
    shape[dim[-1]] = n
    return _plain(tuple(shape), _real(input))


# By name of the operation, as `shapes.RULES`.
RULES: dict[str, Callable[..., Described]] = {
    "_svd": _svd, "_qr": _qr, "_lu": _lu, "_reflectors": _reflectors, "_eigh": _eigh, "_eig": _eig,
    "_svdvals": _svdvals, "_eigvalsh": _eigvalsh, "_eigvals": _eigvals, "_slogdet": _slogdet,
    "_c2c": _spectrum, "_r2c": _spectrum, "real_to_half": _half_spectrum,
    "half_to_real": _from_half,
}  # fmt: skip
