"""The methods of every Tensor that are about sparse tensors. What they do is loaded when called."""

from __future__ import annotations

from typing import Any

from wengert.core.layout import layout as layout_type
from wengert.core.layout import (
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from wengert.core.sparse import CompressedTensor, CooTensor, SparseTensor, layout_of
from wengert.core.tensor import Tensor, wrap

_BY_ROW = (sparse_csr, sparse_bsr)
_BY_COLUMN = (sparse_csc, sparse_bsc)


def _layout_name(x: Tensor) -> str:
    """A layout as PyTorch's errors name it."""
    if not isinstance(x, SparseTensor):
        return "Strided"
    kind = layout_of(x)
    return "Sparse" if kind is sparse_coo else f"Sparse{kind.name[7:].capitalize()}"


def _coo(name: str, x: Tensor) -> CooTensor:
    if not isinstance(x, CooTensor):
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {_layout_name(x)}"
        )
    return x


def _compressed(name: str, x: Tensor, kinds: tuple[layout_type, ...]) -> CompressedTensor:
    if not isinstance(x, CompressedTensor) or x._layout not in kinds:
        side = "row" if kinds is _BY_ROW else "column"
        raise RuntimeError(
            f"{name} expected sparse {side} compressed tensor layout but got {_layout_name(x)}"
        )
    return x


def is_coalesced(self: Tensor) -> bool:
    """Whether the indices of a tensor in COO are sorted, and each of them is there once.

    >>> import wengert
    >>> wengert.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (2,)).is_coalesced()
    False
    """
    return _coo("is_coalesced", self)._coalesced


def coalesce(self: Tensor) -> Tensor:
    """The tensor with sorted indices, and the values at the same place added up.

    >>> import wengert
    >>> wengert.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (2,)).coalesce().values()
    tensor([3.])
    """
    from wengert.sparse._places import coalesced

    return coalesced(_coo("coalesce", self))


def _indices(self: Tensor) -> Tensor:
    return wrap(_coo("_indices", self)._coordinates)


def _values(self: Tensor) -> Tensor:
    if not isinstance(self, SparseTensor):
        _coo("_values", self)
    return self._stored.detach()  # type: ignore[attr-defined]


def _coalesced_indices(self: Tensor) -> Tensor:
    """The indices (sparse dimensions, values) of a coalesced tensor in COO.

    >>> import wengert
    >>> wengert.eye(2).to_sparse().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return wrap(_only_coalesced("indices", self)._coordinates)


def values(self: Tensor) -> Tensor:
    """The stored values of a sparse tensor, which is coalesced if it is in COO. Differentiable.

    >>> import wengert
    >>> wengert.tensor([0.0, 3.0]).to_sparse().values()
    tensor([3.])
    """
    if isinstance(self, CompressedTensor):
        return self._stored.view_as(self._stored)
    stored = _only_coalesced("values", self)._stored
    return stored.view_as(stored)


def _only_coalesced(name: str, x: Tensor) -> CooTensor:
    coo = _coo(name, x)
    if not coo._coalesced:
        raise RuntimeError(
            f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
        )
    return coo


def crow_indices(self: Tensor) -> Tensor:
    """Where each row (of blocks) of a tensor in CSR or BSR begins among the column indices.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csr().crow_indices()
    tensor([0, 1, 2])
    """
    return wrap(_compressed("crow_indices", self, _BY_ROW)._bounds)


def col_indices(self: Tensor) -> Tensor:
    """The column of each value (or block) of a tensor in CSR or BSR.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csr().col_indices()
    tensor([0, 1])
    """
    return wrap(_compressed("col_indices", self, _BY_ROW)._plain)


def ccol_indices(self: Tensor) -> Tensor:
    """Where each column (of blocks) of a tensor in CSC or BSC begins among the row indices.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csc().ccol_indices()
    tensor([0, 1, 2])
    """
    return wrap(_compressed("ccol_indices", self, _BY_COLUMN)._bounds)


def row_indices(self: Tensor) -> Tensor:
    """The row of each value (or block) of a tensor in CSC or BSC.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csc().row_indices()
    tensor([0, 1])
    """
    return wrap(_compressed("row_indices", self, _BY_COLUMN)._plain)


def _nnz(self: Tensor) -> int:
    if isinstance(self, CompressedTensor):
        return int(self._plain.shape[-1])
    return int(_coo("_nnz", self)._coordinates.shape[1])


def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse; 0 of a dense tensor.

    >>> import wengert
    >>> wengert.eye(2).to_sparse(1).sparse_dim()
    1
    """
    if isinstance(self, CooTensor):
        return len(self._coordinates)
    return 2 if isinstance(self, SparseTensor) else 0


def dense_dim(self: Tensor) -> int:
    """How many dimensions, the last ones, are dense.

    >>> import wengert
    >>> wengert.eye(2).to_sparse(1).dense_dim()
    1
    """
    if isinstance(self, CooTensor):
        return self._stored.ndim - 1
    if isinstance(self, CompressedTensor):
        return self.ndim - (self._bounds.ndim - 1) - 2
    return self.ndim


def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """A sparse tensor with all its zeros; a dense one as it is. Differentiable.

    The gradient of a sparse tensor has its sparsity pattern, whatever `masked_grad` says.

    >>> import wengert
    >>> wengert.sparse_coo_tensor([[1]], [3.0], (2,)).to_dense()
    tensor([0., 3.])
    """
    dense = self
    if isinstance(self, SparseTensor):
        from wengert.sparse._places import dense_of

        dense = dense_of(self)
    return dense if dtype is None else dense.to(dtype)


def to_sparse(
    self: Tensor, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The tensor in a sparse layout, COO by default: what is not zero. Differentiable.

    Args:
        sparse_dim: how many dimensions, the first ones, are sparse; all by default.
        layout: one of the sparse layouts.
        blocksize: height and width of the blocks of BSR and BSC.
        dense_dim: how many dimensions, the last ones, are dense; of compressed layouts.

    >>> import wengert
    >>> wengert.tensor([0.0, 3.0]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([3.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """
    from wengert.sparse._conversion import to_layout

    if isinstance(sparse_dim, layout_type):
        sparse_dim, layout = None, sparse_dim
    return to_layout("to_sparse", self, layout or sparse_coo, sparse_dim, blocksize, dense_dim)


def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor in coordinates.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csr().to_sparse_coo().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return to_sparse(self)


def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed rows.

    >>> import wengert
    >>> wengert.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
    """
    return to_sparse(self, layout=sparse_csr, dense_dim=dense_dim)


def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed columns.

    >>> import wengert
    >>> wengert.tensor([[0.0, 1.0], [2.0, 0.0]]).to_sparse_csc().values()
    tensor([2., 1.])
    """
    return to_sparse(self, layout=sparse_csc, dense_dim=dense_dim)


def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed rows of blocks.

    >>> import wengert
    >>> wengert.eye(4).to_sparse_bsr((2, 2)).values().shape
    torch.Size([2, 2, 2])
    """
    return to_sparse(self, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed columns of blocks.

    >>> import wengert
    >>> wengert.eye(4).to_sparse_bsc((2, 2)).row_indices()
    tensor([0, 1])
    """
    return to_sparse(self, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places where the sparse tensor `mask` has values.

    >>> import wengert
    >>> wengert.ones(2, 2).sparse_mask(wengert.eye(2).to_sparse()).values()
    tensor([1., 1.])
    """
    from wengert.sparse._masks import sparse_mask_of

    if not isinstance(mask, SparseTensor):
        raise RuntimeError(f"sparse_mask(): mask must be sparse, but it is {strided}")
    return sparse_mask_of(self, mask)


def _smm(self: Tensor, mat2: Tensor) -> Tensor:
    """As the function `smm`.

    >>> import wengert
    >>> wengert.eye(2).to_sparse().smm(wengert.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    from wengert.sparse._products import smm

    return smm(self, mat2)


def _sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """As the function `sspaddmm`.

    >>> import wengert
    >>> a = wengert.eye(2).to_sparse()
    >>> a.sspaddmm(a, wengert.ones(2, 1).expand(2, 2)).to_dense()
    tensor([[2., 1.],
            [1., 2.]])
    """
    from wengert.sparse._products import sspaddmm

    return sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


_METHODS = (is_coalesced, coalesce, _indices, _values, values, crow_indices, col_indices,
            ccol_indices, row_indices, _nnz, sparse_dim, dense_dim, to_dense, to_sparse,
            to_sparse_coo, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc,
            sparse_mask)  # fmt: skip


def bind_to_tensor() -> None:
    """Give Tensor what this module is about."""
    for function in _METHODS:
        setattr(Tensor, function.__name__, function)
    named: dict[str, Any] = {"indices": _coalesced_indices, "smm": _smm, "sspaddmm": _sspaddmm}
    for name, method in named.items():
        method.__name__ = method.__qualname__ = name
        setattr(Tensor, name, method)
