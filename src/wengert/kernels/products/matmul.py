"""Matrix products: plain, and with one side transposed, folded into as few BLAS calls as can be.

Arrays have two or more axes, and leading axes broadcast. Each function takes the shape of
its result: where that has been broadcast, the product is summed down to it. Half precision
is computed in float32 and rounded once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.kernels.precision import BRAIN, HALF, narrowed, widened
from wengert.kernels.products.blas import dot, large, matmul
from wengert.kernels.shapes import unbroadcast

Shape = tuple[int, ...]


def product(a: np.ndarray, b: np.ndarray) -> Any:
    """a @ b over the last two axes."""
    if a.dtype in HALF:
        out = _of_pairs(a, b)
        return narrowed(product(widened(a), widened(b)) if out is None else out, a.dtype)
    if b.ndim == 2:
        if a.ndim == 2:
            return dot(a, b)
        if a.size and a.flags.c_contiguous:  # one product for the whole batch
            return dot(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1])
    return matmul(a, b)


def wide_product(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """a @ b for matrices, plus `bias`, which broadcasts to it; of halves in float32, unrounded."""
    row = None if bias is None else widened(bias)
    out = _of_pairs(a, b, row)
    return dot(widened(a), widened(b), row) if out is None else out


def _of_pairs(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray | None:
    """A large product of bfloat16 in float32, if there is a kernel for it."""
    if not a.dtype == b.dtype == BRAIN or not large(a, b):
        return None
    return kernels.products.gemm.gemm_of_pairs(a, b, bias)


def add_product(total: np.ndarray, a: np.ndarray, b: np.ndarray) -> bool:
    """total += a @ b for matrices, in one pass; False, and nothing, if no kernel applies."""
    if not (a.dtype == b.dtype == total.dtype and a.dtype.char in "fd" and large(a, b)):
        return False
    return kernels.products.gemm.gemm(a, b, None, total) is not None


def times(a: np.ndarray, b: np.ndarray, shape: Shape) -> Any:
    """a @ b, summed to `shape`."""
    out = product(a, b)
    return out if out.shape == shape else unbroadcast(out, shape)


def times_transposed(a: np.ndarray, b: np.ndarray, shape: Shape) -> Any:
    """a @ b.T, summed to `shape`."""
    return times(a, b.swapaxes(-1, -2), shape)


def transposed_times(a: np.ndarray, b: np.ndarray, shape: Shape) -> Any:
    """a.T @ b, summed to `shape`."""
    if a.ndim > 2 == len(shape) and a.shape[:-2] == b.shape[:-2] and a.size and b.size:
        # The sum over a batch is one more axis to contract.
        a, b = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
    return times(a.swapaxes(-1, -2), b, shape)


def plus_product(
    input: np.ndarray, a: np.ndarray, b: np.ndarray, beta: float, alpha: float
) -> np.ndarray:
    """beta * input + alpha * a @ b, where `input` broadcasts; beta 0 leaves it out."""
    if beta != 0 and large(a, b) and a.dtype.char in "fd":
        row = beta == 1 and input.ndim == 1
        out = None
        if not row:
            out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
            np.multiply(input, beta, out=out)
        done = kernels.products.gemm.gemm(a, b, input if row else None, out, alpha)
        if done is not None:
            return done
    return _scaled_sum(input, product(a, b), beta, alpha)


def _scaled_sum(input: np.ndarray, product: np.ndarray, beta: float, alpha: float) -> np.ndarray:
    if alpha != 1:
        _scale(product, alpha)
    if beta == 0:
        return product
    if beta != 1:
        input = _scale(np.array(input), beta)
    product += input
    return product


def _scale(array: np.ndarray, factor: float) -> np.ndarray:
    # Integers take the integer part of the factor, as PyTorch does.
    array *= array.dtype.type(int(factor) if array.dtype.kind in "iu" else factor)
    return array
