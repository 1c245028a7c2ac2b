"""Factors of symmetric and of Hermitian matrices that need not be positive: L @ D @ L.T.

They have no derivative, as in PyTorch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert import kernels
from wengert.core import dtypes
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.complexes import real
from wengert.ops.declare import Value, primitive
from wengert.ops.matrices import (
    broadcast_lead,
    check_inexact,
    check_matrix,
    check_same_dtype,
    check_square,
    joined,
    led,
    split_outputs,
)
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.shape import dtype_of


def _underivable(name: str) -> Any:
    raise NotImplementedError(f"derivative for {name} is not implemented")


@primitive(A=lambda g: _underivable("linalg.ldl_factor"), batch=leading, name="linalg.ldl_factor")
def _ldl(A: Value, hermitian: bool) -> Value:
    out, pivots, info = kernels.products.factorizations.ldl(A, hermitian)
    return joined(A.shape[:-2], out, pivots.astype(A.dtype), info.astype(A.dtype))


def _ldl_parts(name: str, A: Tensor, hermitian: bool) -> list[Tensor]:
    check_square(name, A)
    check_inexact(name, A, "ldl_factor_cpu")
    n = A.shape[-1]
    factors, *integers = split_outputs(_ldl(A, hermitian), (n, n), (n,), ())
    return [factors, *(convert(real(x), dtypes.int32) for x in integers)]


def ldl_factor(A: Tensor, *, hermitian: bool = False, out: tuple[Tensor, ...] | None = None) -> Any:
    """L and D of A = L @ D @ L.T in one tensor, and the exchanges of rows; the lower half is read.

    With `hermitian`, A = L @ D @ L.mH. L has ones on its diagonal, D blocks of 1x1 and 2x2. Raises
    RuntimeError for a singular D.

    >>> import wengert
    >>> wengert.linalg.ldl_factor(wengert.tensor([[4.0, 2.0], [2.0, 3.0]])).LD
    tensor([[4.0000, 0.0000],
            [0.5000, 2.0000]])
    """
    if out is not None:
        return write_out(ldl_factor, out, A, hermitian=hermitian)
    LD, pivots, info = _ldl_parts("torch.linalg.ldl_factor", A, hermitian)
    if type(info._array) is np.ndarray and bool((info != 0).any()):
        raise RuntimeError(
            "torch.linalg.ldl_factor: the factorization has been completed, but D has a zero on its"
            " diagonal and cannot be used to solve equations; linalg.ldl_factor_ex does not raise"
        )
    return result_of("linalg_ldl_factor", LD, pivots)


def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """As `ldl_factor`, and for each matrix the place (from 1) of a zero in D, or 0.

    >>> import wengert
    >>> wengert.linalg.ldl_factor_ex(wengert.eye(2)).info
    tensor(0, dtype=torch.int32)
    """
    if out is not None:
        return write_out(ldl_factor_ex, out, A, hermitian=hermitian, check_errors=check_errors)
    if check_errors:
        ldl_factor(A, hermitian=hermitian)
    parts = _ldl_parts("torch.linalg.ldl_factor_ex", A, hermitian)
    return result_of("linalg_ldl_factor_ex", *parts)


@primitive(
    LD=lambda g: _underivable("linalg.ldl_solve"),
    pivots=None,
    B=lambda g: _underivable("linalg.ldl_solve"),
    batch=leading,
    mixed=False,
    name="linalg.ldl_solve",
    layout="columns",
)
def _solved(LD: Value, pivots: Value, B: Value, hermitian: bool) -> Value:
    for at in np.ndindex(pivots.shape[:-1]):
        _check_pivots(pivots[at].tolist())
    return kernels.products.factorizations.ldl_solve(LD, pivots, B, hermitian)


def _check_pivots(pivots: list[int]) -> None:
    """RuntimeError for what is no result of a factorization: LAPACK reads rows by it, unchecked."""
    n, k = len(pivots), 0
    while k < n:
        pivot, block = pivots[k], pivots[k : k + 2]
        if not 0 < abs(pivot) <= n or (pivot < 0 and block != [pivot, pivot]):
            raise RuntimeError(
                f"torch.linalg.ldl_solve: pivots must be those of linalg.ldl_factor: from 1 to {n},"
                f" or a negative one twice for a block of two rows; got {pivot} at index {k}"
            )
        k += 1 if pivot > 0 else 2


def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None
) -> Tensor:
    """The solution X of A @ X = B, from what `ldl_factor` gave of A.

    >>> import wengert
    >>> factors = wengert.linalg.ldl_factor(wengert.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> wengert.linalg.ldl_solve(*factors, wengert.tensor([[8.0], [8.0]]))
    tensor([[1.],
            [2.]])
    """
    if out is not None:
        return write_out(ldl_solve, out, LD, pivots, B, hermitian=hermitian)
    name = "torch.linalg.ldl_solve"
    check_square(name, LD, "LD")
    check_matrix(name, B, "B")
    check_inexact(name, LD, "ldl_solve_cpu")
    check_same_dtype(name, LD, B, "LD and B")
    if tuple(pivots.shape) != tuple(LD.shape[:-1]):
        raise RuntimeError(
            f"{name}: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with"
            f" shape {list(pivots.shape)} instead of {list(LD.shape[:-1])}"
        )
    if dtype_of(pivots).kind not in "iu":
        raise RuntimeError(f"{name}: Expected pivots to be integers. Got {pivots.dtype}")
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B ({list(LD.shape)} and"
            f" {list(B.shape)})"
        )
    lead = broadcast_lead(name, LD.shape, B.shape)
    exchanged = pivots.expand((*lead, pivots.shape[-1]))
    return _solved(led(LD, lead), exchanged, led(B, lead), hermitian)


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
