"""Products of matrices by NumPy's BLAS, and its threads.

OpenBLAS's workers busy-wait for one another. For products of a few hundred microseconds that costs
more than it gains, and many times as much if another process needs a core. If there are kernels,
large products are split and the pieces computed on our threads.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.forks import hold_forks
from wengert.kernels import jit

# Multiplications that make a thread worthwhile: some 45 microseconds.
PIECE = 1 << 21
WORTH_PIECES = 2 * PIECE


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
    # Adding a bias before or after rounds differently: it must not depend on the number of threads.
    alone = bias is None and work < WORTH_PIECES and jit.get_threads() == 1
    if work <= _ALONE_WITH_VECTOR or (work <= _ALONE and min(len(a), b.shape[-1]) > 1):
        out = a.dot(b)
    elif work <= _ALONE or alone:
        with hold_forks():
            out = a.dot(b)
    else:
        made = kernels.products.gemm.gemm(a, b, bias)
        if made is not None:
            return made
        with threads_for(work):
            out = a.dot(b)
    if bias is not None:
        out += bias
    return out


def matmul(a: np.ndarray, b: np.ndarray) -> Any:
    """The products of batches of matrices, whose leading axes broadcast."""
    if large(a, b):
        out = kernels.products.gemm.gemm(a, b)
        if out is not None:
            return out
    elif a.size <= _ALONE_WITH_VECTOR >= b.size or min(a.shape[-2], b.shape[-1]) > 1:
        return np.matmul(a, b)
    with hold_forks():
        return np.matmul(a, b)


def inner(a: np.ndarray, b: np.ndarray) -> Any:
    """The inner product of two vectors; the first is conjugated."""
    with hold_forks():
        return np.vdot(a, b)


def large(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether a kernel pays off for products of batches of matrices."""
    return a.size * b.shape[-1] > _ALONE or b.size * a.shape[-2] > _ALONE
