"""Large products of float matrices, in pieces for the threads of the kernels.

Transposed factors and strided rows are not copied. How a product is split depends only on its
shape, and so do its digits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import hold_forks
from wengert.kernels import jit
from wengert.kernels.products import openblas
from wengert.kernels.products.blas import PIECE, WORTH_PIECES

# Rows or columns of a piece: a multiple of the BLAS's block. Each piece repacks all of one factor,
# so there are few.
_STEP, _MOST = 16, 64


class _Calls(NamedTuple):
    kernel: Callable[..., Any]
    address: int


_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


@cache
def _calls(dtype: np.dtype[Any]) -> _Calls | None:
    """The kernel for a dtype, and the function of the BLAS that it calls."""
    if dtype not in (_F32, _F64) or not jit.available():
        return None
    address = openblas.address("cblas_sgemm" if dtype == _F32 else "cblas_dgemm")
    if not address or openblas.holds() is None:
        return None
    from wengert.kernels.jit import compiler
    from wengert.kernels.jit.gemm import gemm_text, kinds

    real = "f32" if dtype == _F32 else "f64"
    return _Calls(compiler.load("gemm", kinds(real), lambda: gemm_text(real), real), address)


def gemm(
    a: np.ndarray,
    b: np.ndarray,
    bias: np.ndarray | None = None,
    out: np.ndarray | None = None,
    alpha: float = 1,
) -> np.ndarray | None:
    """alpha * a @ b over the last two axes, plus `bias`, a row; or added to `out`.

    None if it does not apply: other dtypes or layouts, a vector, shapes that do not fit.
    """
    dtype = a.dtype
    calls = _calls(dtype)
    if calls is None or (b.dtype is not dtype and b.dtype != dtype) or _mirrored(a, b):
        return None
    left, right = _layout(a), _layout(b)
    if left is None or right is None:
        return None
    m, k, turned_a, apart_a = left
    inner, n, turned_b, apart_b = right
    if bias is not None and not (bias.shape == (n,) and bias.dtype == dtype and _plain(bias)):
        return None
    batch = _ONE if a.ndim == b.ndim == 2 else _batch(a, b)
    if batch is None:
        return None
    size = batch.size
    if k != inner or m < 2 or n < 2 or not k or not size:
        return None
    shape = (*batch.shape, m, n)
    if out is None:
        into = np.empty(shape, dtype)
    elif out.shape == shape and out.dtype == dtype and _plain(out):
        into = out
    else:
        return None
    down, part, pieces = _pieces(m, n, k, size)
    work = m * n * k
    with hold_forks():
        calls.kernel(
            a, b, bias, into, calls.address, turned_a, turned_b, m, n, k,
            apart_a, apart_b, n, alpha, out is not None, down, part, pieces,
            batch.inner, *batch.strides, size * pieces, PIECE * pieces // work or 1,
        )  # fmt: skip
    return into


def _pieces(m: int, n: int, k: int, size: int) -> tuple[bool, int, int]:
    """How a product is cut: whether along its rows, the length of a piece, and how many."""
    down = m >= n
    part = across = m if down else n
    pieces, work = 1, m * n * k
    if work >= WORTH_PIECES:
        most = min(max(min(4, across // 128), across // 256), _MOST // size)
        part = _STEP * ceil(across / max(1, min(work // PIECE, most)) / _STEP)
        pieces = ceil(across / part)
    return down, part, pieces


def planned(
    m: int, k: int, n: int, turned_a: bool, turned_b: bool, dtype: np.dtype[Any]
) -> Callable[..., np.ndarray] | None:
    """`product(a, b, bias=None)`: `gemm` for dense matrices of one size, of which all is known.

    Factors that are turned are passed as they lie in memory. None if `gemm` does not apply.
    """
    calls = _calls(dtype)
    if calls is None or m < 2 or n < 2 or not k:
        return None
    kernel, address = calls
    down, part, pieces = _pieces(m, n, k, 1)
    apart_a, apart_b = m if turned_a else k, k if turned_b else n
    chunk = PIECE * pieces // (m * n * k) or 1

    def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        into = np.empty((m, n), dtype)
        with hold_forks():
            kernel(
                a, b, bias, into, address, turned_a, turned_b, m, n, k, apart_a, apart_b, n, 1,
                False, down, part, pieces, 1, 0, 0, 0, 0, pieces, chunk,
            )  # fmt: skip
        return into

    return product


def _plain(array: np.ndarray) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _mirrored(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the factors are a matrix and its transpose: NumPy computes only half the product."""
    base = a.base
    if b.base is not a and base is not b and (base is None or base is not b.base):
        return False
    return a.ndim == 2 and a.shape == b.shape[::-1] and a.strides == b.strides[::-1]


def _layout(x: np.ndarray) -> tuple[int, int, int, int] | None:
    """Rows, columns, whether it is transposed, and its leading dimension.

    None if the BLAS cannot read the factor.
    """
    each = x.itemsize
    if x.ndim == 2:
        (rows, columns), (down, across) = x.shape, x.strides
    elif x.ndim > 2:
        (rows, columns), (down, across) = x.shape[-2:], x.strides[-2:]
    else:
        return None
    if not x.flags.aligned:
        return None
    if across == each and down >= columns * each and not down % each:
        return rows, columns, 0, down // each
    if down == each and across >= rows * each and not across % each:
        return rows, columns, 1, across // each
    return None


class _Batch(NamedTuple):
    """The leading axes of a product, as at most two: the inner size, and the strides."""

    shape: tuple[int, ...]
    size: int
    inner: int
    strides: tuple[int, int, int, int]


_ONE = _Batch((), 1, 1, (0, 0, 0, 0))


def _batch(a: np.ndarray, b: np.ndarray) -> _Batch | None:
    """The combined leading axes of two factors; None if there are more than two."""
    try:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return None
    strides = [np.broadcast_to(x, (*shape, *x.shape[-2:])).strides[:-2] for x in (a, b)]
    axes: list[list[int]] = []  # size, stride of a, stride of b; the innermost first
    for size, sa, sb in zip(shape[::-1], strides[0][::-1], strides[1][::-1], strict=True):
        if size == 1:
            continue
        if axes and axes[-1][0] * axes[-1][1] == sa and axes[-1][0] * axes[-1][2] == sb:
            axes[-1][0] *= size
        else:
            axes.append([size, sa, sb])
    if len(axes) > 2 or any(s % a.itemsize for axis in axes for s in axis[1:]):
        return None
    (inner, a1, b1), (_, a0, b0) = [*axes, [1, 0, 0], [1, 0, 0]][:2]
    each = a.itemsize
    return _Batch(shape, prod(shape), inner, (a0 // each, a1 // each, b0 // each, b1 // each))
