"""Indices of sparse tensors, from one layout to the other: graph packages ask for them."""

from __future__ import annotations

from wengert import repeat_interleave, stack
from wengert.core.dtypes import int32, int64
from wengert.core.tensor import Tensor
from wengert.ops.sort import searchsorted
from wengert.tensor import arange


def _convert_indices_from_coo_to_csr(
    input: Tensor, size: int, *, out_int32: bool = False
) -> Tensor:
    """Where each of `size` rows begins among the sorted row numbers `input`, and where all end."""
    _check_vector("coo_to_csr", input)
    rows = arange(size + 1, dtype=input.dtype)
    return searchsorted(input.contiguous(), rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and the column (with `transpose`, column and row) of each place."""
    _check_vector("csr_to_coo", crow_indices)
    _check_vector("csr_to_coo", col_indices)
    rows = repeat_interleave(crow_indices.diff())
    if len(rows) != len(col_indices):
        raise RuntimeError(
            f"_convert_indices_from_csr_to_coo(): crow_indices counts {len(rows)} places,"
            f" col_indices has {len(col_indices)}"
        )
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return stack([indices.to(int32 if out_int32 else int64) for indices in pair])


def _check_vector(way: str, indices: Tensor) -> None:
    if indices.dtype not in (int32, int64):
        raise NotImplementedError(
            f'"convert_indices_from_{way}_cpu" not implemented for {indices.dtype}: int32 or int64'
        )
    if indices.dim() != 1:
        raise RuntimeError(
            f"Input is supposed to be a vector, but got {indices.dim()} dimensional tensor."
        )


__all__ = ["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"]
