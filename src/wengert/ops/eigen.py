"""Eigenvalues and eigenvectors of square matrices."""

from __future__ import annotations

from typing import Literal

import numpy as np

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.complexes import conj, real
from wengert.ops.declare import Value, primitive
from wengert.ops.diagonals import diag_embed
from wengert.ops.matmul import matmul
from wengert.ops.matrices import (
    check_inexact,
    check_square,
    diagonals,
    differences,
    is_recorded,
    joined,
    mH,
    real_part,
    split_outputs,
    times,
    without_diagonal,
)
from wengert.ops.outputs import write_out
from wengert.ops.shape import unsqueeze
from wengert.ops.solving import solve_matrices

Triangle = Literal["L", "U"]


def _sizes(A: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    n = A.shape[-1]
    return (n,), (n, n)


# Hermitian matrices


def _eigh_vjp(g: Value, out: Value, A_shape: tuple[int, ...]) -> Value:
    n = A_shape[-1]
    values, V = split_outputs(out, (n,), (n, n))
    g_values, g_vectors = split_outputs(g, (n,), (n, n))
    inner = without_diagonal(matmul(mH(V), g_vectors) / differences(real(values)))
    # For Hermitian matrices only the Hermitian part of the gradient matters, as in PyTorch.
    return times(V, (inner + mH(inner)) * 0.5 + diag_embed(real(g_values)), mH(V))


@primitive(A=_eigh_vjp, batch=leading, label="LinalgEighBackward0", name="linalg.eigh")
def _eigh(A: Value, uplo: Triangle) -> Value:
    return joined(A.shape[:-2], *kernels.products.factorizations.eigh(A, uplo))


def _eigh_values_vjp(g: Value, whole: Value, A_shape: tuple[int, ...]) -> Value:
    n = A_shape[-1]
    V = split_outputs(whole, (n,), (n, n))[1]
    return matmul(V * unsqueeze(real(g), -2), mH(V))


# The values for users are an operation of their own: a loss of them alone has a gradient where
# values are equal, and the rule for the vectors is not finite there.
@primitive(
    A=_eigh_values_vjp, whole=lambda g: None, batch=leading, mixed=False,
    label="LinalgEighBackward0", name="linalg.eigh",
)  # fmt: skip
def _eigh_values(A: Value, whole: Value) -> Value:
    return whole[..., : A.shape[-1]].copy()


def _checked(A: Tensor, UPLO: str) -> Triangle:
    check_square("linalg.eigh", A)
    check_inexact("linalg.eigh", A, "linalg_eigh_cpu")
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return "L" if UPLO in "Ll" else "U"


def hermitian_eigen(A: Tensor, UPLO: str) -> tuple[Tensor, Tensor]:
    """Eigenvalues, the smallest first, and eigenvectors of matrices given by one triangle."""
    whole = _eigh(A, _checked(A, UPLO))
    return real_part(_eigh_values(A, whole)), split_outputs(whole, *_sizes(A))[1]


def _eigvalsh_vjp(g: Value, A: Value, uplo: Triangle) -> Value:
    V = split_outputs(_eigh(A, uplo), *_sizes(A))[1]
    return matmul(V * unsqueeze(g, -2), mH(V))


@primitive(A=_eigvalsh_vjp, batch=leading, label="LinalgEighBackward0", name="linalg.eigvalsh")
def _eigvalsh(A: Value, uplo: Triangle) -> Value:
    return kernels.products.factorizations.eigvalsh(A, uplo)


def _eigvalsh_vjp_by_vectors(g: Value, A: Value, V: Value, uplo: Triangle) -> Value:
    if isinstance(g, Tensor) or isinstance(A, Tensor):  # recorded: the vectors depend on A, too
        return _eigvalsh_vjp(g, A, uplo)
    return matmul(V * unsqueeze(g, -2), mH(V))


@primitive(
    A=_eigvalsh_vjp_by_vectors, aux=("V",), reference=lambda A, uplo: _eigvalsh(A, uplo),
    label="LinalgEighBackward0", name="linalg.eigvalsh",
)  # fmt: skip
def _eigvalsh_with_vectors(A: Value, uplo: Triangle) -> Value:
    return kernels.products.factorizations.eigh(A, uplo)


def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of Hermitian matrices, the smallest first.

    One triangle is read, the lower or the upper one.

    >>> import wengert
    >>> wengert.linalg.eigvalsh(wengert.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    if out is not None:
        return write_out(eigvalsh, out, A, UPLO)
    triangle = _checked(A, UPLO)
    # Backward needs the vectors, of which the values are a by-product.
    return _eigvalsh_with_vectors(A, triangle) if is_recorded(A) else _eigvalsh(A, triangle)


# Other matrices: everything is complex


def _eig_vjp(g: Value, out: Value, A_shape: tuple[int, ...], is_real: bool) -> Value:
    n = A_shape[-1]
    values, V = split_outputs(out, (n,), (n, n))
    g_values, g_vectors = split_outputs(g, (n,), (n, n))
    Vh = mH(V)
    inner = matmul(Vh, g_vectors)
    # The vectors have norm 1, so they only change orthogonally to themselves.
    inner = inner - matmul(Vh, V) * unsqueeze(real(diagonals(inner)), -2)
    inner = without_diagonal(inner / conj(differences(values))) + diag_embed(g_values)
    gradient = solve_matrices(Vh, matmul(inner, Vh), None)
    return real(gradient) if is_real else gradient


@primitive(A=_eig_vjp, batch=leading, label="LinalgEigBackward0", name="linalg.eig")
def _eig(A: Value, is_real: bool) -> Value:
    _refuse_nonfinite(A)
    return joined(A.shape[:-2], *kernels.products.factorizations.eig(A))


def _eig_values_vjp(g: Value, whole: Value, A_shape: tuple[int, ...], is_real: bool) -> Value:
    n = A_shape[-1]
    Vh = mH(split_outputs(whole, (n,), (n, n))[1])
    gradient = solve_matrices(Vh, unsqueeze(g, -1) * Vh, None)
    return real(gradient) if is_real else gradient


@primitive(
    A=_eig_values_vjp, whole=lambda g: None, batch=leading, mixed=False,
    label="LinalgEigBackward0", name="linalg.eig",
)  # fmt: skip
def _eig_values(A: Value, whole: Value, is_real: bool) -> Value:
    return whole[..., : A.shape[-1]].copy()


def _refuse_nonfinite(A: np.ndarray) -> None:
    if not np.isfinite(A).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")


def general_eigen(A: Tensor) -> list[Tensor]:
    """Eigenvalues and eigenvectors, in no order."""
    check_square("linalg.eig", A)
    check_inexact("linalg.eig", A, "linalg_eig_cpu")
    is_real = not A.is_complex()
    whole = _eig(A, is_real)
    return [_eig_values(A, whole, is_real), split_outputs(whole, *_sizes(A))[1]]


def _eigvals_vjp(g: Value, A: Value, is_real: bool) -> Value:
    Vh = mH(split_outputs(_eig(A, is_real), *_sizes(A))[1])
    gradient = solve_matrices(Vh, unsqueeze(g, -1) * Vh, None)
    return real(gradient) if is_real else gradient


@primitive(A=_eigvals_vjp, batch=leading, label="LinalgEigvalsBackward0", name="linalg.eigvals")
def _eigvals(A: Value, is_real: bool) -> Value:
    _refuse_nonfinite(A)
    return kernels.products.factorizations.eigvals(A).astype(np.result_type(A.dtype, np.complex64))


def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of square matrices, complex and in no order.

    >>> import wengert
    >>> wengert.linalg.eigvals(wengert.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    tensor([0.+1.j, 0.-1.j])
    """
    if out is not None:
        return write_out(eigvals, out, A)
    check_square("linalg.eigvals", A)
    check_inexact("linalg.eigvals", A, "linalg_eig_cpu")
    return _eigvals(A, not A.is_complex())


__all__: list[str] = []
FUNCTIONAL: tuple[str, ...] = ()
METHODS: tuple[str, ...] = ()
INPLACE: tuple[str, ...] = ()
