"""Transposing, indexing, joining: operations on places."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.layout import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, compressed, coo
from wengert.core.tensor import Tensor, memory_of
from wengert.kernels.axes import axis_of
from wengert.ops import shape as dense
from wengert.ops import splitting
from wengert.ops.casting import convert
from wengert.ops.joining import cat
from wengert.sparse._operations import add_at
from wengert.sparse._places import as_coo, block_size, coalesced, in_layout, values_at
from wengert.sparse._table import OF_LISTS, computes

# The layout of the transpose.
_ACROSS = {
    sparse_csr: sparse_csc, sparse_csc: sparse_csr,
    sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr,
}  # fmt: skip


@computes("transpose")
def transposed_of(op: Any, input: SparseTensor, dim0: int, dim1: int) -> Tensor:
    """`transpose`."""
    order = list(range(input.ndim))
    a, b = axis_of(dim0, input.ndim), axis_of(dim1, input.ndim)
    order[a], order[b] = b, a
    return _permuted(input, order)


@computes("t")
def t_of(op: Any, input: SparseTensor) -> Tensor:
    """`t`."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse dimensions, but self is"
                           f" {input.ndim}D")  # fmt: skip
    return _permuted(input, list(range(input.ndim))[::-1])


@computes("permute")
def permuted_of(op: Any, input: SparseTensor, dims: Any) -> Tensor:
    """`permute`."""
    order = [axis_of(d, input.ndim) for d in dims]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError(
            f"permute(sparse_coo): dims {list(dims)} are no order of {input.ndim} dimensions"
        )
    return _permuted(input, order)


def _permuted(input: SparseTensor, order: list[int]) -> Tensor:
    if order == list(range(input.ndim)):
        return input
    extent = tuple(input._extent[d] for d in order)
    if isinstance(input, CompressedTensor):
        batch = input._bounds.ndim - 1
        across = list(range(input.ndim))
        across[batch : batch + 2] = batch + 1, batch
        if order != across:
            raise RuntimeError(
                f"transpose of a tensor of layout {input.layout}: only rows and columns can be"
                f" exchanged, but the order of dimensions would be {order}"
            )
        values = input._stored
        if input._layout in (sparse_bsr, sparse_bsc):
            values = dense.transpose(values, batch + 1, batch + 2)
        kind = _ACROSS[input._layout]
        return compressed(kind, input._bounds, input._plain, values, extent)
    assert isinstance(input, CooTensor)
    sparse_dim = len(input._coordinates)
    if any((d < sparse_dim) != (k < sparse_dim) for k, d in enumerate(order)):
        raise RuntimeError(
            "transpose: a sparse dimension cannot be exchanged with a dense one: the tensor has"
            f" {sparse_dim} sparse ones, the order would be {order}"
        )
    values = input._stored
    if order[sparse_dim:] != list(range(sparse_dim, input.ndim)):
        values = dense.permute(values, (0, *(d - sparse_dim + 1 for d in order[sparse_dim:])))
    same = order[:sparse_dim] == list(range(sparse_dim))
    result = coo(input._coordinates[order[:sparse_dim]], values, extent, same and input._coalesced)
    pattern = input._pattern
    if pattern is not None and not same and sparse_dim == 2:
        result._pattern = pattern.transposed()
    return result


def _at_dim(input: CooTensor, d: int) -> int:
    """The dimension of the values that is dimension `d` of the tensor, a dense one."""
    return d - len(input._coordinates) + 1


@computes("select")
def selected(op: Any, input: SparseTensor, dim: int, index: int) -> Tensor:
    """`select`: dense if no sparse dimension is left."""
    plain = as_coo(input)
    if not plain.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = axis_of(dim, plain.ndim)
    n = plain._extent[d]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(plain._extent)} at"
            f" dimension {d}"
        )
    index %= n
    extent = plain._extent[:d] + plain._extent[d + 1 :]
    coordinates = plain._coordinates
    if d >= len(coordinates):
        values = splitting.select(plain._stored, _at_dim(plain, d), index)
        return coo(coordinates, values, extent, plain._coalesced)
    positions = np.flatnonzero(coordinates[d] == index)
    values = values_at(plain._stored, positions)
    if len(coordinates) == 1:
        return add_at(values, np.zeros((0, len(positions)), np.int64), extent)
    others = np.delete(coordinates[:, positions], d, axis=0)
    return coo(others, values, extent, plain._coalesced)


@computes("index_select")
def index_selected(op: Any, input: SparseTensor, index: Any, dim: int) -> Tensor:
    """`index_select`: slices in the order of the index."""
    plain = as_coo(input)
    d = axis_of(dim, plain.ndim)
    wanted = memory_of(index).reshape(-1)
    n = plain._extent[d]
    if wanted.size and (wanted.min() < -n or wanted.max() >= n):
        wrong = wanted[(wanted < -n) | (wanted >= n)][0]
        raise IndexError(f"index_select(): index contains {wrong} that is out of range for tensor"
                         f" of size {n} at dimension {d}")  # fmt: skip
    wanted = np.where(wanted < 0, wanted + n, wanted)
    extent = (*plain._extent[:d], len(wanted), *plain._extent[d + 1 :])
    coordinates = plain._coordinates
    if d >= len(coordinates):
        values = op((plain._stored, index), {"dim": _at_dim(plain, d)})
        return coo(coordinates, values, extent, plain._coalesced)
    # For each wanted index the stored values that have it, and which of the wanted it is.
    order = np.argsort(coordinates[d], kind="stable")
    sorted_numbers = coordinates[d][order]
    first = np.searchsorted(sorted_numbers, wanted, "left")
    counts = np.searchsorted(sorted_numbers, wanted, "right") - first
    place = np.repeat(np.arange(len(wanted)), counts)
    within = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = order[np.repeat(first, counts) + within]
    places = coordinates[:, positions]
    places[d] = place
    result = coo(places, values_at(plain._stored, positions), extent)
    return coalesced(result) if plain._coalesced else result


@computes("unsqueeze")
def unsqueezed(op: Any, input: SparseTensor, dim: int) -> Any:
    """`unsqueeze`: a new dimension is sparse in front of the dense ones."""
    if not isinstance(input, CooTensor):
        return NotImplemented
    d = axis_of(dim, input.ndim + 1)
    extent = (*input._extent[:d], 1, *input._extent[d:])
    coordinates = input._coordinates
    if d > len(coordinates):
        values = dense.unsqueeze(input._stored, _at_dim(input, d))
        return coo(coordinates, values, extent, input._coalesced)
    return coo(np.insert(coordinates, d, 0, axis=0), input._stored, extent, input._coalesced)


@computes("_window", "basic", "index")
def refused_key(op: Any, *inputs: Any, **params: Any) -> Any:
    """Keys of dense tensors."""
    return NotImplemented


def item_of(input: SparseTensor, key: Any) -> Tensor:
    """`input[key]`: integers, slices with a step of 1, ``...``, None, and tensors of indices."""
    keys = list(key) if isinstance(key, tuple) else [key]
    named = sum(k is not None and k is not Ellipsis for k in keys)
    if Ellipsis in [k for k in keys if not isinstance(k, Tensor)]:
        at = next(n for n, k in enumerate(keys) if k is Ellipsis)
        keys[at : at + 1] = [slice(None)] * (input.ndim - named)
    if named > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    result: Tensor = input
    d = 0
    for k in keys:
        if k is None:
            result, d = dense.unsqueeze(result, d), d + 1
        elif isinstance(k, slice):
            if k != slice(None):
                result = _sliced(result, d, k)
            d += 1
        elif isinstance(k, Tensor) and k.ndim == 1 and k.dtype is dtypes.int64:
            result, d = result.index_select(d, k), d + 1
        elif isinstance(k, bool) or not hasattr(k, "__index__"):
            raise NotImplementedError(
                f"x[...] of a sparse tensor: index {k!r} is neither an integer, a slice nor a 1-D"
                " tensor of integers; convert the tensor first: x.to_dense()"
            )
        else:
            result = splitting.select(result, d, k.__index__())
    return result


def _sliced(tensor: Tensor, d: int, key: slice) -> Tensor:
    start, stop, step = key.indices(tensor.shape[d])
    if step != 1:
        raise NotImplementedError(
            f"x[...] of a sparse tensor: slices have a step of 1, not {step}; convert the tensor"
            " first: x.to_dense()"
        )
    return narrowed_to(tensor, d, start, max(stop - start, 0))


def narrowed_to(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`narrow`."""
    if not isinstance(input, SparseTensor):
        return splitting.narrow(input, dim, start, length)
    plain = as_coo(input)
    d = axis_of(dim, plain.ndim)
    n = plain._extent[d]
    start = start + n if start < 0 else start
    if length < 0 or start < 0 or start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    extent = (*plain._extent[:d], length, *plain._extent[d + 1 :])
    coordinates = plain._coordinates
    if d >= len(coordinates):
        values = splitting.narrow(plain._stored, _at_dim(plain, d), start, length)
        return coo(coordinates, values, extent, plain._coalesced)
    inside = (coordinates[d] >= start) & (coordinates[d] < start + length)
    positions = np.flatnonzero(inside)
    places = coordinates[:, positions]
    places[d] -= start
    return coo(places, values_at(plain._stored, positions), extent, plain._coalesced)


def _as_all_coo(name: str, tensors: list[Tensor]) -> list[CooTensor]:
    for k, x in enumerate(tensors):
        if not isinstance(x, SparseTensor):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {k} in"
                f" {name}()"
            )
    common = tensors[0].dtype
    for x in tensors[1:]:
        common = dtypes.promote_types(common, x.dtype)
    sparse = [as_coo(x) for x in tensors if isinstance(x, SparseTensor)]
    return [x.with_values(convert(x._stored, common)) for x in sparse]


def joined_along(tensors: list[Tensor], dim: int, lead: int = 0) -> Tensor:
    """`cat`."""
    if isinstance(tensors[0], CompressedTensor):
        raise NotImplementedError(
            f"cat() of tensors of layout {tensors[0].layout}: convert them first: x.to_sparse_coo()"
        )
    parts = _as_all_coo("cat", tensors)
    first = parts[0]
    d, sparse_dim = axis_of(dim, first.ndim), len(first._coordinates)
    for k, x in enumerate(parts):
        if len(x._coordinates) != sparse_dim or any(
            a != b for e, (a, b) in enumerate(zip(first._extent, x._extent, strict=False)) if e != d
        ):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first._extent)} (except in the"
                f" concatenating dimension), with {sparse_dim} sparse dimensions, but got"
                f" {list(x._extent)} with {len(x._coordinates)} at position {k}"
            )
    lengths = [x._extent[d] for x in parts]
    extent = (*first._extent[:d], sum(lengths), *first._extent[d + 1 :])
    starts = np.cumsum([0, *lengths[:-1]])
    if d < sparse_dim:
        shifted = [x._coordinates.copy() for x in parts]
        for places, start in zip(shifted, starts, strict=True):
            places[d] += start
        return coo(np.concatenate(shifted, axis=1), cat([x._stored for x in parts]), extent)
    total = extent[d]
    at = _at_dim(first, d)
    padded = [_padded(x._stored, at, int(s), total) for x, s in zip(parts, starts, strict=True)]
    return coo(np.concatenate([x._coordinates for x in parts], axis=1), cat(padded), extent)


def _padded(values: Tensor, dim: int, start: int, total: int) -> Tensor:
    """The values with zeros around them along a dimension."""
    before = (*values.shape[:dim], start, *values.shape[dim + 1 :])
    behind = (*values.shape[:dim], total - start - values.shape[dim], *values.shape[dim + 1 :])
    return cat([values.new_zeros(before), values, values.new_zeros(behind)], dim)


def stacked_along(tensors: list[Tensor], dim: int) -> Tensor:
    """`stack`."""
    parts = _as_all_coo("stack", tensors)
    extent = parts[0]._extent
    for k, x in enumerate(parts):
        if x._extent != extent:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(extent)} at entry 0"
                f" and {list(x._extent)} at entry {k}"
            )
    d = axis_of(dim, len(extent) + 1)
    return joined_along([dense.unsqueeze(x, d) for x in parts], d)


OF_LISTS["cat"] = joined_along
OF_LISTS["stack"] = stacked_along


def like_zeros(input: SparseTensor) -> Tensor:
    """A tensor of the same shape and layout without values."""
    plain = as_coo(input)
    sparse_dim = len(plain._coordinates)
    values = plain._stored.detach().new_zeros((0, *plain._extent[sparse_dim:]))
    empty = coo(np.zeros((sparse_dim, 0), np.int64), values, plain._extent, coalesced=True)
    if isinstance(input, CompressedTensor):
        return in_layout(empty, input.layout, block_size(input))
    return empty
