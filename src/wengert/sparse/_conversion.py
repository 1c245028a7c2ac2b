"""`to_sparse` and its kin: checks, and what they make of dense and of sparse tensors."""

from __future__ import annotations

from typing import Any

from wengert.core.layout import layout as layout_type
from wengert.core.layout import sparse_coo
from wengert.core.sparse import SparseTensor, layout_of
from wengert.core.tensor import Tensor, memory_of
from wengert.sparse._places import BLOCKED, compressed_from, coo_of, in_layout
from wengert.sparse.construction import COMPRESSED


def to_layout(
    name: str, tensor: Tensor, kind: layout_type, sparse_dim: Any, blocksize: Any, dense_dim: Any
) -> Tensor:
    """The tensor in a sparse layout."""
    if kind is not sparse_coo and kind not in COMPRESSED:
        raise RuntimeError(f"{name}: conversion to layout {kind} is not supported")
    blocks = _checked_blocks(name, tensor, kind, blocksize)
    if isinstance(tensor, SparseTensor):
        if sparse_dim is not None and sparse_dim != tensor.sparse_dim():
            raise RuntimeError(
                f"{name}: conversion from {layout_of(tensor)} to {kind} with sparse_dim argument"
                f" !=self.sparse_dim() is not supported: got {sparse_dim}"
            )
        return in_layout(tensor, kind, blocks)
    rank = tensor.ndim
    if kind is sparse_coo:
        dims = rank if sparse_dim is None else sparse_dim
        if not 0 <= dims <= rank or (rank and not dims):
            raise RuntimeError(
                f"dense_to_sparse: sparse_dim argument must be in [{int(rank > 0)},{rank}] range,"
                f" but {dims} is given"
            )
        return coo_of(tensor, dims)
    dense_dims = dense_dim or 0
    if rank - dense_dims < 2 or dense_dims < 0:
        raise RuntimeError(
            f"{name}: a tensor of layout {kind} has two sparse dimensions, but got shape"
            f" {list(memory_of(tensor).shape)} with dense_dim {dense_dims}"
        )
    converted: Tensor = compressed_from(coo_of(tensor, rank - dense_dims), kind, blocks)
    return converted


def _checked_blocks(
    name: str, tensor: Tensor, kind: layout_type, blocksize: Any
) -> tuple[int, int] | None:
    if kind not in BLOCKED:
        if blocksize is not None:
            raise RuntimeError(f"{name}: conversion to {kind} does not use a blocksize, but got"
                               f" {tuple(blocksize)}")  # fmt: skip
        return None
    if blocksize is None:
        if isinstance(tensor, SparseTensor) and layout_of(tensor) in BLOCKED:
            return None
        raise RuntimeError(f"{name}: conversion to {kind} requires blocksize but none was given")
    height, width = blocksize
    if height <= 0 or width <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {(height, width)}")
    rows, columns = tensor.shape[-2:]
    if rows % height or columns % width:
        raise RuntimeError(
            f"{name}: tensor sparse size ({rows}, {columns}) must be divisible by the given"
            f" blocksize ({height}, {width})"
        )
    return height, width
