"""Operands to test with: matrices of a rank or kind, and tensors with gaps in memory."""

from __future__ import annotations

from typing import Any

import wengert
from wengert import Tensor
from wengert.core.dtypes import dtype as dtype_type

_Options = Any


def noncontiguous_like(t: Tensor) -> Tensor:
    """A copy whose elements have others between them, of more than one element.

    >>> import wengert
    >>> from wengert.compat._private.harness.matrices import noncontiguous_like
    >>> x = noncontiguous_like(wengert.ones(2, 3))
    >>> x.is_contiguous(), x.sum().item()
    (False, 6.0)
    """
    if not t.is_contiguous() or t.numel() < 2:
        return t
    doubled = t.detach().new_zeros((*t.shape, 2))
    doubled[..., 0] = t.detach()
    return doubled[..., 0].requires_grad_(t.requires_grad)


def random_square_matrix_of_rank(
    size: int, rank: int, dtype: dtype_type = wengert.double, device: Any = "cpu"
) -> Tensor:
    """A square matrix with `rank` singular values that are not zero."""
    if rank > size:
        raise ValueError(f"rank: got {rank}, expected at most the size, {size}")
    u, values, vh = wengert.linalg.svd(wengert.randn(size, size, dtype=dtype))
    values = wengert.where(wengert.arange(size) < rank, values.clamp(min=1.0), 0.0)
    return (u * values.to(u.dtype)) @ vh


def random_well_conditioned_matrix(
    *shape: int, dtype: dtype_type, device: Any, mean: float = 1.0, sigma: float = 0.001
) -> Tensor:
    """Matrices whose singular values are all near `mean`."""
    u, _, vh = wengert.linalg.svd(wengert.randn(*shape, dtype=dtype), full_matrices=False)
    count = min(shape[-2:])
    values = wengert.randn(*shape[:-2], count, dtype=u.real.dtype) * sigma + mean
    return (u * values.sort(-1, descending=True).values.unsqueeze(-2).to(u.dtype)) @ vh


def random_symmetric_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Matrices that equal their transposes."""
    a = _randn(size, batches, options)
    return (a + a.mT).div_(2)


def random_hermitian_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Matrices that equal their conjugate transposes."""
    a = _randn(size, batches, options)
    return (a + a.mH).div_(2)


def random_symmetric_psd_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Symmetric positive semidefinite matrices."""
    a = _randn(size, batches, options)
    return a @ a.mT


def random_hermitian_psd_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Hermitian positive semidefinite matrices."""
    a = _randn(size, batches, options)
    return a @ a.mH


def random_symmetric_pd_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Symmetric positive definite matrices."""
    a = _randn(size, batches, options)
    return a @ a.mT + wengert.eye(size, dtype=a.dtype) * 1e-5


def random_hermitian_pd_matrix(size: int, *batches: int, **options: _Options) -> Tensor:
    """Hermitian positive definite matrices."""
    a = _randn(size, batches, options)
    return a @ a.mH + wengert.eye(size, dtype=a.dtype)


def _randn(size: int, batches: tuple[int, ...], options: dict[str, Any]) -> Tensor:
    dtype = options.get("dtype", wengert.double)
    return wengert.randn(*batches, size, size, dtype=dtype)


def make_symmetric_matrices(*shape: int, device: Any, dtype: dtype_type) -> Tensor:
    """Symmetric matrices of a shape."""
    return random_symmetric_matrix(_side(shape), *shape[:-2], dtype=dtype)


def make_symmetric_pd_matrices(*shape: int, device: Any, dtype: dtype_type) -> Tensor:
    """Symmetric positive definite matrices of a shape."""
    return random_symmetric_pd_matrix(_side(shape), *shape[:-2], dtype=dtype)


def _side(shape: tuple[int, ...]) -> int:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ValueError(f"shape: got {shape}, expected that of square matrices")
    return shape[-1]


def make_fullrank_matrices_with_distinct_singular_values(
    *shape: int, device: Any, dtype: dtype_type, requires_grad: bool = False
) -> Tensor:
    """Matrices with singular values that are not zero and lie apart."""
    u, _, vh = wengert.linalg.svd(wengert.randn(*shape, dtype=dtype), full_matrices=False)
    count = min(shape[-2:])
    values = 1 + 1 / wengert.arange(2, count + 2, dtype=u.real.dtype)
    if count % 2:  # a determinant below zero, too
        values = values.clone()
        values[count // 2] *= -1
    return ((u * values.to(u.dtype)) @ vh).requires_grad_(requires_grad)


def random_matrix(rows: int, columns: int, *batch_dims: int, **options: _Options) -> Tensor:
    """Matrices of full rank, or with ``singular=True`` of one rank less."""
    dtype = options.get("dtype", wengert.double)
    u, values, vh = wengert.linalg.svd(
        wengert.randn(*batch_dims, rows, columns, dtype=dtype), full_matrices=False
    )
    count = min(rows, columns)
    values = values.clamp(min=0.5).to(u.dtype)
    if options.get("singular", False) and count:
        values = values * (wengert.arange(count) < count - 1)
    return (u * values.unsqueeze(-2)) @ vh


def random_lowrank_matrix(rank: int, rows: int, columns: int, *batch_dims: int, **o: Any) -> Tensor:
    """Matrices that are the product of two thin ones."""
    left = random_matrix(rows, rank, *batch_dims, **o)
    return left @ random_matrix(rank, columns, *batch_dims, **o)


def random_matrix_with_scaled_reduction_dim(
    rows: int, columns: int, *batch_dims: int, reduction_dim: int = -1, **options: _Options
) -> Tensor:
    """Matrices of which each product over `reduction_dim` with their transposes has variance 1."""
    shape = (*batch_dims, rows, columns)
    values = wengert.randn(*shape, dtype=options.get("dtype", wengert.double))
    return values.div_(shape[reduction_dim] ** 0.5).requires_grad_(
        options.get("requires_grad", False)
    )


def random_sparse_matrix(
    rows: int, columns: int, density: float = 0.01, **options: _Options
) -> Tensor:
    """A sparse matrix of full rank: a diagonal that dominates, and elements anywhere else."""
    dtype, short = options.get("dtype", wengert.double), min(rows, columns)
    diagonal = wengert.arange(short).repeat(2, 1)
    more = max(0, int(rows * columns * density) - short)
    anywhere = wengert.stack([wengert.randint(n, (more,)) for n in (rows, columns)])
    values = wengert.cat([
        wengert.randn(short, dtype=dtype).sign() * 2, wengert.randn(more, dtype=dtype) / (more + 1),
    ])  # fmt: skip
    indices = wengert.cat([diagonal, anywhere], 1)
    return wengert.sparse_coo_tensor(indices, values, (rows, columns)).coalesce()


def random_sparse_pd_matrix(matrix_size: int, density: float = 0.01, **options: _Options) -> Tensor:
    """A sparse symmetric matrix that is positive definite: its diagonal dominates."""
    a = random_sparse_matrix(matrix_size, matrix_size, density, **options).to_dense()
    symmetric = (a + a.T) / 2
    beside = symmetric.abs().sum(1) - symmetric.diagonal().abs()
    diagonal = beside + wengert.arange(1, matrix_size + 1, dtype=a.dtype) / matrix_size
    return symmetric.fill_diagonal_(0).add_(wengert.diag(diagonal)).to_sparse()


def is_coalesced_indices(s: Tensor) -> bool:
    """Whether the indices of a sparse tensor are sorted, and each of them is there once."""
    columns = [tuple(column) for column in s._indices().T.tolist()]
    return columns == sorted({*columns})


__all__ = [
    "is_coalesced_indices",
    "make_fullrank_matrices_with_distinct_singular_values",
    "make_symmetric_matrices",
    "make_symmetric_pd_matrices",
    "noncontiguous_like",
    "random_hermitian_matrix",
    "random_hermitian_pd_matrix",
    "random_hermitian_psd_matrix",
    "random_lowrank_matrix",
    "random_matrix",
    "random_matrix_with_scaled_reduction_dim",
    "random_sparse_matrix",
    "random_sparse_pd_matrix",
    "random_square_matrix_of_rank",
    "random_symmetric_matrix",
    "random_symmetric_pd_matrix",
    "random_symmetric_psd_matrix",
    "random_well_conditioned_matrix",
]
