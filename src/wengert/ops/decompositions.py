"""Factorizations of matrices: triangular, orthogonal, by singular values and by eigenvalues."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.complexes import imag, real
from wengert.ops.declare import Value, primitive
from wengert.ops.diagonals import diag_embed, tril, triu
from wengert.ops.joining import cat
from wengert.ops.matmul import matmul
from wengert.ops.matrices import (
    by_columns,
    check_inexact,
    check_matrix,
    check_square,
    diagonals,
    differences,
    halved_diagonal,
    identity,
    is_recorded,
    joined,
    mH,
    real_part,
    refuse,
    split_outputs,
    times,
    without_diagonal,
)
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.shape import dtype_of, unsqueeze
from wengert.ops.triangular_systems import triangular

Shape = tuple[int, ...]


# Cholesky


def _cholesky_vjp(g: Value, out: Value) -> Value:
    inner = halved_diagonal(tril(matmul(mH(out), g)))
    inner = (inner + mH(inner)) * 0.5
    # out^-H @ inner @ out^-1
    half = triangular(mH(out), inner, True, False)
    return mH(triangular(mH(out), mH(half), True, False))


_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the"
    " leading minor of order {} is not positive-definite)."
)


@primitive(
    A=_cholesky_vjp,
    batch=leading,
    label="LinalgCholeskyExBackward0",
    name="cholesky",
    layout="columns",
)
def _cholesky(A: Value, called: str | None) -> Value:
    """The lower factor; `called` is the function named in errors."""
    out, info = kernels.products.factorizations.cholesky(A)
    if called is not None:
        refuse(called, info, _NOT_POSITIVE)
    return out if info is None else np.tril(out)


@primitive(A=None, factor=None, mixed=False, batch=leading, name="cholesky")
def _not_positive(A: Value, factor: Value) -> Value:
    """0 for each matrix that has a factor, which is nan where there is none."""
    if not np.isnan(np.diagonal(factor, axis1=-2, axis2=-1)).any():
        return np.zeros(A.shape[:-2], np.int32)
    info = kernels.products.factorizations.cholesky(A)[1]
    return np.zeros(A.shape[:-2], np.int32) if info is None else info


def cholesky_factor(A: Tensor, upper: bool, called: str | None) -> Tensor:
    """The lower or upper factor of Hermitian matrices."""
    check_square(called or "linalg.cholesky_ex", A)
    check_inexact(called or "linalg.cholesky_ex", A, "cholesky_cpu")
    return by_columns(mH(_cholesky(mH(A), called))) if upper else _cholesky(A, called)


def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The triangular factor of Hermitian positive-definite matrices: input = L @ L.mH.

    With `upper` input = U.mH @ U. Raises `linalg.LinAlgError` for other matrices.

    >>> import wengert
    >>> wengert.cholesky(wengert.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    if out is not None:
        return write_out(cholesky, out, input, upper)
    return cholesky_factor(input, upper, "cholesky")


def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """The factor, and for each matrix 0 or the order of the first non-positive minor.

    Raises only with `check_errors`; otherwise a matrix without a factor gives nan.

    >>> import wengert
    >>> wengert.linalg.cholesky_ex(-wengert.eye(2)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        return write_out(cholesky_ex, out, A, upper=upper, check_errors=check_errors)
    factor = cholesky_factor(A, upper, "linalg.cholesky_ex" if check_errors else None)
    info = _not_positive(mH(A) if upper else A, factor)
    return result_of("linalg_cholesky_ex", factor, info)


# LU with row interchanges: A = P @ L @ U


def _lu_sizes(shape: Shape) -> tuple[Shape, Shape, Shape]:
    m, n = shape[-2:]
    return (m, n), (min(m, n),), ()


def _lu_vjp(g: Value, out: Value, A_shape: Shape) -> Value:
    m, n = A_shape[-2:]
    k = min(m, n)
    compact, pivots, _ = split_outputs(out, *_lu_sizes(A_shape))
    g = split_outputs(g, *_lu_sizes(A_shape))[0]
    P = permutation_matrix(pivots, m, dtype_of(g))
    corner, g_corner = compact[..., :k, :k], g[..., :k, :k]
    L, U = tril(corner, -1) + identity(k, g), triu(corner)
    inner_l, inner_u = matmul(mH(L), tril(g_corner, -1)), matmul(triu(g_corner), mH(U))
    g_extra = None
    if n > m:  # the columns beyond the square are L^-1 of those of A
        g_rest, u_rest = g[..., :, k:], compact[..., :, k:]
        inner_l = inner_l - matmul(g_rest, mH(u_rest))
        g_extra = triangular(mH(L), g_rest, True, True)
    elif m > n:  # the rows beyond it times U are those of A
        g_rest, l_rest = g[..., k:, :], compact[..., k:, :]
        inner_u = inner_u - matmul(mH(l_rest), g_rest)
        g_extra = mH(triangular(U, mH(g_rest), True, False))
    inner = tril(inner_l, -1) + triu(inner_u)
    gradient = mH(triangular(U, mH(triangular(mH(L), inner, True, True)), True, False))
    if g_extra is not None:
        gradient = cat([gradient, g_extra], -1 if n > m else -2)
    return matmul(P, gradient)


@primitive(A=_lu_vjp, batch=leading, label="LinalgLuFactorExBackward0", name="linalg.lu")
def _lu(A: Value, called: str | None) -> Value:
    out, pivots, info = kernels.products.factorizations.lu(A)
    if called is not None and info.any():
        k = int(info[info != 0].flat[0])
        raise RuntimeError(
            f"{called}: U[{k},{k}] is zero and using it on lu_solve would result in a division by"
            " zero. If you still want to perform the factorization, consider calling"
            " linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    return joined(A.shape[:-2], out, pivots.astype(A.dtype), info.astype(A.dtype))


@primitive(pivots=None, batch=leading, name="lu_unpack", layout="contiguous")
def permutation_matrix(pivots: Value, n: int, dtype: np.dtype) -> Value:
    """The matrices that undo the row interchanges."""
    order = kernels.products.factorizations.permutation(pivots.real, n)
    return np.swapaxes(np.eye(n, dtype=dtype)[order], -1, -2)


def lu_parts(name: str, A: Tensor, pivot: bool, called: str | None) -> list[Tensor]:
    """Both factors in one, the pivots and LAPACK's codes."""
    check_matrix(name, A)
    check_inexact(name, A, "lu_cpu")
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")
    factors, *integers = split_outputs(_lu(A, called), *_lu_sizes(tuple(A.shape)))
    return [factors, *(convert(real(x), dtypes.int32) for x in integers)]


def lu_factor(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> Any:
    """L (without its unit diagonal) and U in one tensor, and the pivots.

    Raises RuntimeError for singular matrices.

    >>> import wengert
    >>> wengert.linalg.lu_factor(wengert.tensor([[0.0, 2.0], [4.0, 6.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    if out is not None:
        return write_out(lu_factor, out, A, pivot=pivot)
    name = "torch.linalg.lu_factor"
    return result_of("linalg_lu_factor", *lu_parts(name, A, pivot, name)[:2])


def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """As `lu_factor`, plus for each matrix the 1-based index of a zero pivot, or 0.

    >>> import wengert
    >>> wengert.linalg.lu_factor_ex(wengert.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        return write_out(lu_factor_ex, out, A, pivot=pivot, check_errors=check_errors)
    name = "torch.linalg.lu_factor_ex"
    return result_of(
        "linalg_lu_factor_ex", *lu_parts(name, A, pivot, name if check_errors else None)
    )


def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """Unpack the result of `linalg.lu_factor` into P, L and U; parts not requested are empty.

    >>> import wengert
    >>> A = wengert.tensor([[0.0, 2.0], [4.0, 6.0]])
    >>> P, L, U = wengert.lu_unpack(*wengert.linalg.lu_factor(A))
    >>> P @ L @ U
    tensor([[0., 2.],
            [4., 6.]])
    """
    if out is not None:
        return write_out(lu_unpack, out, LU_data, LU_pivots, unpack_data, unpack_pivots)
    check_matrix("lu_unpack", LU_data, "LU_data")
    if dtype_of(LU_pivots) != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32"
            f" dtype, but got {LU_pivots.dtype}"
        )
    P = L = U = LU_data.new_empty((0,))
    if unpack_pivots:
        P = permutation_matrix(LU_pivots, LU_data.shape[-2], dtype_of(LU_data))
    if unpack_data:
        L, U = triangles(LU_data)
    return result_of("lu_unpack", P, L, U)


def triangles(compact: Tensor) -> tuple[Tensor, Tensor]:
    """Split L and U out of LAPACK's packed tensor."""
    m, n = compact.shape[-2:]
    k = builtins.min(m, n)
    ones = np.eye(m, k, dtype=dtype_of(compact))
    return tril(compact[..., :, :k], -1) + ones, triu(compact[..., :k, :])


def lu(A: Tensor, *, pivot: bool = True, out: tuple[Tensor, ...] | None = None) -> Any:
    """P, L and U of A = P @ L @ U: a permutation and two triangular factors.

    >>> import wengert
    >>> wengert.linalg.lu(wengert.tensor([[0.0, 2.0], [4.0, 6.0]])).U
    tensor([[4., 6.],
            [0., 2.]])
    """
    if out is not None:
        return write_out(lu, out, A, pivot=pivot)
    factors, pivots, _ = lu_parts("linalg.lu", A, pivot, None)
    P = permutation_matrix(pivots, A.shape[-2], dtype_of(A))
    return result_of("linalg_lu", P, *triangles(factors))


# QR


def _qr_sizes(shape: Shape, form: str) -> tuple[Shape, Shape]:
    m, n = shape[-2:]
    k = m if form == "complete" else min(m, n)
    return (m, 0 if form == "r" else k), (k, n)


def _qr_vjp(g: Value, out: Value, A_shape: Shape, form: str) -> Value:
    m, n = A_shape[-2:]
    if form == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please"
            " use linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if form == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    sizes = _qr_sizes(A_shape, form)
    (Q, R), (gQ, gR) = split_outputs(out, *sizes), split_outputs(g, *sizes)
    g_extra = None
    if n > m:  # the columns beyond the square are Q @ those of R
        g_extra = matmul(Q, gR[..., m:])
        gQ = gQ + times(Q, R[..., m:], mH(gR[..., m:]))
        R, gR = R[..., :m], gR[..., :m]
    inner = triu(matmul(gR, mH(R)) - matmul(mH(Q), gQ))
    inner = halved_diagonal(inner + mH(inner))
    gradient = mH(triangular(R, mH(gQ + matmul(Q, inner)), True, False))
    return gradient if g_extra is None else cat([gradient, g_extra], -1)


@primitive(A=_qr_vjp, batch=leading, label="LinalgQrBackward0", name="linalg.qr")
def _qr(A: Value, form: str) -> Value:
    return joined(A.shape[:-2], *kernels.products.factorizations.qr(A, form))


def qr_factors(A: Tensor, mode: str) -> list[Tensor]:
    """Q and R; Q is empty in mode "r"."""
    check_matrix("linalg.qr", A)
    check_inexact("linalg.qr", A, "geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r',"
            " or 'complete'"
        )
    q, r = split_outputs(_qr(A, mode), *_qr_sizes(tuple(A.shape), mode))
    return [A.new_empty((0,)) if mode == "r" else q, r]


def qr(input: Tensor, some: bool = True, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """Q and R of input = Q @ R: orthonormal columns, and an upper triangle.

    `some=False` makes Q square.

    >>> import wengert
    >>> wengert.qr(wengert.tensor([[3.0, 1.0], [4.0, 2.0]])).R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    if out is not None:
        return write_out(qr, out, input, some)
    return result_of("qr", *qr_factors(input, "reduced" if some else "complete"))


@primitive(input=None, batch=leading, name="geqrf")
def _reflectors(input: Value) -> Value:
    return joined(input.shape[:-2], *kernels.products.factorizations.householder(input))


def geqrf(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """A QR factorization in LAPACK's packed form, for `linalg.householder_product`; no derivative.

    >>> import wengert
    >>> wengert.geqrf(wengert.tensor([[3.0], [4.0]])).a
    tensor([[-5.0000],
            [ 0.5000]])
    """
    if out is not None:
        return write_out(geqrf, out, input)
    check_matrix("geqrf", input)
    check_inexact("geqrf", input, "geqrf_cpu")
    m, n = input.shape[-2:]
    return result_of("geqrf", *split_outputs(_reflectors(input), (m, n), (builtins.min(m, n),)))


# Singular values


def _svd_sizes(shape: Shape, full: bool) -> tuple[Shape, Shape, Shape]:
    m, n = shape[-2:]
    k = min(m, n)
    return (m, m if full else k), (k,), (n if full else k, n)


def _svd_vjp(g: Value, out: Value, A_shape: Shape, full: bool) -> Value:
    m, n = A_shape[-2:]
    k, sizes = min(m, n), _svd_sizes(A_shape, full)
    # Vectors beyond the k-th are an arbitrary completion: not a function of A.
    (U, S, Vh), (gU, gS, gVh) = (
        (u[..., :, :k], real(s), v[..., :k, :])
        for u, s, v in (split_outputs(out, *sizes), split_outputs(g, *sizes))
    )
    V, gV = mH(Vh), mH(gVh)
    left, right = matmul(mH(U), gU), matmul(Vh, gV)
    gaps = differences(S * S)
    row, column = unsqueeze(S, -2), unsqueeze(S, -1)
    inner = (left - mH(left)) / gaps * row + column * ((right - mH(right)) / gaps)
    inner = without_diagonal(inner)
    diagonal = gS
    if dtype_of(g).kind == "c":
        phase = imag(diagonals(left)) - imag(diagonals(right))
        diagonal = gS + phase / (S + S) * 1j
    gradient = times(U, inner + diag_embed(diagonal), Vh)
    if m > k:
        gradient = gradient + matmul((gU - matmul(U, left)) / row, Vh)
    if n > k:
        gradient = gradient + matmul(U, mH((gV - matmul(V, right)) / row))
    return gradient


@primitive(A=_svd_vjp, batch=leading, label="LinalgSvdBackward0", name="linalg.svd")
def _svd(A: Value, full: bool) -> Value:
    _refuse_nonfinite("linalg.svd", A)
    return joined(A.shape[:-2], *kernels.products.factorizations.svd(A, full))


def _singular_values_vjp(g: Value, whole: Value, A_shape: Shape, full: bool) -> Value:
    k = min(*A_shape[-2:])
    U, _, Vh = split_outputs(whole, *_svd_sizes(A_shape, full))
    return times(U[..., :, :k] * unsqueeze(real(g), -2), Vh[..., :k, :])


# The values for users are an operation of their own: a loss of them alone has a gradient where
# values are equal or zero, and the rule for the vectors is not finite there.
@primitive(
    A=_singular_values_vjp, whole=lambda g: None, batch=leading, mixed=False,
    label="LinalgSvdBackward0", name="linalg.svd",
)  # fmt: skip
def _singular_values(A: Value, whole: Value, full: bool) -> Value:
    (m, first), (k,), _ = _svd_sizes(A.shape, full)
    return whole[..., m * first : m * first + k].copy()


def _refuse_nonfinite(name: str, A: np.ndarray) -> None:
    bad = ~np.isfinite(A).all((-2, -1))
    refuse(name, bad, "The algorithm failed to converge because the input matrix contained"
           " non-finite values.")  # fmt: skip


def svd_factors(A: Tensor, full: bool) -> list[Tensor]:
    """U, the singular values and the conjugate transpose of V."""
    check_matrix("linalg.svd", A)
    check_inexact("linalg.svd", A, "linalg_svd_cpu")
    whole = _svd(A, full)
    u, _, vh = split_outputs(whole, *_svd_sizes(tuple(A.shape), full))
    return [u, real_part(_singular_values(A, whole, full)), vh]


def _svdvals_vjp(g: Value, A: Value) -> Value:
    u, _, vh = split_outputs(_svd(A, False), *_svd_sizes(tuple(A.shape), False))
    return times(u * unsqueeze(g, -2), vh)


@primitive(A=_svdvals_vjp, batch=leading, label="LinalgSvdBackward0", name="linalg.svdvals")
def _svdvals(A: Value) -> Value:
    _refuse_nonfinite("linalg.svd", A)
    return kernels.products.factorizations.svdvals(A)


def _svdvals_vjp_by_vectors(g: Value, A: Value, u: Value, vh: Value) -> Value:
    if isinstance(g, Tensor) or isinstance(A, Tensor):  # recorded: the vectors depend on A, too
        return _svdvals_vjp(g, A)
    return times(u * unsqueeze(g, -2), vh)


@primitive(
    A=_svdvals_vjp_by_vectors, aux=("u", "vh"), reference=lambda A: _svdvals(A),
    label="LinalgSvdBackward0", name="linalg.svdvals",
)  # fmt: skip
def _svdvals_with_vectors(A: Value) -> Value:
    _refuse_nonfinite("linalg.svd", A)
    u, s, vh = kernels.products.factorizations.svd(A, False)
    return s, u, vh


def svdvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices, the largest first.

    >>> import wengert
    >>> wengert.linalg.svdvals(wengert.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor([4., 3.])
    """
    if out is not None:
        return write_out(svdvals, out, A)
    check_matrix("linalg.svd", A)
    check_inexact("linalg.svd", A, "linalg_svd_cpu")
    # Backward needs the vectors, of which the values are a by-product.
    return _svdvals_with_vectors(A) if is_recorded(A) else _svdvals(A)


def svd(
    input: Tensor,
    some: bool = True,
    compute_uv: bool = True,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """U, S and V of input = U @ diag(S) @ V.mH; `some=False` makes U and V square.

    Without `compute_uv`, U and V are zeros. `linalg.svd` is the same with V.mH.

    >>> import wengert
    >>> wengert.svd(wengert.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    if out is not None:
        return write_out(svd, out, input, some, compute_uv)
    if compute_uv:
        u, s, vh = svd_factors(input, not some)
        return result_of("svd", u, s, mH(vh))
    s = svdvals(input)
    m, n = input.shape[-2:]
    zeros = [input.new_zeros((*input.shape[:-2], k, k)) for k in (m, n)]
    return result_of("svd", zeros[0], s, mH(zeros[1]))


__all__ = ["cholesky", "geqrf", "lu_unpack", "qr", "svd"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("cholesky", "geqrf", "qr", "svd")
INPLACE: tuple[str, ...] = ()
