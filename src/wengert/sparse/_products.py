"""Matrix products: sparse times dense, dense times sparse, sparse times sparse, sampled."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.core.layout import sparse_coo, sparse_csr, strided
from wengert.core.sparse import CompressedTensor, SparseTensor, coo, layout_of
from wengert.core.tensor import Tensor
from wengert.kernels.sparse import Pattern, product_places
from wengert.ops.arithmetic import add, mul
from wengert.ops.joining import cat
from wengert.ops.matmul import mm as dense_mm
from wengert.ops.shape import reshape, transpose
from wengert.sparse._operations import product_at, sampled_product, sparse_dense_product
from wengert.sparse._places import as_coo, coalesced, in_layout, matrix_of
from wengert.sparse._table import computes


def _check_factors(name: str, a: Any, b: Any) -> None:
    for x in (a, b):
        if x.ndim != 2:
            raise RuntimeError(
                f"{name}: Expected 2D tensors, but got one of {x.ndim}D with shape {list(x.shape)}"
            )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and"
            f" {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected both matrices of {name}() to have the same dtype, but got {a.dtype} and"
            f" {b.dtype}"
        )


def product(name: str, a: Tensor, b: Tensor) -> Tensor:
    """The product of two matrices of which at least one is sparse."""
    _check_factors(name, a, b)
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return _sparse_product(a, b)
    if isinstance(a, SparseTensor):
        pattern, values = matrix_of(a)
        return sparse_dense_product(values, b, pattern)
    assert isinstance(b, SparseTensor)
    pattern, values = matrix_of(b)
    turned = sparse_dense_product(values, transpose(a, 0, 1), pattern.transposed())
    return transpose(turned, 0, 1)


def _sparse_product(a: SparseTensor, b: SparseTensor) -> Tensor:
    (first, left), (second, right) = matrix_of(a), matrix_of(b)
    places = product_places(first, second)
    values = product_at(left, right, first, second, places)
    coordinates = np.stack([places.rows, places.columns])
    result = coo(coordinates, values, places.shape, coalesced=True)
    return in_layout(result, sparse_csr) if isinstance(a, CompressedTensor) else result


@computes("mm")
def mm_of(op: Any, input: Tensor, mat2: Tensor) -> Tensor:
    """`mm`."""
    return product("mm", input, mat2)


@computes("matmul")
def matmul_of(op: Any, input: Any, other: Any) -> Any:
    """`matmul` of matrices, vectors, and batches of matrices in coordinates."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        return NotImplemented
    ranks = input.ndim, other.ndim
    if ranks == (2, 2):
        return product("mm", input, other)
    if isinstance(input, SparseTensor) and ranks == (2, 1):
        column = _column_product(input, other)
        return reshape(column, (-1,))
    if isinstance(other, SparseTensor) and ranks == (1, 2):
        return reshape(product("mm", reshape(input, (1, -1)), other), (-1,))
    if ranks == (3, 3) and isinstance(input, SparseTensor):
        return bmm_of(op, input, other)
    return NotImplemented


def _column_product(matrix: SparseTensor, vector: Tensor) -> Tensor:
    if matrix.shape[1] != len(vector):
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), got a matrix of shape"
            f" {list(matrix.shape)} and a vector of {len(vector)}"
        )
    return product("mv", matrix, reshape(vector, (-1, 1)))


@computes("bmm")
def bmm_of(op: Any, input: Any, mat2: Any) -> Any:
    """`bmm` of sparse matrices and dense ones: those of a batch along a diagonal."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        return NotImplemented
    if input.ndim != 3 or mat2.ndim != 3:
        raise RuntimeError(
            f"bmm: expected 3D tensors, but got shapes {list(input.shape)} and {list(mat2.shape)}"
        )
    samples, height, inner = input.shape
    if tuple(mat2.shape[:2]) != (samples, inner):
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be:"
            f" [{samples}, {inner}] but got: [{mat2.shape[0]}, {mat2.shape[1]}]."
        )
    plain = as_coo(input)
    sample, row, column = plain._coordinates
    places = np.stack([sample * height + row, sample * inner + column])
    pattern = Pattern(places, (samples * height, samples * inner))
    width = mat2.shape[2]
    flat = sparse_dense_product(plain._stored, reshape(mat2, (samples * inner, width)), pattern)
    return reshape(flat, (samples, height, width))


@computes("addmm")
def addmm_of(
    op: Any, input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1
) -> Any:
    """`addmm`, whose term to add is dense unless all are sparse."""
    result = product("addmm", mat1, mat2)
    term = mul(input, beta) if beta != 1 else input
    return add(term, mul(result, alpha) if alpha != 1 else result)


@computes("linear")
def linear_of(op: Any, input: Tensor, weight: Tensor, bias: Any = None) -> Any:
    """`linear` with a sparse weight and dense inputs."""
    if isinstance(input, SparseTensor) or not isinstance(weight, SparseTensor):
        return NotImplemented
    rows = reshape(input, (-1, input.shape[-1]))
    result = product("linear", rows, transpose(weight, 0, 1))
    result = reshape(result, (*input.shape[:-1], weight.shape[0]))
    return result if bias is None else add(result, bias)


def mm(mat1: Tensor, mat2: Tensor, reduce: str = "sum") -> Tensor:
    """The product of two matrices of which at least one is sparse; differentiable in both.

    Of a sparse and a dense one it is dense, of two sparse ones sparse. The gradient of a sparse
    factor has its sparsity pattern.

    >>> import wengert
    >>> a = wengert.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> wengert.sparse.mm(a, wengert.ones(2, 2))
    tensor([[2., 2.],
            [3., 3.]])
    """
    if reduce != "sum":
        raise NotImplementedError(
            f"sparse.mm(): argument 'reduce' is {reduce!r}, and only 'sum' is there"
        )
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if not isinstance(x, Tensor):
            raise TypeError(f"mm(): argument '{name}' must be Tensor, not {type(x).__name__}")
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return dense_mm(mat1, mat2)
    return product("mm", mat1, mat2)


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, where `mat1` is sparse.

    >>> import wengert
    >>> a = wengert.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> wengert.sparse.addmm(wengert.ones(2, 1), a, wengert.ones(2, 1), alpha=2)
    tensor([[5.],
            [7.]])
    """
    result: Tensor = addmm_of(None, mat, mat1, mat2, beta, alpha)
    return result


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of `input`, a matrix in CSR.

    >>> import wengert
    >>> places = wengert.eye(2).to_sparse_csr()
    >>> wengert.sparse.sampled_addmm(places, wengert.ones(2, 3), wengert.ones(3, 2)).values()
    tensor([4., 4.])
    """
    if not isinstance(input, SparseTensor) or layout_of(input) is not sparse_csr:
        got = layout_of(input) if isinstance(input, SparseTensor) else "torch.strided"
        raise RuntimeError(f"sampled_addmm: Expected self to have sparse csr layout, but got {got}")
    _check_factors("sampled_addmm", mat1, mat2)
    if (mat1.shape[0], mat2.shape[1]) != tuple(input.shape):
        raise RuntimeError(
            f"sampled_addmm: Expected self.shape to be {[mat1.shape[0], mat2.shape[1]]}, but got"
            f" {list(input.shape)}"
        )
    pattern, values = matrix_of(input)
    sampled = sampled_product(mat1, transpose(mat2, 0, 1), pattern)
    term = mul(sampled, alpha) if alpha != 1 else sampled
    result = input.with_values(term if beta == 0 else add(mul(values, beta), term))
    if out is None:
        return result
    out.copy_(result)
    return out


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, as a sparse tensor of all its elements.

    >>> import wengert
    >>> wengert.smm(wengert.eye(2).to_sparse(), wengert.ones(2, 1)).is_sparse
    True
    """
    from wengert.sparse._places import coo_of

    dense = product("smm", input, mat)
    return coo_of(dense, 2)


def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a sparse matrix and a dense one, as a hybrid tensor: sparse in its rows.

    >>> import wengert
    >>> wengert.hspmm(wengert.eye(2).to_sparse(), wengert.ones(2, 1)).dense_dim()
    1
    """
    from wengert.sparse._places import values_at

    if not isinstance(mat1, SparseTensor):
        raise RuntimeError("hspmm: Argument #1: expected a sparse tensor, but got a strided one")
    dense = product("hspmm", mat1, mat2)
    rows = np.unique(coalesced(as_coo(mat1))._coordinates[0])
    return coo(rows[None], values_at(dense, rows), tuple(dense.shape), coalesced=True)


def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """``beta * input + alpha * (mat1 @ mat2)`` as a sparse tensor; `mat2` alone is dense.

    The elements of the product, of rows in which `mat1` stores something, follow those of `input`.

    >>> import wengert
    >>> a = wengert.eye(2).to_sparse()
    >>> wengert.sspaddmm(a, a, wengert.ones(2, 2), alpha=2).to_dense()
    tensor([[3., 2.],
            [2., 3.]])
    """
    from wengert.sparse._places import values_at

    for name, x, kind in (("self", input, sparse_coo), ("mat1", mat1, sparse_coo),
                          ("mat2", mat2, strided)):  # fmt: skip
        if x.layout is not kind:
            raise RuntimeError(
                f"sspaddmm: expected '{name}' to have layout {kind}, but got {x.layout}"
            )
    _check_factors("sspaddmm", mat1, mat2)
    height, width = mat1.shape[0], mat2.shape[1]
    if tuple(input.shape) != (height, width):
        raise RuntimeError(
            f"sspaddmm: Argument #1: expected a tensor of shape {[height, width]}, got one of"
            f" {list(input.shape)}"
        )
    assert isinstance(input, SparseTensor)
    assert isinstance(mat1, SparseTensor)
    dense = reshape(product("sspaddmm", mat1, mat2), (-1,))
    rows = np.unique(as_coo(mat1)._coordinates[0])
    places = np.stack([np.repeat(rows, width), np.tile(np.arange(width), len(rows))])
    plain = as_coo(input)
    values = cat([
        mul(plain._stored, beta),
        mul(values_at(dense, places[0] * width + places[1]), alpha),
    ])  # fmt: skip
    result = coo(np.concatenate([plain._coordinates, places], 1), values, (height, width))
    if out is None:
        return result
    out.copy_(result)
    return out
