"""``torch.embedding_bag``: bags of a table, and how they were cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.dtypes import bfloat16, float16, float32, int64
from wengert.core.tensor import Tensor, memory_of
from wengert.nn.functional import embedding_bag as _bags
from wengert.tensor import tensor, zeros

_MODES = ("sum", "mean", "max")
_FAST = (float32, float16, bfloat16)  # in which PyTorch sums bags without noting their places


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`nn.functional.embedding_bag` of one list of indices, and three tensors about its bags.

    `mode` is 0 for sums, 1 for means, 2 for maxima. The others are the bag of each index, the
    number of indices of each bag, and for maxima the index that each element came from. Where
    nothing but a sum is made they are as empty as PyTorch's.
    """
    if mode not in (0, 1, 2):
        raise RuntimeError(f"`mode` must be sum, mean, or max. It is {mode!r}, expected 0, 1 or 2.")
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    if padding_idx is not None and padding_idx < 0:
        padding_idx = None if padding_idx == -1 else padding_idx
    result = _bags(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, mode=_MODES[mode],
        sparse=sparse, per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    starts, rows = memory_of(offsets), memory_of(indices)
    ends = [*starts[1:], *([] if include_last_offset else [len(rows)])]
    bags = [rows[a:b] for a, b in zip(starts, ends, strict=False)]
    kind: Any = indices.dtype
    if mode == 0:
        noted = padding_idx is not None or weight.dtype not in _FAST
        none = zeros(len(starts), dtype=kind)
        return result, _numbers(bags, kind) if noted else zeros(0, dtype=kind), none, none.clone()
    kept = [bag[bag != padding_idx] for bag in bags]
    sizes = tensor([len(bag) for bag in kept], dtype=kind)
    if mode == 1:
        return result, _numbers(bags, kind), sizes, sizes.clone()
    return result, _numbers(bags, kind), sizes, _largest(memory_of(weight), kept, kind)


def _numbers(bags: list[Any], kind: Any) -> Tensor:
    """The bag of each index."""
    return tensor([k for k, bag in enumerate(bags) for _ in bag], dtype=kind)


def _largest(table: np.ndarray, bags: list[Any], kind: Any) -> Tensor:
    """The index whose row has the largest element, by bag and column; 0 in an empty bag."""
    found = np.zeros((len(bags), table.shape[1]), np.int64)
    for k, bag in enumerate(bags):
        if len(bag):
            found[k] = bag[table[bag].argmax(0)]
    return tensor(found, dtype=int64).to(kind)


__all__ = ["embedding_bag"]
