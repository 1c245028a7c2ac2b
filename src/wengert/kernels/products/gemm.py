"""Large products of float matrices, on the threads of the kernels.

Those of float32 are our own (`packed`); those of float64 and of complex numbers are the BLAS's, in
pieces. Transposed factors and strided rows are not copied. Digits do not depend on the number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from wengert.core.forks import hold_forks
from wengert.kernels import jit
from wengert.kernels.layout import in_c_order
from wengert.kernels.products import amx, openblas, packed, pairs, ready

# Rows or columns of a piece: a multiple of the BLAS's block. Each piece repacks all of one factor,
# so there are few.
_STEP, _MOST = 16, 64
# Rows of a product that do not take much longer than packing the right factor.
_FEW = 128
# Multiplications that make a thread worthwhile: some 45 microseconds.
_PIECE = 1 << 21


class _Calls(NamedTuple):
    kernel: Callable[..., Any]
    address: int


Shape = tuple[int, ...]

_F32 = np.dtype(np.float32)


_FUNCTIONS = {
    "float32": "cblas_sgemm", "float64": "cblas_dgemm",
    "complex64": "cblas_cgemm", "complex128": "cblas_zgemm",
}  # fmt: skip


@cache
def _calls(dtype: np.dtype[Any]) -> _Calls | None:
    """The kernel for a dtype, and the function of the BLAS that it calls."""
    if dtype.name not in _FUNCTIONS or not dtype.isnative or not jit.available():
        return None
    address = openblas.address(_FUNCTIONS[dtype.name])
    if not address or openblas.holds() is None:
        return None
    from wengert.kernels.jit import compiler
    from wengert.kernels.jit.gemm import gemm_text, kinds

    name = dtype.name
    return _Calls(compiler.load("gemm", kinds(name), lambda: gemm_text(name), name), address)


# Plans that are remembered.
_PLANS = 4096


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
    if alpha == 1 and a.dtype == b.dtype == _F32:
        return _packed(_in_lines(a), _in_lines(b), bias, out)
    return _in_pieces(a, b, bias, out, alpha)


def _in_lines(matrices: np.ndarray) -> np.ndarray:
    """Matrices, or a copy of them, whose rows or columns are without gaps.

    Packing elements that are apart takes longer than such a copy.
    """
    strides = matrices.strides
    if _F32.itemsize in strides[-2:] or 0 in strides or not matrices.size or len(strides) < 2:
        return matrices
    if strides[-2] < strides[-1]:
        return in_c_order(matrices.swapaxes(-1, -2)).swapaxes(-1, -2)
    return in_c_order(matrices)


def gemm_of_pairs(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray | None:
    """a @ b for bfloat16, plus `bias`, a row of float32, in float32: not rounded to bfloat16.

    None if it does not apply, as for `gemm`.
    """
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2] or not jit.available():
        return None
    if min(a.shape[-2], b.shape[-1]) < 2 or not min(a.size, b.size):
        return None
    if amx.has_amx():
        return product_on_tiles(a, b, bias)
    left = pairs.paired(a.swapaxes(-1, -2)).swapaxes(-1, -2)
    return _packed(left, pairs.paired(b), bias, None, pairs.kernel_for_pairs())


def product_on_tiles(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray | None:
    """As `gemm_of_pairs`, for processors of which `amx.has_amx` is true."""
    left = pairs.paired(a.swapaxes(-1, -2), amx.TERMS).swapaxes(-1, -2)
    return _packed(left, pairs.paired(b, amx.TERMS), bias, None, amx.KERNEL, amx.PANELS)


def multiplied(a: np.ndarray, b: np.ndarray, run: jit.Kernel) -> np.ndarray | None:
    """a @ b by a kernel that takes a float32 for several terms; None if it does not apply."""
    return _packed(a, b, None, None, run)


def gemm_by(
    a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray | None:
    """As `gemm` for few rows, where `b` shows all elements of a weight of which values are kept.

    None if it does not apply: also for more rows, beside which packing `b` is a small part.
    """
    if not (1 < len(a) <= _FEW and a.dtype == b.dtype == _F32 and a.shape[1] == len(b) > 0):
        return None
    steps = (*a.strides, *b.strides)
    if b.shape[1] < 2 or any(step % _F32.itemsize for step in steps) or not jit.available():
        return None
    if not (a.flags.aligned and b.flags.aligned):
        return None
    if bias is not None and not _has(bias, b.shape[1:], _F32):
        return None
    return ready.times_kept(a, b, weight, bias)


def _packed(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None, out: np.ndarray | None,
    run: jit.Kernel = packed.product_kernel, panels: packed.Panels | None = None,
) -> np.ndarray | None:  # fmt: skip
    """As `gemm`, for float32 and `alpha` 1."""
    found = _plan(a.shape, a.strides, b.shape, b.strides, jit.get_threads(), panels)
    if found is None or not (a.flags.aligned and b.flags.aligned):
        return None
    shape, plan = found
    if bias is not None and not _has(bias, shape[-1:], _F32):
        return None
    into = np.empty(shape, _F32) if out is None else out
    if not _has(into, shape, _F32):
        return None
    packed.multiply(a, b, into, bias, out is not None, plan, run)
    return into


@lru_cache(_PLANS)
def _plan(
    a: Shape, a_steps: Shape, b: Shape, b_steps: Shape, threads: int,
    panels: packed.Panels | None = None,
) -> tuple[Shape, packed.Plan] | None:  # fmt: skip
    """The shape of a product of factors with such shapes and strides, and how to compute it."""
    if len(a) < 2 or len(b) < 2 or not jit.available():
        return None
    (m, k), (inner, n) = a[-2:], b[-2:]
    batch = _ONE if len(a) == len(b) == 2 else batch_of(a, a_steps, b, b_steps, _F32.itemsize)
    if batch is None or k != inner or min(m, n) < 2 or not k or not batch.size:
        return None
    steps = (*a_steps[-2:], *b_steps[-2:])
    if any(step % _F32.itemsize for step in steps):
        return None
    a_row, a_column, b_row, b_column = (step // _F32.itemsize for step in steps)
    a0, a1, b0, b1 = batch.strides
    factors = packed.Factors(
        m, n, k, a_row, a_column, b_row, b_column, batch.size, batch.inner, a0, a1, b0, b1
    )
    return (*batch.shape, m, n), packed.plan(factors, threads, panels)


def _in_pieces(
    a: np.ndarray,
    b: np.ndarray,
    bias: np.ndarray | None,
    out: np.ndarray | None,
    alpha: float,
) -> np.ndarray | None:
    """As `gemm`, by the BLAS."""
    dtype = a.dtype
    calls = _calls(dtype)
    if calls is None or (b.dtype is not dtype and b.dtype != dtype):
        return None
    left, right = _layout(a), _layout(b)
    if left is None or right is None:
        return None
    m, k, turned_a, apart_a = left
    inner, n, turned_b, apart_b = right
    if bias is not None and not _has(bias, (n,), dtype):
        return None
    batch = (
        _ONE
        if a.ndim == b.ndim == 2
        else batch_of(a.shape, a.strides, b.shape, b.strides, a.itemsize)
    )
    if batch is None:
        return None
    size = batch.size
    if k != inner or m < 2 or n < 2 or not k or not size:
        return None
    shape = (*batch.shape, m, n)
    into = np.empty(shape, dtype) if out is None else out
    if not _has(into, shape, dtype):
        return None
    down = m >= n
    part = across = m if down else n
    pieces, work = 1, m * n * k
    if work >= 2 * _PIECE:
        most = min(max(min(4, across // 128), across // 256), _MOST // size)
        part = _STEP * ceil(across / max(1, min(work // _PIECE, most)) / _STEP)
        pieces = ceil(across / part)
    with hold_forks():
        calls.kernel(
            a, b, bias, into, calls.address, turned_a, turned_b, m, n, k,
            apart_a, apart_b, n, alpha, out is not None, down, part, pieces,
            batch.inner, *batch.strides, size * pieces, _PIECE * pieces // work or 1,
        )  # fmt: skip
    return into


def planned(
    m: int, k: int, n: int, turned_a: bool, turned_b: bool, dtype: np.dtype[Any]
) -> Callable[..., np.ndarray] | None:
    """`product(a, b, bias=None)`: `gemm` for dense matrices of one size, of which all is known.

    Factors that are turned are passed as they lie in memory. None if `gemm` does not apply, or
    leaves such products to the BLAS.
    """
    if dtype != _F32 or m < 2 or n < 2 or not k or not jit.available():
        return None
    a_steps, b_steps = (1, m) if turned_a else (k, 1), (1, k) if turned_b else (n, 1)
    plan = cache(partial(packed.plan, packed.Factors(m, n, k, *a_steps, *b_steps)))

    def product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
        into = np.empty((m, n), _F32)
        packed.multiply(a, b, into, bias, False, plan(jit.get_threads()))
        return into

    return product


def _has(array: np.ndarray, shape: Shape, dtype: np.dtype[Any]) -> bool:
    """Whether an array is dense, and of this shape and dtype."""
    flags = array.flags
    return array.shape == shape and array.dtype == dtype and flags.c_contiguous and flags.aligned


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


class Batch(NamedTuple):
    """The leading axes of a product, as at most two: the inner size, and the strides."""

    shape: tuple[int, ...]
    size: int
    inner: int
    strides: tuple[int, ...]


_ONE = Batch((), 1, 1, (0, 0, 0, 0))


def batch_of(a: Shape, a_steps: Shape, b: Shape, b_steps: Shape, itemsize: int) -> Batch | None:
    """The combined leading axes of two factors; None if there are more than two."""
    try:
        shape = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        return None
    strides = [_spread(sizes[:-2], steps, shape) for sizes, steps in ((a, a_steps), (b, b_steps))]
    axes: list[list[int]] = []  # size, stride of a, stride of b; the innermost first
    for size, sa, sb in zip(shape[::-1], strides[0][::-1], strides[1][::-1], strict=True):
        if size == 1:
            continue
        if axes and axes[-1][0] * axes[-1][1] == sa and axes[-1][0] * axes[-1][2] == sb:
            axes[-1][0] *= size
        else:
            axes.append([size, sa, sb])
    if len(axes) > 2 or any(s % itemsize for axis in axes for s in axis[1:]):
        return None
    (inner, a1, b1), (_, a0, b0) = [*axes, [1, 0, 0], [1, 0, 0]][:2]
    steps = tuple(s // itemsize for s in (a0, a1, b0, b1))
    return Batch(shape, prod(shape), inner, steps)


def _spread(sizes: Shape, steps: Shape, shape: Shape) -> list[int]:
    """The strides of leading axes that are broadcast to a shape."""
    repeated = [0 if n == 1 else step for n, step in zip(sizes, steps, strict=False)]
    return [0] * (len(shape) - len(sizes)) + repeated
