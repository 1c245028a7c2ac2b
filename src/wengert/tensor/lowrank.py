"""Low-rank factors of large matrices, from products with random ones.

Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 53 (2011).
"""

from __future__ import annotations

from typing import Any

from wengert.core.tensor import Tensor
from wengert.ops.decompositions import qr_factors, svd_factors
from wengert.ops.reduction import mean
from wengert.tensor.arguments import require_tensor
from wengert.tensor.random import randn

Factors = tuple[Tensor, Tensor, Tensor]


def _range_of(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that span nearly what the largest `q` singular vectors do."""
    basis, _ = qr_factors(A @ randn(A.shape[-1], q, dtype=A.dtype), "reduced")
    for _ in range(niter):
        turned, _ = qr_factors(A.mH @ basis, "reduced")
        basis, _ = qr_factors(A @ turned, "reduced")
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Factors:
    """U, S and V of nearly A = U @ diag(S) @ V.mH, with the largest `q` singular values.

    Args:
        A: matrices (..., m, n).
        q: how many; a few more than the rank that is wanted.
        niter: how many rounds refine the random start.
        M: what is subtracted from A, such as its mean; it broadcasts.

    >>> import wengert
    >>> U, S, V = wengert.svd_lowrank(wengert.diag(wengert.tensor([3.0, 2.0, 0.0])), 2)
    >>> S
    tensor([3., 2.])
    """
    require_tensor("svd_lowrank", "A", A)
    count, rounds = 6 if q is None else q, 2 if niter is None else niter
    matrix: Any = A if M is None else A - M
    wide = matrix.shape[-2] < matrix.shape[-1]
    tall = matrix.mH if wide else matrix
    basis = _range_of(tall, count, rounds)
    left, S, right = svd_factors(basis.mH @ tall, False)
    U, V = basis @ left, right.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """The principal components of rows: `svd_lowrank` of `A` less its mean row.

    The columns of V are the directions, and S**2 / (m - 1) their variances. `q` is by default 6, or
    the smaller length of the matrices. Raises ValueError for a `q` beyond that.

    >>> import wengert
    >>> wengert.pca_lowrank(wengert.tensor([[1.0, 0.0], [3.0, 0.0], [5.0, 0.0]]), 1)[1]
    tensor([2.8284])
    """
    require_tensor("pca_lowrank", "A", A)
    least = min(A.shape[-2:])
    count = min(6, least) if q is None else q
    if not 0 <= count <= least:
        raise ValueError(
            f"q(={count}) must be non-negative integer and not greater than min(m, n)={least}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A, count, niter, mean(A, (-2,), True) if center else None)


__all__ = ["pca_lowrank", "svd_lowrank"]
