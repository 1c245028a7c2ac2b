"""Sums over sparse and dense dimensions, and softmax over the stored elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, coo
from wengert.core.tensor import Tensor, wrap
from wengert.kernels.axes import axis_of
from wengert.kernels.sparse import keys_of
from wengert.ops import exponential, reduction
from wengert.ops.arithmetic import div, sub
from wengert.ops.casting import convert
from wengert.ops.shape import reshape
from wengert.ops.softmax import log_softmax as dense_log_softmax
from wengert.ops.softmax import softmax as dense_softmax
from wengert.sparse._operations import add_groups
from wengert.sparse._places import as_coo, coalesced, in_layout, values_at
from wengert.sparse._table import computes


@computes("sum_over")
def sum_of(op: Any, input: SparseTensor, dim: Any = None, keepdim: bool = False) -> Any:
    """`sum`: dense if it is over all sparse dimensions, else sparse."""
    plain = as_coo(input)
    dims = _dims(dim, input.ndim)
    if dims is None:
        total = op((plain._stored,), {})
        return reshape(total, (1,) * input.ndim) if keepdim else total
    if isinstance(input, CompressedTensor):
        if not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        total = _sum_over(plain, dims, keepdim)
        return in_layout(total, input.layout) if isinstance(total, SparseTensor) else total
    return _sum_over(plain, dims, keepdim)


def _dims(dim: Any, rank: int) -> tuple[int, ...] | None:
    if dim is None or dim == () or dim == []:
        return None
    several = dim if isinstance(dim, tuple | list) else (dim,)
    dims = tuple(sorted(axis_of(d, rank) for d in several))
    if len(set(dims)) < len(dims):
        raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return dims


def _sum_over(plain: CooTensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    sparse_dim = len(plain._coordinates)
    dense_dims = tuple(d - sparse_dim + 1 for d in dims if d >= sparse_dim)
    values = plain._stored
    if dense_dims:
        values = reduction.sum(values, dense_dims, keepdim)
    elif values.dtype.category < dtypes.FLOAT:
        values = convert(values, dtypes.int64)
    left = [d for d in range(sparse_dim) if d not in dims]
    shape = [n for d, n in enumerate(plain._extent) if keepdim or d not in dims]
    if keepdim:
        for d in dims:
            shape[d] = 1
    if not left:
        total = reduction.sum(values, 0)
        return reshape(total, tuple(shape)) if keepdim else total
    places = plain._coordinates[left]
    if keepdim:
        places = plain._coordinates.copy()
        places[[d for d in dims if d < sparse_dim]] = 0
    same = len(left) == sparse_dim
    result = coo(places, values, tuple(shape), plain._coalesced and same)
    return result if same else coalesced(result)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor over `dim`, or over everything.

    Sparse unless all sparse dimensions are summed. The gradient is sparse, too.

    >>> import wengert
    >>> x = wengert.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> wengert.sparse.sum(x)
    tensor(7.)
    >>> wengert.sparse.sum(x, 0).to_dense()
    tensor([4., 0., 3.])
    """
    return reduction.sum(input, dim, dtype=dtype)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension over the stored elements alone: all others count as minus infinity.

    >>> import wengert
    >>> x = wengert.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [1.0, 1.0, 5.0], (2, 3))
    >>> wengert.sparse.softmax(x, 1).to_dense()
    tensor([[0.5000, 0.0000, 0.5000],
            [0.0000, 1.0000, 0.0000]])
    """
    return _softmax_of("softmax", input, dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, at the stored elements.

    >>> import wengert
    >>> x = wengert.sparse_coo_tensor([[0, 0], [0, 2]], [1.0, 1.0], (1, 3))
    >>> wengert.sparse.log_softmax(x, 1).values()
    tensor([-0.6931, -0.6931])
    """
    return _softmax_of("log_softmax", input, dim, dtype)


def _softmax_of(name: str, input: Tensor, dim: int, dtype: Any) -> Tensor:
    if not isinstance(input, CooTensor):
        raise NotImplementedError(
            f"sparse.{name}(): expected a tensor of layout torch.sparse_coo, but got one of"
            f" {input.layout}; convert it first: x.to_sparse_coo()"
        )
    plain = coalesced(input)
    values = plain._stored
    if dtype is not None:
        values = convert(values, dtypes.of_argument(name, dtype))
    if values.dtype.category != dtypes.FLOAT:
        raise NotImplementedError(f"\"{name}\" not implemented for '{values.dtype.short}'")
    d, sparse_dim = axis_of(dim, input.ndim), len(plain._coordinates)
    if d >= sparse_dim:
        function = dense_softmax if name == "softmax" else dense_log_softmax
        return plain.with_values(function(values, d - sparse_dim + 1))
    if not len(values):
        return plain.with_values(values)
    others = [k for k in range(sparse_dim) if k != d]
    keys = keys_of(plain._coordinates[others], tuple(plain._extent[k] for k in others))
    _, group = np.unique(keys, return_inverse=True)
    return plain.with_values(_grouped_softmax(name, values, group.reshape(-1)))


def _grouped_softmax(name: str, values: Tensor, group: np.ndarray) -> Tensor:
    """Softmax of the values of each group."""
    count = int(group.max()) + 1
    largest = np.full((count, *values.shape[1:]), -np.inf, values._array.dtype)
    np.maximum.at(largest, group, values._array)
    shifted = sub(values, values_at(wrap(largest), group))
    powers = exponential.exp(shifted)
    totals = add_groups(powers, group, count)
    if name == "log_softmax":
        return sub(shifted, values_at(exponential.log(totals), group))
    return div(powers, values_at(totals, group))


@computes("_softmax", "_log_softmax")
def softmax_op(op: Any, input: Any, dim: Any, **params: Any) -> Any:
    """`softmax` and `log_softmax` by the names that dense tensors have them."""
    return _softmax_of(op.public_name, input, dim, None)


@computes("vector_norm")
def norm_of(
    op: Any, input: SparseTensor, p: Any = 2, dim: Any = None, keepdim: bool = False
) -> Any:
    """The norm of all elements."""
    if dim is not None or keepdim:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must be empty and"
            f" 'keepdim' False, but got dim={dim} and keepdim={keepdim}"
        )
    summed = coalesced(input) if isinstance(input, CooTensor) else input
    return op((summed._stored,), {"p": p})
