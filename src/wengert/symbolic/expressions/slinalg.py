"""Linear algebra, as SciPy has it: decompositions, linear equations, matrix exponentials."""

from __future__ import annotations

from typing import Any

from wengert import linalg, ops
from wengert.ops.matrices import LinAlgError
from wengert.symbolic.dtypes import to_float, upcast
from wengert.symbolic.expressions.arithmetic import cast
from wengert.symbolic.expressions.nlinalg import matrix, of_matrix, symmetric
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Composed, Wrapped
from wengert.symbolic.graph import Constant

MATRIX_STRUCTURES = (
    "general", "symmetric", "lower_triangular", "upper_triangular", "hermitian", "banded",
    "diagonal", "toeplitz",
)  # fmt: skip


def _eigenvalues(a: Any, lower: bool) -> Any:
    return linalg.eigvalsh(symmetric(a, lower))


def _generalized_eigenvalues(a: Any, b: Any, lower: bool) -> Any:
    factor = linalg.cholesky(symmetric(b, lower))
    half = linalg.solve_triangular(factor, symmetric(a, lower), upper=False)
    return linalg.eigvalsh(linalg.solve_triangular(factor, half.mT, upper=False))


def eigvalsh(a: Any, b: Any = None, lower: bool = True) -> Any:
    """The eigenvalues of a symmetric matrix, or those of ``a x = w b x``.

    One triangle of each matrix is read, and has a gradient.
    """
    if b is None or (isinstance(b, Constant) and b.data is None):
        return of_matrix("Eigvalsh", Bound(_eigenvalues, lower=lower), a, 1)
    a, b = matrix(a), matrix(b)
    dtype = upcast(a.dtype, b.dtype)
    function = Bound(_generalized_eigenvalues, lower=lower)
    op = Wrapped("Eigvalsh", function, [TensorType(dtype, (False,))])
    return op(cast(a, dtype), cast(b, dtype))


def _triangular(a: Any, b: Any, lower: bool) -> Any:
    if b.ndim == 1:
        return ops.squeeze(linalg.solve_triangular(a, ops.unsqueeze(b, 1), upper=not lower), 1)
    return linalg.solve_triangular(a, b, upper=not lower)


def _solved(name: str, function: Any, a: Any, b: Any) -> Any:
    a, b = matrix(a), as_tensor_variable(b)
    if b.ndim not in (1, 2):
        raise TypeError(f"{name}: a vector or a matrix is needed, and {b} is {b.type}")
    dtype = upcast(a.dtype, to_float(b.dtype), "float32")  # LAPACK has no half precision
    op = Wrapped(name, function, [TensorType(dtype, (False,) * b.ndim)])
    return op(cast(a, dtype), cast(b, dtype))


def solve(a: Any, b: Any) -> Any:
    """The solution of linear equations."""
    return _solved("Solve", linalg.solve, a, b)


def solve_lower_triangular(a: Any, b: Any) -> Any:
    """The solution of equations of a lower triangular matrix."""
    return _solved("SolveLower", Bound(_triangular, lower=True), a, b)


def solve_upper_triangular(a: Any, b: Any) -> Any:
    """The solution of equations of an upper triangular matrix."""
    return _solved("SolveUpper", Bound(_triangular, lower=False), a, b)


solve_symmetric = solve


def _factor(x: Any, lower: bool, on_error: str) -> Any:
    try:
        return linalg.cholesky(symmetric(x, lower), upper=not lower)
    except LinAlgError:
        if on_error == "raise":
            raise
        return x * float("nan")


def cholesky(x: Any, lower: bool = True, on_error: str = "raise") -> Any:
    """The triangular factor of a positive definite matrix, of which one triangle is read.

    Of another matrix an error, or NaN with ``on_error="nan"``.
    """
    if on_error not in ("raise", "nan"):
        raise ValueError('on_error must be one of "raise" or "nan"')
    return of_matrix("Cholesky", Bound(_factor, lower=lower, on_error=on_error), x, 2)


def expm(x: Any) -> Any:
    """The exponential of a matrix."""
    return of_matrix("Expm", linalg.matrix_exp, x, 2)


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product; of a vector and a matrix the elements of that, as a vector."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    if a.ndim + b.ndim <= 2:
        raise TypeError(
            f"kron: inputs dimensions must sum to 3 or more. You passed {a.ndim} and {b.ndim}."
        )
    if a.ndim + b.ndim == 3:
        left, right = a.dimshuffle(*range(a.ndim), *"x" * b.ndim), b
        return (left * right).dimshuffle(1, 0, 2).flatten()
    if a.ndim == b.ndim == 2:
        both = a.dimshuffle(0, "x", 1, "x") * b.dimshuffle("x", 0, "x", 1)
        return both.reshape((a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]))
    dtype = upcast(a.dtype, b.dtype)
    out = TensorType(dtype, (False,) * max(a.ndim, b.ndim))
    return Wrapped("Kron", ops.kron, [out])(cast(a, dtype), cast(b, dtype))


class Cholesky(Composed):
    """`cholesky`, as operations are made; `destructive` is accepted."""

    def __init__(
        self, lower: bool = True, destructive: bool = False, on_error: str = "raise"
    ) -> None:
        super().__init__(lower=lower, on_error=on_error)

    function = staticmethod(cholesky)


class Expm(Composed):
    """`expm`, as operations are made."""

    function = staticmethod(expm)


class Eigvalsh(Composed):
    """`eigvalsh`, as operations are made."""

    def __init__(self, lower: bool = True) -> None:
        super().__init__(lower=lower)

    function = staticmethod(eigvalsh)


class Solve(Bound):
    """`solve`, or what a structure of the matrix allows, as operations are made."""

    def __init__(
        self, A_structure: str = "general", lower: bool = False,  # noqa: N803
        overwrite_A: bool = False, overwrite_b: bool = False,  # noqa: N803
    ) -> None:  # fmt: skip
        if A_structure not in MATRIX_STRUCTURES:
            raise ValueError("Invalid matrix structure argument", A_structure)
        triangular = {
            "lower_triangular": solve_lower_triangular, "upper_triangular": solve_upper_triangular,
        }  # fmt: skip
        super().__init__(triangular.get(A_structure, solve))
