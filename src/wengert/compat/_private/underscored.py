"""Functions of ``torch`` with an underscore, which programs and tests call."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.tensor import Tensor
from wengert.dispatch.computed import _convolution, _log_softmax, _safe_softmax, _softmax
from wengert.nn.functional import pad
from wengert.ops.joining import cat
from wengert.tensor.masks import _is_all_true, _is_any_true


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor in so many chunks along `dim`, padded with zeros; chunks of a number in a row."""
    if not tensors or num_chunks < 1:
        raise RuntimeError(
            f"_chunk_cat: expected tensors and num_chunks of at least 1, got {len(tensors)} and"
            f" {num_chunks}"
        )
    rows = []
    for x in tensors:
        missing = -x.shape[dim] % num_chunks
        full = pad(x, [0, 0] * (x.ndim - 1 - dim % x.ndim) + [0, missing])
        rows.append(full.reshape(*x.shape[:dim], num_chunks, -1))
    return cat(rows, dim + 1)


__all__ = [
    "_chunk_cat", "_convolution", "_is_all_true", "_is_any_true", "_log_softmax", "_safe_softmax",
    "_softmax",
]  # fmt: skip
