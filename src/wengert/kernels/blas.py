"""Products of matrices by NumPy's BLAS, and its threads.

OpenBLAS's workers wait in a loop for one another. For products of a few hundred microseconds
that costs more than it brings, and many times as much when another process wants a core.
Where there are kernels, large products are cut up and their pieces computed on our threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from wengert import kernels
from wengert.kernels import _jit

# Multiplications that are worth a thread: some 45 microseconds.
PIECE = 1 << 21
WORTH_PIECES = 2 * PIECE


def set_threads(count: int) -> None:
    """Let products and kernels use that many threads."""
    _jit.set_threads(count)
    functions = kernels.openblas.holds()
    if functions is not None:
        functions.threads(count)


@contextmanager
def one_thread() -> Iterator[None]:
    """Products inside run on the calling thread alone."""
    functions = kernels.openblas.holds()
    if functions is None:
        yield
        return
    functions.hold()
    try:
        yield
    finally:
        functions.let_go()


# OpenBLAS itself takes one thread up to the first number of multiplications (64**3); from the
# second on, a product is worth two: about half a millisecond of one core.
_ALONE = 1 << 18
_WORTH_THREADS = 1 << 24


def threads_for(multiplications: int) -> AbstractContextManager[None]:
    """One thread for products of that size, unless they are worth more."""
    alone = multiplications <= _ALONE or multiplications >= _WORTH_THREADS
    return nullcontext() if alone else one_thread()


def dot(a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None) -> Any:
    """The product of two matrices, plus `bias`, which broadcasts to it."""
    work = a.size * b.shape[-1]
    # A bias is added before or after, which rounds otherwise: not for the number of threads to say.
    alone = bias is None and work < WORTH_PIECES and _jit.get_threads() == 1
    if work <= _ALONE or alone:
        out = a.dot(b)
    else:
        made = kernels.gemm.gemm(a, b, bias)
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
        out = kernels.gemm.gemm(a, b)
        if out is not None:
            return out
    return np.matmul(a, b)


def large(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the products of batches of matrices are worth a kernel."""
    return a.size * b.shape[-1] > _ALONE or b.size * a.shape[-2] > _ALONE
