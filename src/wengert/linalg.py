"""Linear algebra: decompositions, equations, norms and functions of matrices.

All take tensors of matrices, with any number of dimensions in front of the last two, real or
complex, in single or double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from wengert import ops
from wengert.core.dtypes import dtype as DType
from wengert.core.fronts import publish_module
from wengert.core.tensor import Tensor
from wengert.kernels.axes import Dims
from wengert.ops.decompositions import (
    cholesky_ex,
    cholesky_factor,
    lu,
    lu_factor,
    lu_factor_ex,
    qr_factors,
    svd_factors,
    svdvals,
)
from wengert.ops.eigen import eigvals, eigvalsh, general_eigen, hermitian_eigen
from wengert.ops.matmul import matmul as _matmul
from wengert.ops.matrices import (
    LinAlgError,
    check_matrix,
    check_square,
)
from wengert.ops.matrix_functions import chain, checked_exp, matrix_norm, power
from wengert.ops.numpy_names import either, either_dims
from wengert.ops.outputs import write_out
from wengert.ops.pseudoinverse import Tolerance, least_squares, pseudoinverse, rank_of
from wengert.ops.reflections import householder_product
from wengert.ops.results import result_of
from wengert.ops.solving import (
    checked_det,
    inv_ex,
    inverse_of_matrices,
    slogdet_of,
    solve,
    solve_ex,
    solved_with_lu,
)
from wengert.ops.symmetric import ldl_factor as ldl_factor
from wengert.ops.symmetric import ldl_factor_ex as ldl_factor_ex
from wengert.ops.symmetric import ldl_solve as ldl_solve
from wengert.ops.triangular_systems import solve_triangular
from wengert.ops.variadic import require_tensor

# Decompositions


def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The triangular factor of Hermitian positive-definite matrices: A = L @ L.mH.

    With `upper` it is that of A = U.mH @ U, and the upper triangle is read. Raises
    LinAlgError for other matrices.

    >>> import wengert
    >>> wengert.linalg.cholesky(wengert.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    if out is not None:
        return write_out(cholesky, out, A, upper=upper)
    return cholesky_factor(A, upper, "linalg.cholesky")


def qr(A: Tensor, mode: str = "reduced", *, out: tuple[Tensor, ...] | None = None) -> Any:
    """Q and R of A = Q @ R: orthonormal columns, and an upper triangle.

    "complete" makes Q square; "r" computes R alone, without a derivative.

    >>> import wengert
    >>> wengert.linalg.qr(wengert.tensor([[3.0], [4.0]])).R
    tensor([[-5.]])
    """
    if out is not None:
        return write_out(qr, out, A, mode)
    return result_of("linalg_qr", *qr_factors(A, mode))


def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """U, S and Vh of A = U @ diag(S) @ Vh, the largest singular value first.

    Without `full_matrices`, U and Vh have no more vectors than there are singular values.
    Derivatives see those only. `driver` is for GPUs.

    >>> import wengert
    >>> wengert.linalg.svd(wengert.tensor([[3.0, 0.0], [0.0, 4.0]])).S
    tensor([4., 3.])
    """
    if out is not None:
        return write_out(svd, out, A, full_matrices, driver=driver)
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.svd: keyword argument `driver={driver!r}` is only supported on CUDA"
            " inputs with cuSOLVER backend"
        )
    return result_of("linalg_svd", *svd_factors(A, full_matrices))


def eigh(A: Tensor, UPLO: str = "L", *, out: tuple[Tensor, ...] | None = None) -> Any:
    """Eigenvalues, the smallest first, and orthonormal eigenvectors of Hermitian matrices.

    One triangle is read, the lower or the upper one.

    >>> import wengert
    >>> wengert.linalg.eigh(wengert.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """
    if out is not None:
        return write_out(eigh, out, A, UPLO)
    return result_of("linalg_eigh", *hermitian_eigen(A, UPLO))


def eig(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """Eigenvalues, in no order, and eigenvectors of norm 1; both complex.

    >>> import wengert
    >>> wengert.linalg.eig(wengert.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues
    tensor([0.+1.j, 0.-1.j])
    """
    if out is not None:
        return write_out(eig, out, A)
    return result_of("linalg_eig", *general_eigen(A))


# Inverses, determinants and equations


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each square matrix; raises LinAlgError for singular ones.

    >>> import wengert
    >>> wengert.linalg.inv(wengert.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    if out is not None:
        return write_out(inv, out, A)
    return inverse_of_matrices("linalg.inv", A, "linalg.inv")


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each square matrix. Its gradient is right where it is zero as well.

    >>> import wengert
    >>> wengert.linalg.det(wengert.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    if out is not None:
        return write_out(det, out, A)
    return checked_det(A)


def slogdet(A: Tensor, *, out: tuple[Tensor, ...] | None = None) -> Any:
    """The sign of the determinant and the logarithm of its magnitude.

    >>> import wengert
    >>> wengert.linalg.slogdet(wengert.tensor([[0.0, 1.0], [1.0, 0.0]])).sign
    tensor(-1.)
    """
    if out is not None:
        return write_out(slogdet, out, A)
    return result_of("linalg_slogdet", *slogdet_of("linalg.slogdet", A))


def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X of A @ X = B for what `lu_factor` made of A; of X @ A = B without `left`.

    >>> import wengert
    >>> factors = wengert.linalg.lu_factor(wengert.tensor([[2.0, 1.0], [1.0, 3.0]]))
    >>> wengert.linalg.lu_solve(*factors, wengert.tensor([[3.0], [4.0]]))
    tensor([[1.],
            [1.]])
    """
    if out is not None:
        return write_out(lu_solve, out, LU, pivots, B, left=left, adjoint=adjoint)
    return solved_with_lu(LU, pivots, B, left, adjoint)


def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: tuple[Tensor, ...] | None = None,
) -> Any:
    """The X of least norm among those with the least |A @ X - B|, residuals and the rank.

    Residuals are there for `driver` "gels", "gelsd" and "gelss", if A has more rows than
    columns and full rank; the rank for all but "gels", singular values for the last two. The
    solution is computed by singular values in any case.

    >>> import wengert
    >>> A = wengert.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> wengert.linalg.lstsq(A, wengert.tensor([[1.0], [3.0], [5.0]])).solution
    tensor([[1.0000],
            [2.0000]])
    """
    if out is not None:
        return write_out(lstsq, out, A, B, rcond, driver=driver)
    return least_squares(A, B, rcond, driver)


def pinv(
    A: Tensor,
    rcond: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudoinverse; singular values within max(atol, rtol * the largest) count as zero.

    `rcond` is the older name of `rtol`. With `hermitian`, one triangle of A is read.

    >>> import wengert
    >>> wengert.linalg.pinv(wengert.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if out is not None:
        return write_out(pinv, out, A, rcond, hermitian, atol=atol, rtol=rtol)
    if rcond is not None:
        atol, rtol = 0.0, rcond
    return pseudoinverse(A, atol, rtol, hermitian)


def matrix_rank(
    A: Tensor,
    tol: Tolerance = None,
    hermitian: bool = False,
    *,
    atol: Tolerance = None,
    rtol: Tolerance = None,
    out: Tensor | None = None,
) -> Tensor:
    """The number of singular values above max(atol, rtol * the largest).

    `tol` is the older name of `atol`. With `hermitian`, one triangle of A is read.

    >>> import wengert
    >>> wengert.linalg.matrix_rank(wengert.ones(3, 3))
    tensor(1)
    """
    if out is not None:
        return write_out(matrix_rank, out, A, tol, hermitian, atol=atol, rtol=rtol)
    if tol is not None:
        atol, rtol = tol, 0.0
    return rank_of(A, atol, rtol, hermitian)


def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A as a map from its last dimensions to its first `ind`.

    >>> import wengert
    >>> wengert.linalg.tensorinv(wengert.eye(6).reshape(2, 3, 6)).shape
    torch.Size([6, 2, 3])
    """
    if out is not None:
        return write_out(tensorinv, out, A, ind)
    require_tensor("linalg.tensorinv", "A", A)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if prod(first) != prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) =="
            f" prod(self.shape[:ind]), but got {prod(last)} != {prod(first)}"
        )
    return inv(A.reshape(prod(first), prod(last))).reshape(*last, *first)


def tensorsolve(
    A: Tensor, B: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None
) -> Tensor:
    """X of tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end before.

    >>> import wengert
    >>> wengert.linalg.tensorsolve(wengert.eye(6).reshape(2, 3, 6), wengert.ones(2, 3))
    tensor([1., 1., 1., 1., 1., 1.])
    """
    if out is not None:
        return write_out(tensorsolve, out, A, B, dims)
    require_tensor("linalg.tensorsolve", "A", A)
    require_tensor("linalg.tensorsolve", "B", B, 2)
    if dims is not None:
        A = A.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    last = tuple(A.shape[B.ndim :])
    if prod(last) != prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) =="
            f" prod(self.shape[:other.ndim]), but got {prod(last)} !="
            f" {prod(A.shape[: B.ndim])}"
        )
    return solve(A.reshape(-1, prod(last)), B.reshape(-1)).reshape(last)


# Norms and products


def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of order `ord` of the elements over `dim`, or over everything.

    Order 0 counts what is not zero; inf and -inf are the extreme magnitudes.

    >>> import wengert
    >>> wengert.linalg.vector_norm(wengert.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("vector_norm", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(vector_norm, out, x, ord, dim, keepdim, dtype=dtype)
    if not isinstance(ord, (int, float)):
        raise RuntimeError(f"linalg.vector_norm: ord must be a number, but got {ord!r}")
    return ops.norm(x, float(ord), dim, keepdim, dtype)


def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    axis: Dims = None,
    keepdims: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`vector_norm` or `matrix_norm`, as `dim` names one dimension or two.

    Without `dim`, a tensor with two dimensions is a matrix if `ord` is given. Without `ord`,
    the root of the sum of squares.

    >>> import wengert
    >>> wengert.linalg.norm(wengert.tensor([[3.0, 0.0], [0.0, 4.0]]), 2)
    tensor(4.)
    """
    if axis is not None or keepdims is not None or (keepdim is not False and keepdim is not True):
        dim, keepdim = either_dims("norm", dim, axis, keepdim, keepdims)
    if out is not None:
        return write_out(norm, out, A, ord, dim, keepdim, dtype=dtype)
    require_tensor("linalg.norm", "A", A)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got"
            f" {A.ndim}D"
        )
    dims = (dim,) if isinstance(dim, int) else tuple(range(A.ndim) if dim is None else dim)
    if isinstance(ord, str) or len(dims) == 2:
        return matrix_norm(A, ord, dims if dim is not None else (-2, -1), keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


def cond(A: Tensor, p: float | str | None = None, *, out: Tensor | None = None) -> Tensor:
    """How much solving equations with A may magnify errors, in a norm of order `p` (2).

    Infinite for singular matrices.

    >>> import wengert
    >>> wengert.linalg.cond(wengert.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if out is not None:
        return write_out(cond, out, A, p)
    name = "linalg.cond"
    check_matrix(name, A)
    if p is None or p in (2, -2):
        s = svdvals(A)
        if not s.shape[-1]:
            return s.new_zeros(tuple(s.shape[:-1]))
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    check_square(name, A)
    inverse, info = inv_ex(A)
    if not A.shape[-1]:
        return A.new_zeros(tuple(A.shape[:-2])).abs()
    out = matrix_norm(A, p) * matrix_norm(inverse, p)
    return ops.where(info == 0, out, float("inf"))


def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The same as `wengert.matmul`.

    >>> import wengert
    >>> wengert.linalg.matmul(wengert.tensor([[1.0, 2.0]]), wengert.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    if out is not None:
        return write_out(matmul, out, input, other)
    return _matmul(input, other)


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that costs least.

    The first may be a row and the last a column with one dimension.

    >>> import wengert
    >>> a = wengert.ones(2, 2)
    >>> wengert.linalg.multi_dot([a, a, a])
    tensor([[4., 4.],
            [4., 4.]])
    """
    if out is not None:
        return write_out(multi_dot, out, tensors)
    return chain("multi_dot", tensors)


def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of each square matrix; of its inverse for negative `n`.

    >>> import wengert
    >>> wengert.linalg.matrix_power(wengert.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if out is not None:
        return write_out(matrix_power, out, A, n)
    return power(A, n)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of each square matrix: the sum of its powers over factorials.

    >>> import wengert
    >>> wengert.linalg.matrix_exp(wengert.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return checked_exp(A)


def cross(
    input: Tensor,
    other: Tensor,
    *,
    dim: int = -1,
    axis: int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Vector product along `dim`, of length 3; the others broadcast.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 0.0, 0.0])
    >>> wengert.linalg.cross(x, wengert.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if axis is not None:
        dim = either("cross", "dim", dim, axis, -1)
    if out is not None:
        return write_out(cross, out, input, other, dim=dim)
    return ops.cross(input, other, dim)


def vecdot(
    x: Tensor, y: Tensor, *, dim: int = -1, axis: int | None = None, out: Tensor | None = None
) -> Tensor:
    """The sum of products of the conjugate of `x` with `y`, along `dim`.

    >>> import wengert
    >>> wengert.linalg.vecdot(wengert.tensor([1.0, 2.0]), wengert.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if axis is not None:
        dim = either("vecdot", "dim", dim, axis, -1)
    if out is not None:
        return write_out(vecdot, out, x, y, dim=dim)
    require_tensor("linalg.vecdot", "x", x)
    require_tensor("linalg.vecdot", "y", y, 2)
    for name, t in (("x", x), ("y", y)):
        if not (t.is_floating_point() or t.is_complex()):
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as {name}. Got"
                f" {t.dtype}"
            )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of {x.dtype} and"
            f" y of {y.dtype}"
        )
    return (ops.conj(x) * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonal of each matrix as a view.

    >>> import wengert
    >>> wengert.linalg.diagonal(wengert.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return ops.diagonal(A, offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, as rows; N is the number of elements by default.

    >>> import wengert
    >>> wengert.linalg.vander(wengert.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    require_tensor("linalg.vander", "x", x)
    x = ops.atleast_1d(x)
    n = x.shape[-1] if N is None else N
    if n <= 1:
        raise RuntimeError(f"N must be greater than 1, but got {n}")
    factors = x.unsqueeze(-1).expand(*x.shape, n - 1)
    powers = ops.cumprod(factors, -1)
    return ops.cat([powers.new_zeros((*x.shape, 1)) + 1, powers], -1)


__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve",
    "vander", "vecdot", "vector_norm",
]  # fmt: skip

publish_module("torch.linalg", __all__, globals())
