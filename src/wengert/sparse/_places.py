"""From one layout to another: coordinates, compressed rows and columns, blocks, dense."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from wengert.core.layout import (
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from wengert.core.sparse import (
    CompressedTensor,
    CooTensor,
    Shape,
    SparseTensor,
    compressed,
    coo,
    layout_of,
)
from wengert.core.tensor import Tensor, memory_of
from wengert.kernels.sparse import Pattern, bounds_of, distinct_places, keys_of, spelled_out
from wengert.ops.shape import reshape
from wengert.sparse._operations import add_at, add_groups, take_at

BY_ROW = (sparse_csr, sparse_bsr)
BLOCKED = (sparse_bsr, sparse_bsc)


def values_at(values: Tensor, positions: np.ndarray) -> Tensor:
    """The values at some positions, one after another."""
    return take_at(values, positions[None])


def coalesced(tensor: CooTensor) -> CooTensor:
    """The tensor with sorted coordinates, each of them once; itself if it is so."""
    if tensor._coalesced:
        return tensor
    coordinates = tensor._coordinates
    distinct = distinct_places(coordinates, tensor._extent)
    if distinct is None:
        result = tensor.with_values(tensor._stored)
        result._coalesced = True
        return result
    places, group = distinct
    values = add_groups(tensor._stored, group, places.shape[1])
    return coo(places, values, tensor._extent, coalesced=True)


def as_coo(tensor: SparseTensor) -> CooTensor:
    """The tensor in coordinates."""
    if isinstance(tensor, CooTensor):
        return tensor
    assert isinstance(tensor, CompressedTensor)
    coordinates = _coordinates(tensor)
    values = tensor._stored
    batch = tensor._bounds.ndim - 1
    flat = reshape(values, (-1, *values.shape[batch + 1 :]))
    if tensor._layout in BLOCKED:
        coordinates, flat = _without_blocks(coordinates, flat, batch)
    result = coo(coordinates, flat, tensor._extent)
    return _sorted(result)


def _sorted(tensor: CooTensor) -> CooTensor:
    """In the order of rows; values at one place stay apart."""
    keys = keys_of(tensor._coordinates, tensor._extent)
    if (keys[1:] > keys[:-1]).all():
        tensor._coalesced = True
        return tensor
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    values = values_at(tensor._stored, order)
    distinct = bool((keys[1:] > keys[:-1]).all())
    return coo(tensor._coordinates[:, order], values, tensor._extent, distinct)


def _coordinates(tensor: CompressedTensor) -> np.ndarray:
    """Batch, row and column of each value (or block of values)."""
    bounds, plain = tensor._bounds, tensor._plain
    batch = bounds.shape[:-1]
    count = plain.shape[-1]
    lines = bounds.reshape(prod(batch), bounds.shape[-1])
    line = (
        np.concatenate([spelled_out(row) for row in lines]) if len(lines) else np.zeros(0, np.int64)
    )
    numbers = [line, plain.reshape(-1).astype(np.int64)]
    if tensor._layout not in BY_ROW:
        numbers.reverse()
    samples = np.indices(batch).reshape(len(batch), prod(batch))
    return np.stack([*np.repeat(samples, count, axis=1), *numbers])


def _without_blocks(
    coordinates: np.ndarray, values: Tensor, batch: int
) -> tuple[np.ndarray, Tensor]:
    """Coordinates and values of numbers, from those of blocks."""
    height, width = values.shape[1:3]
    inner = np.indices((height, width)).reshape(2, height * width)
    repeated = np.repeat(coordinates, height * width, axis=1)
    repeated[batch] = repeated[batch] * height + np.tile(inner[0], coordinates.shape[1])
    repeated[batch + 1] = repeated[batch + 1] * width + np.tile(inner[1], coordinates.shape[1])
    return repeated, reshape(values, (-1, *values.shape[3:]))


def dense_of(tensor: SparseTensor) -> Tensor:
    """The tensor with all its zeros."""
    plain = as_coo(tensor)
    return add_at(plain._stored, plain._coordinates, plain._extent)


def coo_of(dense: Tensor, sparse_dim: int) -> CooTensor:
    """The elements (or slices of the leading dimensions) of a dense tensor that are not zero."""
    array = memory_of(dense)
    used = array != 0
    if used.ndim > sparse_dim:
        used = used.any(axis=tuple(range(sparse_dim, used.ndim)))
    coordinates = np.stack(np.nonzero(used)) if sparse_dim else np.zeros((0, 1), np.int64)
    return coo(coordinates, take_at(dense, coordinates), tuple(array.shape), coalesced=True)


def compressed_from(tensor: CooTensor, kind: layout, blocks: tuple[int, int] | None) -> Any:
    """A tensor of coordinates as compressed rows or columns; its values may be vectors."""
    plain = coalesced(tensor)
    extent, coordinates, values = plain._extent, plain._coordinates, plain._stored
    batch = len(coordinates) - 2
    if kind in BLOCKED:
        assert blocks is not None
        coordinates, values = _in_blocks(coordinates, values, blocks, batch)
    by_row = kind in BY_ROW
    if not by_row:
        order = np.lexsort((*coordinates[batch:], *coordinates[:batch][::-1]))
        coordinates, values = coordinates[:, order], values_at(values, order)
    block = blocks if kind in BLOCKED and blocks is not None else (1, 1)
    lines = [n // b for n, b in zip(extent[batch : batch + 2], block, strict=True)][not by_row]
    line, other = coordinates[batch:] if by_row else coordinates[batch:][::-1]
    samples = extent[:batch]
    bounds = _bounds_of_batch(keys_of(coordinates[:batch], samples), line, samples, lines)
    count = coordinates.shape[1] // max(prod(samples), 1)
    return compressed(
        kind, bounds, other.reshape(*samples, count),
        reshape(values, (*samples, count, *values.shape[1:])), extent,
    )  # fmt: skip


def _bounds_of_batch(
    sample: np.ndarray, line: np.ndarray, samples: Shape, lines: int
) -> np.ndarray:
    """The bounds of the lines of each matrix; RuntimeError unless all have as many values."""
    number = prod(samples)
    counts = np.bincount(sample, minlength=number)
    if number > 1 and (counts != counts[0]).any():
        raise RuntimeError(
            "Expect the same number of specified elements per batch, but the matrices of this one"
            f" have {counts.tolist()}"
        )
    rows = [bounds_of(line[sample == k], lines) for k in range(number)]
    return np.stack(rows).reshape(*samples, lines + 1) if rows else np.zeros((*samples, lines + 1))


def _in_blocks(
    coordinates: np.ndarray, values: Tensor, blocks: tuple[int, int], batch: int
) -> tuple[np.ndarray, Tensor]:
    """Coordinates and values of blocks, from those of numbers."""
    sizes = np.array([1] * batch + list(blocks))[:, None]
    block, inner = np.divmod(coordinates, sizes)
    shape = tuple(block.max(axis=1) + 1) if block.shape[1] else (1,) * len(block)
    distinct = distinct_places(block, shape)
    places, group = distinct or (block, np.arange(block.shape[1]))
    at = np.stack([group, *inner[batch:]])
    return places, add_at(values, at, (places.shape[1], *blocks, *values.shape[1:]))


def in_layout(tensor: SparseTensor, kind: layout, blocks: tuple[int, int] | None = None) -> Tensor:
    """The tensor in another layout; itself if it has it."""
    same_blocks = blocks is None or block_size(tensor) == blocks
    if layout_of(tensor) is kind and same_blocks:
        return tensor
    if kind is strided:
        return dense_of(tensor)
    plain = as_coo(tensor)
    if kind is sparse_coo:
        return plain
    if blocks is None and kind in BLOCKED:
        blocks = block_size(tensor)
    converted: Tensor = compressed_from(plain, kind, blocks)
    return converted


def block_size(tensor: SparseTensor) -> tuple[int, int] | None:
    """Height and width of the blocks, of a tensor that has some."""
    if not isinstance(tensor, CompressedTensor) or tensor._layout not in BLOCKED:
        return None
    batch = tensor._bounds.ndim - 1
    height, width = tensor._stored.shape[batch + 1 : batch + 3]
    return height, width


def matrix_of(tensor: SparseTensor) -> tuple[Pattern, Tensor]:
    """The pattern of a matrix, and its values in the order of it."""
    if isinstance(tensor, CompressedTensor):
        if tensor._layout is sparse_csr:
            if tensor._pattern is None:
                tensor._pattern = Pattern.of_bounds(tensor._bounds, tensor._plain, _two(tensor))
            return tensor._pattern, tensor._stored
        if tensor._layout is sparse_csc:
            if tensor._pattern is None:
                across = Pattern.of_bounds(tensor._bounds, tensor._plain, _two(tensor)[::-1])
                tensor._pattern = across.transposed()
            return tensor._pattern, tensor._stored
    plain = as_coo(tensor)
    if plain._pattern is None:
        plain._pattern = Pattern(plain._coordinates, _two(tensor))
    return plain._pattern, plain._stored


def _two(tensor: SparseTensor) -> tuple[int, int]:
    rows, columns = tensor._extent
    return rows, columns
