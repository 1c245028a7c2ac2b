"""Products of matrices: which NumPy's BLAS computes, and with how many threads.

OpenBLAS's workers busy-wait for one another, and go on waiting for milliseconds after a product.
That costs more than it gains, and many times as much if kernels or another process need a core. If
there are kernels, large products are computed on our threads, and others on the calling one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.forks import hold_forks
from wengert.kernels import derived, jit


def set_threads(count: int) -> None:
    """Set the number of threads for products and kernels."""
    jit.set_threads(count)
    functions = kernels.products.openblas.holds()
    if functions is not None:
        functions.threads(count)


def one_thread() -> AbstractContextManager[Any]:
    """A context in which products run only on the calling thread."""
    functions = kernels.products.openblas.holds()
    return nullcontext() if functions is None else functions.one_thread


# OpenBLAS itself uses one thread for matrix products up to the first number of multiplications
# (64**3), and for products with a vector up to the second; from the third on a product deserves
# two: about half a millisecond of one core.
_ALONE = 1 << 18
_ALONE_WITH_VECTOR = 1 << 12
# Elements from which an inner product is worth a kernel.
_ALONE_IN_VECTORS = 1 << 18
_WORTH_THREADS = 1 << 24


def threads_for(multiplications: int) -> AbstractContextManager[Any]:
    """A context that uses one thread for products of that size, unless they deserve more.

    While the BLAS may use its workers, forks wait.
    """
    if multiplications <= _ALONE_WITH_VECTOR:
        return nullcontext()
    return hold_forks() if multiplications >= _WORTH_THREADS else one_thread()


def dot(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """The product of two matrices, plus `bias`, which broadcasts to it."""
    work = a.size * b.shape[-1]
    vector = min(len(a), b.shape[-1]) == 1
    if work <= _ALONE_WITH_VECTOR or (work <= _ALONE and not vector):
        out = a.dot(b)
    else:
        out = _with_vector(a, b) if vector else kernels.products.gemm.gemm(a, b, bias)
        if out is None:
            with _no_workers():
                out = a.dot(b)
        elif not vector:
            return out
    if bias is not None:
        out += bias
    return out


def dot_by(a: np.ndarray, b: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """As `dot`, where `b` shows all elements of a weight, of which values may be kept."""
    if len(a) > 1 and a.size * b.shape[-1] > _ALONE and derived.keeps_for(weight):
        out = kernels.products.gemm.gemm_by(a, b, weight, bias)
        if out is not None:
            return out
    return dot(a, b, bias)


def _with_vector(a: np.ndarray, b: np.ndarray) -> Any:
    """The product of two matrices of which one is a row or a column; None if NumPy is for it."""
    if a.shape[-1] != len(b):
        return None
    times_vector = kernels.products.vector.times_vector
    out = times_vector(a, b[:, 0]) if b.shape[-1] == 1 else times_vector(b.T, a[0])
    return None if out is None else out.reshape(len(a), b.shape[-1])


def matmul(a: np.ndarray, b: np.ndarray) -> Any:
    """The products of batches of matrices, whose leading axes broadcast."""
    if large(a, b):
        out = kernels.products.gemm.gemm(a, b)
        if out is not None:
            return out
    elif a.size <= _ALONE_WITH_VECTOR >= b.size or min(a.shape[-2], b.shape[-1]) > 1:
        return np.matmul(a, b)
    with _no_workers():
        return np.matmul(a, b)


def _no_workers() -> AbstractContextManager[Any]:
    """A context for products on the calling thread, unless there is no pool to disturb.

    While the BLAS may use its workers, forks wait.
    """
    functions = kernels.products.openblas.holds() if jit.available() else None
    return hold_forks() if functions is None else functions.one_thread


def inner(a: np.ndarray, b: np.ndarray) -> Any:
    """The inner product of two vectors; the first is conjugated."""
    if a.size > _ALONE_IN_VECTORS:
        out = kernels.products.vector.inner_product(a, b)
        if out is not None:
            return out
    with _no_workers():
        return np.vdot(a, b)


def large(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a kernel pays off for products of batches of matrices."""
    return a.size * b.shape[-1] > _ALONE or b.size * a.shape[-2] > _ALONE
