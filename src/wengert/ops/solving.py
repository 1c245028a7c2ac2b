"""Inverses, determinants and systems of equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.broadcasting import expand
from wengert.ops.complexes import conj, imag, real
from wengert.ops.declare import Value, primitive
from wengert.ops.decompositions import lu_parts, permutation_matrix, svd_factors, triangles
from wengert.ops.masking import where
from wengert.ops.matmul import matmul
from wengert.ops.matrices import (
    SINGULAR,
    broadcast_lead,
    by_columns,
    check_inexact,
    check_matrix,
    check_same_dtype,
    check_square,
    joined,
    led,
    mH,
    per_matrix,
    real_part,
    refuse,
    split_outputs,
    times,
)
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.scan import exclusive_prod, has_zeros
from wengert.ops.shape import contiguous, dtype_of, squeeze, transpose, unsqueeze
from wengert.ops.triangular_systems import triangular
from wengert.ops.variadic import require_tensor

# Inverses


@primitive(
    A=lambda g, out: -times(mH(out), g, mH(out)),
    batch=leading,
    label="LinalgInvExBackward0",
    name="linalg.inv",
    layout="columns",
)
def _inv(A: Value, called: str | None) -> Value:
    """The inverse; `called` is the function named in errors."""
    out, info = kernels.products.factorizations.inverse(A)
    if called is not None:
        refuse(called, info, SINGULAR)
    return out


@primitive(A=None, batch=leading, name="linalg.inv")
def _zero_pivots(A: Value) -> Value:
    return kernels.products.factorizations.zero_pivots(A)


def inverse_of_matrices(name: str, A: Tensor, called: str | None) -> Tensor:
    """The inverses of square matrices."""
    check_square(name, A)
    check_inexact(name, A)
    return _inv(A, called)


def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each square matrix; raises `linalg.LinAlgError` for singular ones.

    >>> import wengert
    >>> wengert.inverse(wengert.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        return write_out(inverse, out, input)
    return inverse_of_matrices("linalg.inv", input, "linalg.inv")


def inv_ex(A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, ...] | None = None) -> Any:
    """The inverse, and for each matrix the 1-based index of a zero pivot, or 0.

    Raises only with `check_errors`; otherwise the inverse of a singular matrix is nan.

    >>> import wengert
    >>> wengert.linalg.inv_ex(wengert.zeros(2, 2)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        return write_out(inv_ex, out, A, check_errors=check_errors)
    name = "linalg.inv_ex"
    inverse = inverse_of_matrices(name, A, name if check_errors else None)
    return result_of("linalg_inv_ex", inverse, _zero_pivots(A))


# Determinants


def _det_vjp(g: Value, A: Value, out: Value) -> Value:
    if not has_zeros(out):
        return per_matrix(g * conj(out)) * mH(_inv(A, None))
    # The cofactors of a singular matrix.
    u, s, vh = svd_factors(A, False)
    outer = conj(det_of(u) * det_of(vh)) * g
    return times(u * unsqueeze(exclusive_prod(s, -1) * unsqueeze(outer, -1), -2), vh)


@primitive(A=_det_vjp, batch=leading, label="LinalgDetBackward0", name="linalg.det")
def det_of(A: Value) -> Value:
    """The determinants of square matrices."""
    return kernels.products.factorizations.det(A)


def _slogdet_vjp(g: Value, A: Value, out: Value) -> Value:
    g_sign, g_log = split_outputs(g, (), ())
    weight = real(g_log)
    if dtype_of(A).kind == "c":
        weight = weight + imag(conj(split_outputs(out, (), ())[0]) * g_sign) * 1j
    return per_matrix(weight) * mH(_inv(A, None))


@primitive(A=_slogdet_vjp, batch=leading, label="LinalgSlogdetBackward0", name="linalg.slogdet")
def _slogdet(A: Value) -> Value:
    return joined(A.shape[:-2], *kernels.products.factorizations.slogdet(A))


def slogdet_of(name: str, A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign (or phase) of determinants, and the logarithms of their magnitudes."""
    check_square(name, A)
    check_inexact(name, A, "lu_cpu")
    sign, log = split_outputs(_slogdet(A), (), ())
    return sign, real_part(log)


def det(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each square matrix. Its gradient is correct for singular matrices, too.

    >>> import wengert
    >>> wengert.det(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    if out is not None:
        return write_out(det, out, input)
    return checked_det(input)


def checked_det(A: Tensor) -> Tensor:
    """The determinants, after checks."""
    check_square("linalg.det", A)
    check_inexact("linalg.det", A, "lu_cpu")
    return det_of(A)


def slogdet(input: Tensor, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """The sign of the determinant and the logarithm of its magnitude.

    >>> import wengert
    >>> wengert.slogdet(wengert.tensor([[0.0, 1.0], [1.0, 0.0]]))
    torch.return_types.slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    if out is not None:
        return write_out(slogdet, out, input)
    return result_of("slogdet", *slogdet_of("linalg.slogdet", input))


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant; nan if that is negative.

    >>> import wengert
    >>> wengert.logdet(wengert.eye(3))
    tensor(0.)
    """
    sign, log = slogdet_of("logdet", input)
    if input.is_complex():
        return sign.log() + log
    return where(sign == -1.0, np.nan, log)


# Equations


@primitive(
    A=lambda g, A, out: -matmul(_solve_apart(mH(A), g, None), mH(out)),
    B=lambda g, A: _solve_apart(mH(A), g, None),
    batch=leading,
    name="linalg.solve",
    layout="columns",
)
def _solve_apart(A: Value, B: Value, called: str | None) -> Value:
    """As `solve_matrices`, with each gradient on its own."""
    return _solutions(A, B, called)


@primitive(
    shared=lambda g, A: _solve_apart(mH(A), g, None),
    A=lambda g, shared, out: -matmul(shared, mH(out)),
    B=lambda g, shared: shared,
    reference=lambda A, B, called: _solve_apart(A, B, called),
    label="LinalgSolveExBackward0",
    name="linalg.solve",
    layout="columns",
)
def solve_matrices(A: Value, B: Value, called: str | None) -> Value:
    """X of A @ X = B for matrices with equal leading dimensions."""
    return _solutions(A, B, called)


def _solutions(A: np.ndarray, B: np.ndarray, called: str | None) -> np.ndarray:
    out, info = kernels.products.factorizations.solve(A, B)
    if called is not None:
        refuse(called, info, "The solver failed because the input matrix is singular.")
    return out


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B is a vector for each matrix in A."""
    return B.ndim == 1 or (B.ndim == A.ndim - 1 and tuple(B.shape) == tuple(A.shape[:-1]))


def solved(name: str, A: Tensor, B: Tensor, left: bool, called: str | None) -> Tensor:
    """The solution of checked equations."""
    check_square(name, A)
    require_tensor(name, "B", B, 2)
    check_inexact(name, A)
    check_same_dtype(name, A, B)
    vector = _is_vector(A, B)
    if vector and not left:
        raise RuntimeError(
            f"{name}: Vector broadcasting of the left hand side is not supported for left=False. In"
            f" this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    matrix = unsqueeze(B, -1) if vector else B
    check_matrix(name, matrix, "B")
    if not left:
        A, matrix = transpose(A, -2, -1), transpose(matrix, -2, -1)
    if A.shape[-1] != matrix.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B"
            f" ({list(A.shape)} and {list(B.shape)})"
        )
    lead = broadcast_lead(name, A.shape, matrix.shape)
    X = solve_matrices(led(A, lead), led(matrix, lead), called)
    if vector:
        return by_columns(squeeze(X, -1)) if B.ndim > 1 else squeeze(X, -1)
    return X if left else transpose(X, -2, -1)


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X of A @ X = B, or of X @ A = B without `left`; B may be a vector for each matrix.

    >>> import wengert
    >>> A = wengert.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> wengert.linalg.solve(A, wengert.tensor([3.0, 4.0]))
    tensor([1., 1.])
    """
    if out is not None:
        return write_out(solve, out, A, B, left=left)
    return solved("linalg.solve", A, B, left, "torch.linalg.solve")


def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """As `solve`, plus for each matrix the 1-based index of a zero pivot, or 0.

    Raises only with `check_errors`; otherwise the solution for a singular matrix is nan.

    >>> import wengert
    >>> wengert.linalg.solve_ex(wengert.zeros(2, 2), wengert.ones(2)).info
    tensor(1, dtype=torch.int32)
    """
    if out is not None:
        return write_out(solve_ex, out, A, B, left=left, check_errors=check_errors)
    name = "torch.linalg.solve_ex"
    X = solved("linalg.solve_ex", A, B, left, name if check_errors else None)
    return result_of("linalg_solve_ex", X, _zero_pivots(A))


def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, *, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """`linalg.lu_factor` under its old name; with `get_infos`, `linalg.lu_factor_ex`.

    >>> import wengert
    >>> LU, pivots = wengert.lu(wengert.tensor([[0.0, 2.0], [4.0, 6.0]]))
    >>> pivots
    tensor([2, 2], dtype=torch.int32)
    """
    if out is not None:
        return write_out(lu, out, A, pivot, get_infos)
    factors = lu_parts("torch.lu", A, pivot, None if get_infos else "torch.lu")
    return tuple(factors if get_infos else factors[:2])


def lu_solve(
    input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """X of A @ X = input, for the result of `linalg.lu_factor` of A.

    >>> import wengert
    >>> factors = wengert.linalg.lu_factor(wengert.tensor([[2.0, 1.0], [1.0, 3.0]]))
    >>> wengert.lu_solve(wengert.tensor([[3.0], [4.0]]), *factors)
    tensor([[1.],
            [1.]])
    """
    if out is not None:
        return write_out(lu_solve, out, input, LU_data, LU_pivots)
    return solved_with_lu(LU_data, LU_pivots, input, True, False)


def solved_with_lu(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The solution of equations with A, or its adjoint, from its LU factors."""
    name = "torch.linalg.lu_solve"
    check_square(name, LU, "LU")
    check_matrix(name, B, "B")
    check_inexact(name, LU, "lu_solve_cpu")
    check_same_dtype(name, LU, B, "LU and B")
    if dtype_of(pivots) != np.int32:
        raise RuntimeError(
            f"{name}: Expected pivots to be of int32 dtype, but got {pivots.dtype} instead"
        )
    if tuple(pivots.shape) != tuple(LU.shape[:-1]):
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix, but"
            f" got shapes {list(pivots.shape)} and {list(LU.shape)}"
        )
    if not left:  # X @ A = B is A^H @ X^H = B^H
        return contiguous(mH(solved_with_lu(LU, pivots, mH(B), True, not adjoint)))
    if LU.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B ({list(LU.shape)} and"
            f" {list(B.shape)})"
        )
    P = permutation_matrix(pivots, LU.shape[-1], dtype_of(LU))
    L, U = triangles(LU)
    lead = broadcast_lead(name, LU.shape, B.shape)
    L, U, P, B = (led(x, lead) for x in (L, U, P, B))
    if adjoint:
        return by_columns(
            matmul(P, triangular(mH(L), triangular(mH(U), B, False, False), True, True))
        )
    return triangular(U, triangular(L, matmul(transpose(P, -2, -1), B), False, True), True, False)


def cholesky_solve(
    input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """X of A @ X = input, for A given by its Cholesky factor `input2` (L, or U with `upper`).

    >>> import wengert
    >>> L = wengert.tensor([[2.0, 0.0], [1.0, 2.0]])
    >>> wengert.cholesky_solve(wengert.tensor([[6.0], [7.0]]), L)
    tensor([[1.],
            [1.]])
    """
    if out is not None:
        return write_out(cholesky_solve, out, input, input2, upper)
    name = "cholesky_solve"
    check_square(name, input2, "input2")
    check_matrix(name, input, "input")
    check_same_dtype(name, input, input2, "b and A")
    check_inexact(name, input2, "cholesky_solve_cpu")
    if input2.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {name}: each A matrix is {input2.shape[-1]} by"
            f" {input2.shape[-1]}"
            f" but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    lead = broadcast_lead(name, input2.shape, input.shape)
    lower = led(mH(input2) if upper else input2, lead)
    half = triangular(lower, led(input, lead), False, False)
    return triangular(mH(lower), half, True, False)


def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the matrix given by its Cholesky factor (L, or U with `upper`).

    >>> import wengert
    >>> wengert.cholesky_inverse(wengert.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 1.0000]])
    """
    if out is not None:
        return write_out(cholesky_inverse, out, input, upper)
    check_square("cholesky_inverse", input, "input")
    check_inexact("cholesky_inverse", input, "cholesky_inverse_out_cpu")
    lower = mH(input) if upper else input
    ones = np.eye(input.shape[-1], dtype=dtype_of(input))
    half = triangular(lower, expand(ones, tuple(input.shape)), False, False)
    return by_columns(matmul(mH(half), half))


__all__ = [
    "cholesky_inverse", "cholesky_solve", "det", "inverse", "logdet", "lu", "lu_solve", "slogdet",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(__all__)
INPLACE: tuple[str, ...] = ()
