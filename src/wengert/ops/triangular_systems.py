"""Systems of equations with triangular matrices."""

from __future__ import annotations

from typing import Any

from wengert import kernels
from wengert.core.tensor import Tensor
from wengert.ops.batching import leading
from wengert.ops.casting import convert
from wengert.ops.declare import Value, primitive
from wengert.ops.diagonals import tril, triu
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
)
from wengert.ops.outputs import write_out
from wengert.ops.results import result_of
from wengert.ops.shape import clone, transpose


def _matrix_vjp(g: Value, A: Value, out: Value, upper: bool, unit: bool) -> Value:
    gradient = -matmul(triangular(mH(A), g, not upper, unit), mH(out))
    return triu(gradient, int(unit)) if upper else tril(gradient, -int(unit))


@primitive(
    A=_matrix_vjp,
    B=lambda g, A, upper, unit: triangular(mH(A), g, not upper, unit),
    batch=leading,
    label="LinalgSolveTriangularBackward0",
    name="linalg.solve_triangular",
)
def triangular(A: Value, B: Value, upper: bool, unit: bool) -> Value:
    """X of A @ X = B for matrices with equal leading dimensions."""
    return kernels.products.factorizations.solve_triangular(A, B, upper, unit)


def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X of A @ X = B, or of X @ A = B without `left`, for triangular A.

    The other triangle is not read, nor is the diagonal with `unitriangular`. The result has the
    dtype of `A`.

    >>> import wengert
    >>> A = wengert.tensor([[2.0, 0.0], [1.0, 4.0]])
    >>> wengert.linalg.solve_triangular(A, wengert.tensor([[2.0], [9.0]]), upper=False)
    tensor([[1.],
            [2.]])
    """
    if out is not None:
        return write_out(
            solve_triangular, out, A, B, upper=upper, left=left, unitriangular=unitriangular
        )
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_matrix(name, B, "B")
    if A.is_floating_point() and B.is_floating_point():  # PyTorch compares no dtypes here
        B = convert(B, A.dtype)
    A, B = _checked(name, A, B, left)
    if left:
        return triangular(A, B, upper, unitriangular)
    flipped = transpose(A, -2, -1), transpose(B, -2, -1)
    return by_columns(transpose(triangular(*flipped, not upper, unitriangular), -2, -1))


def _checked(name: str, A: Tensor, B: Tensor, left: bool = True) -> tuple[Tensor, Tensor]:
    """Both, broadcast to common leading dimensions."""
    check_square(name, A)
    check_matrix(name, B, "B")
    check_same_dtype(name, A, B)
    check_inexact(name, A, "triangular_solve_cpu")
    n = B.shape[-2 if left else -1]
    if A.shape[-1] != n:
        form = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {form}"
            f" ({_by(A)} and {_by(B)})"
        )
    lead = broadcast_lead(name, A.shape, B.shape)
    return led(A, lead), led(B, lead)


def _by(x: Tensor) -> str:
    return f"{x.shape[-2]}x{x.shape[-1]}"


def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """X of A @ X = input (of A.mT with `transpose`) and a copy of A; an older `solve_triangular`.

    >>> import wengert
    >>> A = wengert.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> wengert.triangular_solve(wengert.tensor([[4.0], [8.0]]), A).solution
    tensor([[1.],
            [2.]])
    """
    if out is not None:
        return write_out(triangular_solve, out, input, A, upper, transpose, unitriangular)
    name = "triangular_solve"
    A, input = _checked(name, A, input)
    matrix = A.mT if transpose else A
    solution = triangular(matrix, input, upper is not transpose, unitriangular)
    return result_of("triangular_solve", solution, by_columns(clone(A)))


__all__ = ["triangular_solve"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("triangular_solve",)
INPLACE: tuple[str, ...] = ()
