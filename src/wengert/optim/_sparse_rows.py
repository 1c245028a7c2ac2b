"""Updates of the rows that a sparse gradient names."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.autograd.grad_mode import no_grad
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor
from wengert.kernels.scatter import add_at

Key = tuple[np.ndarray, ...]


def summed_rows(gradient: Any) -> tuple[Key, np.ndarray]:
    """The rows of a sparse gradient, each once, and the values of each."""
    summed = gradient.coalesce()
    return tuple(summed._coordinates), summed._stored._array


def add_rows(p: Tensor, gradient: Any, factor: float) -> None:
    """Add a multiple of a sparse gradient, one value after another, to a parameter in place."""
    if isinstance(p, SparseTensor):  # whose gradient has the same places, each once
        once = gradient.coalesce() if gradient.is_sparse else gradient
        with no_grad():
            p._stored.add_(once._stored, alpha=factor)
        return
    values = gradient._stored._array
    add_at(p._array, tuple(gradient._coordinates), values * values.dtype.type(factor))
