"""Functions of ``torch`` with an underscore, which programs and tests call."""

from __future__ import annotations

from collections.abc import Sequence

from wengert.core.dtypes import bool_
from wengert.core.tensor import Tensor
from wengert.dispatch.computed import _convolution, _log_softmax, _safe_softmax, _softmax
from wengert.nn.functional import pad
from wengert.ops.joining import cat


def _is_all_true(self: Tensor) -> Tensor:
    """Whether all elements of a mask are true, as a tensor."""
    return _mask("_is_all_true", self).all()


def _is_any_true(self: Tensor) -> Tensor:
    """Whether an element of a mask is true, as a tensor."""
    return _mask("_is_any_true", self).any()


def _mask(name: str, self: Tensor) -> Tensor:
    if self.dtype is not bool_:
        raise RuntimeError(f"{name}(): expected a tensor of bool, but got one of {self.dtype}")
    return self


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
