"""Pseudoinverses, least squares and ranks, which ignore small singular values."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.tensor import Tensor, memory_of, wrap
from wengert.kernels.products.matmul import product
from wengert.ops.batching import leading
from wengert.ops.broadcasting import expand
from wengert.ops.casting import convert
from wengert.ops.complexes import real
from wengert.ops.declare import Value, primitive
from wengert.ops.decompositions import svdvals
from wengert.ops.eigen import eigvalsh
from wengert.ops.extrema import amax
from wengert.ops.gathering import elements
from wengert.ops.masking import maximum
from wengert.ops.matmul import matmul
from wengert.ops.matrices import (
    broadcast_lead,
    by_columns,
    check_inexact,
    check_matrix,
    check_same_dtype,
    check_square,
    led,
    mH,
    times,
)
from wengert.ops.reduction import sum
from wengert.ops.results import result_of
from wengert.ops.shape import dtype_of, squeeze, unsqueeze
from wengert.ops.variadic import require_tensor

Tolerance = float | Tensor | None


def _tolerances(A: Tensor, atol: Tolerance, rtol: Tolerance) -> tuple[Tensor, Tensor]:
    """Both tolerances, one pair per matrix."""
    single = dtype_of(A).name in ("float32", "complex64")
    kind = np.float32 if single else np.float64
    if rtol is None:
        none = atol is None or (isinstance(atol, (float, int)) and atol <= 0)
        rtol = float(np.finfo(kind).eps) * max(A.shape[-2:]) if none else 0.0
    lead = tuple(A.shape[:-2])
    tolerances = []
    for value in (0.0 if atol is None else atol, rtol):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError("atol and rtol must be real, but got a complex tensor")
        tensor = value if isinstance(value, Tensor) else wrap(np.asarray(value, kind))
        tensor = convert(tensor, dtypes.of_numpy[np.dtype(kind)])
        tolerances.append(expand(tensor, np.broadcast_shapes(lead, tuple(tensor.shape))))
    return tolerances[0], tolerances[1]


# Pseudoinverses


def _pinv_vjp(g: Value, A: Value, out: Value) -> Value:
    P, Ph, gh = out, mH(out), mH(g)
    # (1 - A P) g^H P P^H and P^H P g^H (1 - P A), and that of a regular inverse.
    left = times(gh, P, Ph)
    right = times(Ph, P, gh)
    return left - times(A, P, left) + (right - times(right, P, A)) - times(Ph, g, Ph)


@primitive(
    A=_pinv_vjp, atol=None, rtol=None, batch=leading, mixed=False,
    label="LinalgPinvBackward0", name="linalg.pinv",
)  # fmt: skip
def _pinv(A: Value, atol: Value, rtol: Value, hermitian: bool) -> Value:
    if not A.size:
        return np.swapaxes(A, -1, -2).copy()
    if hermitian:
        s, u = kernels.products.factorizations.eigh(A, "L")
        v = u
    else:
        found = kernels.products.factorizations.full_rank_inverse(A, atol, rtol)
        if found is not None:
            return np.ascontiguousarray(found)
        u, s, vh = kernels.products.factorizations.svd(A, False)
        v = np.swapaxes(vh, -1, -2).conj()
    size = np.abs(s)
    bound = np.maximum(atol[..., None], rtol[..., None] * size.max(-1, keepdims=True))
    with np.errstate(divide="ignore"):
        inverse = np.where(size > bound, 1 / s, 0)
    return product(v * inverse[..., None, :], np.swapaxes(u, -1, -2).conj()).astype(A.dtype)


def pseudoinverse(A: Tensor, atol: Tolerance, rtol: Tolerance, hermitian: bool) -> Tensor:
    """The pseudoinverse; singular values within max(atol, rtol * the largest) count as zero."""
    require_tensor("linalg.pinv", "A", A)
    kind = dtype_of(A)
    if len(A.shape) < 2 or kind.kind not in "fc" or kind == np.float16:
        raise RuntimeError(
            f"linalg.pinv({dtypes.of_numpy[kind].short}{list(A.shape)}): expected a tensor with 2"
            " or more dimensions of float, double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.pinv", A)
    bounds = _tolerances(A, atol, rtol)
    lead = np.broadcast_shapes(*(tuple(x.shape) for x in bounds))
    atol, rtol = (expand(x, lead) for x in bounds)
    return _pinv(led(A, lead), atol, rtol, hermitian)


def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudoinverse; singular values within `rcond` times the largest count as zero.

    >>> import wengert
    >>> wengert.pinverse(wengert.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pseudoinverse(input, 0.0, rcond, False)


# Ranks


def rank_of(A: Tensor, atol: Tolerance, rtol: Tolerance, hermitian: bool) -> Tensor:
    """The number of singular values above the tolerance."""
    check_matrix("linalg.matrix_rank", A)
    if hermitian:
        check_square("linalg.matrix_rank", A)
    check_inexact("linalg.matrix_rank", A)
    bounds = _tolerances(A, atol, rtol)
    if not min(A.shape[-2:]):
        return A.new_zeros(tuple(A.shape[:-2]), dtype=dtypes.int64)
    A = A.detach()
    s = eigvalsh(A).abs() if hermitian else svdvals(A)
    bound = maximum(bounds[0], bounds[1] * amax(s, -1))
    return sum(s > unsqueeze(bound, -1), -1)


# Least squares


def _rank_by_trace(A: Any, inverse: Any) -> np.ndarray | None:
    """The rank: the trace of a projection, the product of both; None if that may be far off."""
    if type(A) is not np.ndarray or not A.size:
        return None
    trace = (A * np.swapaxes(inverse, -1, -2)).sum((-2, -1)).real
    size = np.sqrt(np.square(np.abs(A)).sum((-2, -1)) * np.square(np.abs(inverse)).sum((-2, -1)))
    error = size * np.finfo(A.dtype).eps * max(A.shape[-2:])
    return np.rint(trace).astype(np.int64) if (error < 0.1).all() else None


_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def least_squares(A: Tensor, B: Tensor, rcond: float | None, driver: str | None) -> Any:
    """The results of `linalg.lstsq`."""
    name, driver = "torch.linalg.lstsq", driver or "gelsy"
    check_matrix(name, A)
    check_matrix(name, B, "B") if B.ndim != 1 else None
    check_inexact(name, A)
    check_same_dtype(name, A, B)
    if driver not in _DRIVERS:
        raise RuntimeError(
            f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but it is"
            f" {driver!r}"
        )
    vector = B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    matrix = unsqueeze(B, -1) if vector else B
    m, n = A.shape[-2:]
    if A._memoryless:
        elements("linalg.lstsq", A)
    if matrix.shape[-2] != m:
        raise RuntimeError(
            f"{name}: input.size(-2) should match other.size(-{1 if vector else 2}), but got"
            f" {m} and {matrix.shape[-2]}"
        )
    lead = broadcast_lead(name, A.shape, matrix.shape)
    A, matrix = led(A, lead), led(matrix, lead)
    inverse = pseudoinverse(A, 0.0, rcond, False)
    solution = by_columns(matmul(inverse, matrix))
    residuals = real(solution).flatten()[:0]
    rank, values = residuals.to(dtypes.int64), residuals.detach()
    if driver != "gels":
        known = _rank_by_trace(A._array, inverse._array)
        rank = rank_of(A, 0.0, rcond, False) if known is None else wrap(known)
    if m > n and driver != "gelsy" and (driver == "gels" or memory_of(rank == n).all()):
        residuals = sum((matmul(A, solution) - matrix).abs() ** 2, -2)
    if driver in ("gelsd", "gelss"):
        values = svdvals(A.detach())
    return result_of(
        "linalg_lstsq", squeeze(solution, -1) if vector else solution, residuals, rank, values
    )


__all__ = ["pinverse"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("pinverse",)
INPLACE: tuple[str, ...] = ()
