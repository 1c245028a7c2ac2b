"""Low-rank factors and extreme eigenvalues of large matrices, from products with random ones.

Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 53 (2011).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.core.dtypes import float64, promote_types
from wengert.core.info import finfo
from wengert.core.tensor import Tensor, mode, wrap
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
    >>> S.round()
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


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) eigenvalues of ``A x = w B x`` and their vectors, by SciPy.

    Args:
        A: symmetric or Hermitian matrices (..., m, m), dense or sparse.
        k: how many; as many as X has columns, else 1.
        B: positive definite, as A; without it the identity.
        X: where the search begins, (..., m, n); random without it.
        n: columns of a random X, at least k.
        iK: an approximation of A's inverse that speeds the search up.
        niter: how many steps at most; 1000 if None or negative.
        tol: the norm of a residual, relative to that of A, that ends the search.
        largest: False for the smallest.
        method, ortho_iparams, ortho_fparams, ortho_bparams: without effect.
        tracker: not supported; NotImplementedError.

    Raises ValueError unless m is at least 3 n, and RuntimeError where a derivative is wanted:
    `linalg.eigh` has one.

    >>> import wengert
    >>> values, _ = wengert.lobpcg(wengert.diag(wengert.arange(1.0, 10.0)), k=2)
    >>> values
    tensor([9., 8.])
    """
    _check_problem(A, B, X, iK, method, tracker)
    k = (1 if X is None else X.shape[-1]) if k is None else k
    columns = (k if n is None else n) if X is None else X.shape[-1]
    m, lead = A.shape[-1], A.shape[:-2]
    if m < 3 * columns:
        raise ValueError(
            "LPBPCG algorithm is not applicable when the number of A rows"
            f" (={m}) is smaller than 3 x the number of requested eigenpairs (={columns})"
        )
    start = randn(*lead, m, columns, dtype=A.dtype) if X is None else X.expand(*lead, m, columns)
    steps = 1000 if niter is None or niter < 0 else niter
    relative = float(np.sqrt(finfo(A.dtype).eps)) if tol is None else tol
    pairs = [
        _eigenpairs([_product_with(x, i) for x in (A, B, iK)], _in_double(start).numpy()[i], steps,
                    relative, largest is not False)
        for i in np.ndindex(*lead)
    ]  # fmt: skip
    values = np.array([w[:k] for w, _ in pairs]).reshape(*lead, k)
    vectors = np.array([v[:, :k] for _, v in pairs]).reshape(*lead, m, k)
    return wrap(values).to(A.dtype.to_real()), wrap(vectors).to(A.dtype)


def _check_problem(A: Any, B: Any, X: Any, iK: Any, method: Any, tracker: Any) -> None:
    for name, value in (("A", A), ("B", B), ("X", X), ("iK", iK)):
        if value is not None or name == "A":
            require_tensor("lobpcg", name, value)
    if tracker is not None:
        raise NotImplementedError("lobpcg(): argument 'tracker' is not supported, it must be None")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg(): method must be 'basic' or 'ortho', got {method!r}")
    if mode.site is not None and any(x is not None and x.requires_grad for x in (A, B)):
        raise RuntimeError("lobpcg() has no derivative here; use torch.linalg.eigh, or detach()")


def _in_double(x: Tensor) -> Tensor:
    return x.detach().to(promote_types(x.dtype, float64))


def _product_with(x: Tensor | None, i: tuple[int, ...]) -> Any:
    """The function that multiplies by one matrix of a batch."""
    if x is None:
        return None
    matrix = _in_double(x)
    matrix = matrix[i] if matrix.ndim > 2 else matrix
    dtype = matrix.dtype.np  # SciPy asks with integers as well
    return lambda columns: (matrix @ wrap(np.ascontiguousarray(columns, dtype))).numpy()


def _eigenpairs(
    products: list[Any], start: np.ndarray, steps: int, tol: float, largest: bool
) -> tuple[np.ndarray, np.ndarray]:
    from scipy.sparse import linalg

    by_a, by_b, preconditioner = products
    scale = np.linalg.norm(by_a(start)) / np.linalg.norm(start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of residuals that are larger: PyTorch says nothing
        values, vectors = linalg.lobpcg(
            by_a, start, B=by_b, M=preconditioner, tol=tol * scale, maxiter=steps, largest=largest
        )
    return values, vectors


__all__ = ["lobpcg", "pca_lowrank", "svd_lowrank"]
