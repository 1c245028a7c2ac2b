"""Sparse tensors without entries: what `zeros` and `empty` make for a sparse layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.device import check_cpu
from wengert.core.layout import sparse_coo, sparse_csc, sparse_csr
from wengert.core.sparse import SparseTensor, compressed, coo
from wengert.core.tensor import wrap

_MADE = ("zeros", "zeros_like", "empty")


def without_entries(
    name: str, shape: tuple[int, ...], dtype: dtypes.dtype, options: dict[str, Any]
) -> Any:
    """The tensor that a creation function makes, or None where no sparse layout is asked for.

    Of the layouts those of coordinates and of compressed rows and columns; the others, and other
    functions than `zeros` and `empty`, refuse them as they do an unknown one.
    """
    layout = options.get("layout")
    if name not in _MADE or layout not in (sparse_coo, sparse_csr, sparse_csc):
        return None
    shape = tuple(shape)
    check_cpu(options.get("device"))
    made: SparseTensor
    if layout is sparse_coo:
        values = wrap(np.zeros(0, dtype.np))
        made = coo(np.zeros((len(shape), 0), np.int64), values, shape, coalesced=True)
    else:
        if len(shape) < 2:
            raise RuntimeError(
                f"torch.{name}: Only batched sparse compressed (non-block) tensors are supported,"
                f" but got size {list(shape)}"
            )
        *batch, rows, columns = shape
        lines = rows if layout is sparse_csr else columns
        bounds = np.zeros((*batch, lines + 1), np.int64)
        values = wrap(np.zeros((*batch, 0), dtype.np))
        made = compressed(layout, bounds, np.zeros((*batch, 0), np.int64), values, shape)
    return made.requires_grad_() if options.get("requires_grad") else made
