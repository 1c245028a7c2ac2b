"""The rows of parameters that each rank holds, and the whole arrays of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor, wrap
from wengert.distributed.collectives import all_gather_into_tensor
from wengert.distributed.tensor.dtensor import DTensor, distributed
from wengert.distributed.tensor.layouts import Layout
from wengert.distributed.tensor.parameters import ShardedParameter


def sharded_rows(rows: Tensor, layout: Layout, like: type[Tensor] = DTensor) -> Any:
    """A tensor of a rank's rows, in the same memory, without a graph."""
    tensor = distributed(rows.detach(), layout, like)
    return tensor.requires_grad_() if like is ShardedParameter else tensor


def gathered(rows: Sequence[np.ndarray], layouts: Sequence[Layout]) -> list[np.ndarray]:
    """The whole arrays, of which every rank gives some rows; in one collective for each dtype."""
    wholes: dict[int, np.ndarray] = {}
    for indices in by_dtype(rows):
        sizes = [layouts[i].padded for i in indices]
        ends = np.cumsum([0, *sizes])
        own = np.zeros(ends[-1], rows[indices[0]].dtype)
        for i, start in zip(indices, ends[:-1], strict=True):
            own[start : start + rows[i].size] = rows[i].reshape(-1)
        group = layouts[indices[0]].group
        everyone = np.empty((group.size(), own.size), own.dtype)
        all_gather_into_tensor(wrap(everyone), wrap(own), group)
        for i, start, size in zip(indices, ends[:-1], sizes, strict=True):
            flat = everyone[:, start : start + size].reshape(-1)
            shape = layouts[i].shape
            wholes[i] = flat[: int(np.prod(shape))].reshape(shape)
    return [wholes[i] for i in range(len(rows))]


def by_dtype(arrays: Sequence[np.ndarray]) -> list[list[int]]:
    """The indices of arrays of one dtype, for each."""
    indices: dict[Any, list[int]] = {}
    for i, array in enumerate(arrays):
        indices.setdefault(array.dtype, []).append(i)
    return list(indices.values())
