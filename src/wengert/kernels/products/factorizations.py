"""Factors of stacks of matrices, from LAPACK by way of NumPy and SciPy.

Functions that may fail for a matrix also return `None` if all succeeded, or LAPACK's code for each
matrix; the result of a failed one is nan.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Literal

import numpy as np

from wengert.core.forks import hold_forks
from wengert.kernels.products import openblas
from wengert.kernels.products.blas import dot, matmul, one_thread, threads_for

Info = np.ndarray | None
Outcome = tuple[np.ndarray, Info]
Triangle = Literal["L", "U"]

# Rows, and right sides, from which half of a triangular system is a product: those are fast.
_SUBSTITUTED = 32
# Rows from which matrices of a stack are worth a call each.
_WORTH_CALLS = 16
# How many times a tolerance a bound must be, for all that was rounded.
_BEYOND_DOUBT = 8


def _lapack(names: tuple[str, ...], *arrays: np.ndarray) -> Any:
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(names, arrays)


def stacked(a: np.ndarray) -> np.ndarray:
    """The matrices of an array along one leading dimension."""
    return a.reshape(prod(a.shape[:-2]), *a.shape[-2:])


def _threads_for(a: np.ndarray) -> Any:
    """The context of a call of NumPy's LAPACK for each of the matrices."""
    return threads_for(prod(a.shape[-2:]) * min(a.shape[-2:]))


def _or_nan(function: Callable[..., Any], codes: Callable[[np.ndarray], np.ndarray],
            a: np.ndarray, *others: np.ndarray) -> Outcome:  # fmt: skip
    """`function` of all matrices at once or, if one of them fails, of the others."""
    try:
        with _threads_for(a):
            return function(a, *others), None
    except np.linalg.LinAlgError:
        info = codes(a)
        out = np.full_like(others[0] if others else a, np.nan)
        good = info == 0
        if good.any():
            with _threads_for(a):
                out[good] = function(a[good], *(b[good] for b in others))
        return out, info


def zero_pivots(a: np.ndarray) -> np.ndarray:
    """For each matrix the 1-based index of the first zero pivot, or 0."""
    return lu(a)[2]


def lu(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both triangular factors in one array, the pivots (from 1) and zero pivots."""
    k = min(a.shape[-2:])
    out, lead = stacked(a).copy(), a.shape[:-2]
    pivots = np.tile(np.arange(k, dtype=np.int32), (len(out), 1))
    info = np.zeros(len(out), np.int32)
    if k:
        (getrf,) = _lapack(("getrf",), out)
        for i, matrix in enumerate(out):
            with hold_forks():
                out[i], pivots[i], info[i] = getrf(matrix)
    return out.reshape(a.shape), (pivots + 1).reshape(*lead, k), info.reshape(lead)


def ldl(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L and D in the lower half, LAPACK's pivots, and the place (from 1) of a zero in D, or 0."""
    out, lead, n = stacked(a).copy(), a.shape[:-2], a.shape[-1]
    pivots, info = np.zeros((len(out), n), np.int32), np.zeros(len(out), np.int32)
    if n:
        (factor,) = _lapack((_of_symmetric("trf", a, hermitian),), out)
        for i, matrix in enumerate(out):
            with hold_forks():
                out[i], pivots[i], info[i] = factor(matrix, lower=1)
    return np.tril(out).reshape(a.shape), pivots.reshape(*lead, n), info.reshape(lead)


def ldl_solve(
    factors: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool
) -> np.ndarray:
    """What the factored matrices times gives `b`."""
    out = stacked(b).copy()
    if b.size:
        (solve,) = _lapack((_of_symmetric("trs", factors, hermitian),), out)
        rows = pivots.reshape(len(out), pivots.shape[-1])
        for i, matrix in enumerate(stacked(factors)):
            with hold_forks():
                out[i] = solve(matrix, rows[i], out[i], lower=1)[0]
    return out.reshape(b.shape)


def _of_symmetric(what: str, a: np.ndarray, hermitian: bool) -> str:
    return ("he" if hermitian and a.dtype.kind == "c" else "sy") + what


def permutation(pivots: np.ndarray, n: int) -> np.ndarray:
    """The permutations, as indices, that exchange row i with row `pivots[i] - 1` in turn."""
    lead, k = pivots.shape[:-1], pivots.shape[-1]
    swaps = pivots.reshape(prod(lead), k).astype(np.int64) - 1
    order = np.tile(np.arange(n), (len(swaps), 1))
    rows = np.arange(len(swaps))
    for i in range(k):
        j = swaps[:, i]
        order[rows, j], order[:, i] = order[:, i].copy(), order[rows, j]
    return order.reshape(*lead, n)


def not_positive(a: np.ndarray) -> np.ndarray:
    """For each matrix the order of the first leading minor that is not positive, or 0."""
    (potrf,) = _lapack(("potrf",), a)
    with hold_forks():
        codes = [potrf(m, lower=1)[1] if m.size else 0 for m in stacked(a)]
    return np.array(codes, np.int32).reshape(a.shape[:-2])


def cholesky(a: np.ndarray) -> Outcome:
    """The lower factors of Hermitian matrices, of which the lower triangle is read.

    Those are all nan that failed.
    """
    out, info = _or_nan(np.linalg.cholesky, not_positive, a)
    # LAPACK takes a pivot that is nan for a positive one.
    unknown = np.isnan(out.diagonal(0, -2, -1))
    if not np.count_nonzero(unknown):
        return out, info
    first = np.where(unknown.any(-1), unknown.argmax(-1) + 1, 0).astype(np.int32)
    info = first if info is None else np.where(info == 0, first, info)
    out[info != 0] = np.nan
    return out, info


def inverse(a: np.ndarray) -> Outcome:
    """The inverses of square matrices."""
    return _or_nan(np.linalg.inv, zero_pivots, a)


def solve(a: np.ndarray, b: np.ndarray) -> Outcome:
    """x of a @ x = b, for `b` of as many dimensions."""
    found = _solved_in_place(a, b) if a.size and b.size and a.dtype == b.dtype else None
    return _or_nan(np.linalg.solve, zero_pivots, a, b) if found is None else found


def _solved_in_place(a: np.ndarray, b: np.ndarray) -> Outcome | None:
    """The same in half of the time that NumPy takes, matrix by matrix; None if it cannot be."""
    lead, (n, sides) = a.shape[:-2], b.shape[-2:]
    if prod(lead) > 1 and n < _WORTH_CALLS:
        return None
    out = np.empty((prod(lead), sides, n), b.dtype).swapaxes(-1, -2)  # in columns, as LAPACK's
    info = np.zeros(len(out), np.int32)
    with _threads_for(a):
        for i, (matrix, given) in enumerate(zip(stacked(a), stacked(b), strict=True)):
            out[i] = given
            code = openblas.solve(np.array(matrix, order="F"), out[i])
            if code is None:
                return None
            info[i] = code
    if not info.any():
        return out.reshape(b.shape), None
    out[info > 0] = np.nan
    return out.reshape(b.shape), info.reshape(lead)


def solve_triangular(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """x of a @ x = b by substitution; the other triangle of `a` is not read."""
    out = np.array(b, np.result_type(a, b), order="C")
    if out.size:
        with one_thread():
            for matrix, sides in zip(stacked(np.ascontiguousarray(a)), stacked(out), strict=True):
                _solve(matrix, sides, upper, unit)
    return np.ascontiguousarray(out.swapaxes(-1, -2)).swapaxes(-1, -2)  # in columns, as LAPACK's


def _solve(a: np.ndarray, x: np.ndarray, upper: bool, unit: bool) -> None:
    """Replace right sides by solutions, those of half of the rows first."""
    half = len(a) // 2
    if half < _SUBSTITUTED or x.shape[1] < _SUBSTITUTED:
        if not openblas.substitute(a, x, upper, unit):
            from scipy.linalg import get_blas_funcs

            (trsm,) = get_blas_funcs(("trsm",), (a, x))
            with hold_forks():
                x[...] = trsm(1.0, a, x, lower=not upper, diag=unit)
        return
    first, second = slice(half), slice(half, None)
    if upper:
        first, second = second, first
    _solve(a[first, first], x[first], upper, unit)
    x[second] -= dot(a[second, first], x[first])
    _solve(a[second, second], x[second], upper, unit)


def householder(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A QR factorization in LAPACK's form: R above the reflectors, and their factors."""
    m, n = a.shape[-2:]
    out, lead = stacked(a).copy(), a.shape[:-2]
    tau = np.zeros((len(out), min(m, n)), a.dtype)
    if min(m, n):
        (geqrf,) = _lapack(("geqrf",), out)
        for i, matrix in enumerate(out):
            with hold_forks():
                out[i], tau[i], _, _ = geqrf(matrix)
    return out.reshape(a.shape), tau.reshape(*lead, min(m, n))


def qr(a: np.ndarray, form: Any) -> tuple[np.ndarray, ...]:
    """Q and R, or R alone for the form "r"."""
    with _threads_for(a):
        found: Any = np.linalg.qr(a, form)
    return (found,) if form == "r" else tuple(found)


def eig(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors, complex for real matrices as well."""
    with _threads_for(a):
        values, vectors = np.linalg.eig(a)
    to = np.result_type(a.dtype, np.complex64)
    return values.astype(to), vectors.astype(to)


def eigvals(a: np.ndarray) -> np.ndarray:
    """Eigenvalues, complex for real matrices where they have to be."""
    with _threads_for(a):
        return np.linalg.eigvals(a)


def eigh(a: np.ndarray, triangle: Triangle) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    with _threads_for(a):
        values, vectors = np.linalg.eigh(a, triangle)
    return values, vectors


def eigvalsh(a: np.ndarray, triangle: Triangle) -> np.ndarray:
    """Eigenvalues of Hermitian matrices, of which one triangle is read."""
    with _threads_for(a):
        return np.linalg.eigvalsh(a, triangle)


def det(a: np.ndarray) -> np.ndarray:
    """The determinants of square matrices."""
    with _threads_for(a):
        return np.linalg.det(a)


def slogdet(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Signs, and logarithms of magnitudes, of determinants."""
    with _threads_for(a):
        sign, log = np.linalg.slogdet(a)
    return sign, log


def svd(a: np.ndarray, full: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, S and the conjugate transpose of V."""
    m, n = a.shape[-2:]
    if m and n:
        with _threads_for(a):
            return tuple(np.linalg.svd(a, full_matrices=full))  # type: ignore[return-value]
    # LAPACK refuses a matrix without elements.
    lead = a.shape[:-2]
    rows, columns = (m, n) if full else (0, 0)
    u = np.broadcast_to(np.eye(m, rows, dtype=a.dtype), (*lead, m, rows))
    v = np.broadcast_to(np.eye(columns, n, dtype=a.dtype), (*lead, columns, n))
    return u, np.zeros((*lead, 0), a.real.dtype), v


def svdvals(a: np.ndarray) -> np.ndarray:
    """The singular values alone."""
    if not a.size:
        return svd(a, False)[1]
    with _threads_for(a):
        return np.linalg.svd(a, compute_uv=False)


def full_rank_inverse(a: np.ndarray, atol: np.ndarray, rtol: np.ndarray) -> np.ndarray | None:
    """The pseudoinverses of matrices whose singular values are above tolerances beyond doubt.

    By QR, in a fraction of the time that singular values take. None if some matrix may have a
    smaller one: Frobenius norms bound the largest and the smallest.
    """
    m, n = a.shape[-2:]
    if m < n:
        found = full_rank_inverse(_adjoint(a), atol, rtol)
        return None if found is None else _adjoint(found)
    with _threads_for(a):
        q, r = np.linalg.qr(a)
    if not np.diagonal(r, axis1=-2, axis2=-1).all():
        return None
    inverse_of_r = solve_triangular(
        r, np.broadcast_to(np.eye(n, dtype=r.dtype), r.shape), True, False
    )
    with np.errstate(all="ignore"):
        most, least = _frobenius(r), 1 / _frobenius(inverse_of_r)
        if not (least > _BEYOND_DOUBT * np.maximum(atol, rtol * most)).all():
            return None
    return matmul(inverse_of_r, _adjoint(q))


def _adjoint(a: np.ndarray) -> np.ndarray:
    return np.swapaxes(a, -1, -2).conj()


def _frobenius(a: np.ndarray) -> Any:
    return np.sqrt(np.square(np.abs(a)).sum((-2, -1), dtype=np.float64))


def matrix_exp(a: np.ndarray) -> np.ndarray:
    """The exponentials of square matrices."""
    from scipy.linalg import expm

    if not a.size:
        return a.copy()
    with hold_forks():
        return np.asarray(expm(a)).astype(a.dtype, copy=False)
