"""The three ways that a kernel can run: NumPy, machine code, and the same source in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from wengert.kernels import chunks, jit
from wengert.kernels.jit import Kernel

needs_llvmlite = pytest.mark.skipif(not jit.available(), reason="no llvmlite")


@contextmanager
def by_numpy(*modules: Any) -> Iterator[None]:
    """Without compiled kernels; `modules` are others that ask whether there are any."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (jit, chunks, *modules):
            patch.setattr(module, "available", lambda: False)
        yield


@contextmanager
def in_python(*thresholds: tuple[Any, str]) -> Iterator[None]:
    """With kernels for the smallest arrays, run in Python, which checks each index.

    `thresholds` are the modules and names of the sizes from which kernels are used.
    """
    with pytest.MonkeyPatch.context() as patch:
        for real in ("f32", "f64"):
            patch.setattr(Kernel, real, property(_interpreted))
        for module, name in thresholds:
            patch.setattr(module, name, 1)
        yield


def _interpreted(kernel: Kernel) -> Callable[..., None]:
    def run(*args: Any) -> None:
        *given, count, chunk = args
        flat = [np.reshape(a, -1, copy=False) if isinstance(a, np.ndarray) else a for a in given]
        for start in range(0, count, chunk):
            kernel.python(*flat, start, min(start + chunk, count))

    return run


def ulps(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units of the last place of float32."""
    return float(np.max(np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32))))
