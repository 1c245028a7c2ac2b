"""Linear algebra, as NumPy and SciPy have it."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from wengert import linalg, ops
from wengert.symbolic.dtypes import to_float, upcast
from wengert.symbolic.expressions.arithmetic import abs_, cast, neq, pow, sqrt
from wengert.symbolic.expressions.extra_ops import diag as diag
from wengert.symbolic.expressions.extra_ops import trace as trace
from wengert.symbolic.expressions.products import dot
from wengert.symbolic.expressions.reductions import max as max_over
from wengert.symbolic.expressions.reductions import min as min_over
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.expressions.wrapped import Bound, Composed, Wrapped
from wengert.symbolic.graph import Apply, Operation, undefined


def matrix(x: Any) -> Any:
    """A variable that is a matrix of floats."""
    x = as_tensor_variable(x)
    if x.ndim != 2:
        raise TypeError(f"a matrix is needed, and {x} is {x.type}")
    return cast(x, to_float(x.dtype))


def _type(x: Any, ndim: int) -> TensorType:
    return TensorType(x.dtype, (False,) * ndim)


def of_matrix(name: str, function: Callable[..., Any], x: Any, *ndims: int) -> Any:
    """A function of a matrix whose results have some numbers of dimensions."""
    x = matrix(x)
    out = Wrapped(name, function, [_type(x, n) for n in ndims])(x, return_list=True)
    return out if len(out) > 1 else out[0]


class OfSquare(Bound):
    """A function of tensors that raises NumPy's error unless the first one is square."""

    def __call__(self, x: Any, *others: Any, **more: Any) -> Any:
        if x.shape[0] != x.shape[1]:
            raise np.linalg.LinAlgError(
                f"Last 2 dimensions of the array must be square, and the shape is {tuple(x.shape)}"
            )
        return super().__call__(x, *others, **more)


def matrix_inverse(x: Any) -> Any:
    """The inverse of a matrix."""
    return of_matrix("MatrixInverse", OfSquare(linalg.inv), x, 2)


inv = matrix_inverse


def pinv(x: Any) -> Any:
    """The pseudo-inverse of a matrix."""
    return of_matrix("MatrixPinv", linalg.pinv, x, 2)


def det(x: Any) -> Any:
    """The determinant of a matrix."""
    return of_matrix("Det", OfSquare(linalg.det), x, 0)


def matrix_dot(*args: Any) -> Any:
    """The product of several matrices."""
    return reduce(dot, args)


def matrix_power(M: Any, n: int) -> Any:  # noqa: N803
    """A matrix times itself."""
    return of_matrix("MatrixPower", OfSquare(linalg.matrix_power, n), M, 2)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular vectors and values."""
    if not compute_uv:
        return of_matrix("SVD", linalg.svdvals, a, 1)
    return of_matrix("SVD", Bound(linalg.svd, full_matrices), a, 2, 1, 2)


def _triangle(x: Any, mode: str) -> Any:
    return linalg.qr(x, mode)[1]


def qr(a: Any, mode: str = "reduced") -> Any:
    """An orthogonal and a triangular factor; the triangular one alone with ``mode="r"``.

    With ``mode="raw"`` they are as LAPACK has them, and have no gradient.
    """
    mode = "reduced" if mode == "full" else mode  # NumPy's old name
    if mode == "raw":
        return RawQR()(a)
    if mode == "r":
        return of_matrix("QRIncomplete", Bound(_triangle, mode), a, 2)
    return of_matrix("QRFull", Bound(linalg.qr, mode), a, 2, 2)


class RawQR(Operation):
    """The factors of `qr` as LAPACK has them: reflections beside a triangle, and their scales."""

    def make_node(self, a: Any) -> Apply:
        """One matrix."""
        a = matrix(a)
        return Apply(self, [a], [_type(a, 2)(), _type(a, 1)()])

    def compute(self, a: Any) -> Any:
        """NumPy's."""
        return np.linalg.qr(a, "raw")

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [undefined(self, 0, inputs[0], "qr has a gradient with other modes")]


def symmetric(x: Any, lower: bool) -> Any:
    """The symmetric matrix of which one triangle is given.

    What reads it has a gradient in that triangle alone.
    """
    if lower:
        return ops.tril(x) + ops.tril(x, -1).mT
    return ops.triu(x) + ops.triu(x, 1).mT


def _eigh(x: Any, lower: bool) -> Any:
    return linalg.eigh(symmetric(x, lower), "L" if lower else "U")


def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    """Eigenvalues and vectors of a symmetric matrix, of which one triangle is read."""
    return of_matrix("Eigh", OfSquare(_eigh, lower=UPLO == "L"), a, 1, 2)


class lstsq(Operation):  # noqa: N801
    """Least squares: ``lstsq()(x, y, rcond)`` is the solution, residuals, rank, singular values.

    As `numpy.linalg.lstsq` has them; there is no gradient.
    """

    def make_node(self, x: Any, y: Any, rcond: Any) -> Apply:
        """A matrix, a vector or a matrix, and a number."""
        x, y = matrix(x), as_tensor_variable(y)
        outs = [_type(x, y.ndim)(), _type(x, 1)(), TensorType("int32", ())(), _type(x, 1)()]
        return Apply(self, [x, cast(y, x.dtype), as_tensor_variable(rcond)], outs)

    def compute(self, x: Any, y: Any, rcond: Any) -> Any:
        """NumPy's."""
        solution, residuals, rank, values = np.linalg.lstsq(x, y, float(rcond))
        return solution, residuals, np.asarray(rank, np.int32), values

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [undefined(self, k, x, "nobody has written it") for k, x in enumerate(inputs)]


class Eig(Operation):
    """`numpy.linalg.eig` of a matrix whose eigenvalues are real; it has no gradient."""

    def make_node(self, a: Any) -> Apply:
        """One matrix."""
        a = matrix(a)
        return Apply(self, [a], [_type(a, 1)(), _type(a, 2)()])

    def compute(self, a: Any) -> Any:
        """NumPy's, or ValueError where eigenvalues are complex."""
        values, vectors = np.linalg.eig(a)
        if np.iscomplexobj(values):
            raise ValueError(f"eig: the eigenvalues {values} are complex")
        return values, vectors

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [undefined(self, 0, inputs[0], "eigh has a gradient")]


eig = Eig()


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution of linear equations under `tensordot`."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    dtype = to_float(upcast(a.dtype, b.dtype))
    out = TensorType(dtype, (False,) * (a.ndim - b.ndim))
    function = Bound(linalg.tensorsolve, dims=None if axes is None else tuple(axes))
    return Wrapped("TensorSolve", function, [out])(cast(a, dtype), cast(b, dtype))


def norm(x: Any, ord: Any) -> Any:
    """A norm of a vector or matrix, by the names of `numpy.linalg.norm`."""
    x = as_tensor_variable(x)
    if x.ndim > 2:
        raise NotImplementedError(f"norm of {x.ndim} dimensions")
    if not x.ndim:
        raise ValueError("norm: a vector or matrix is needed, and a scalar was given")
    order = float(ord) if ord in ("inf", "-inf") else ord
    if order is None or (x.ndim == 1 and order == 2) or (x.ndim == 2 and order == "fro"):
        return sqrt(sum_over(x * x))
    size = abs(order) if isinstance(order, int | float) else None
    extreme = max_over if size is not None and order > 0 else min_over
    if x.ndim == 2 and size in (1, float("inf")):
        return extreme(sum_over(abs_(x), 0 if size == 1 else 1))
    if x.ndim == 2 or size is None:
        raise ValueError(f"norm: order {ord!r} of {x.ndim} dimensions")
    if size == float("inf"):
        return extreme(abs_(x))
    return sum_over(neq(x, 0)) if order == 0 else pow(sum_over(pow(abs_(x), order)), 1.0 / order)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse under `tensordot`."""
    a = as_tensor_variable(a)
    return Wrapped("TensorInv", Bound(linalg.tensorinv, ind), [_type(a, a.ndim)])(a)


def alloc_diag(x: Any) -> Any:
    """A matrix with a vector on its diagonal."""
    if as_tensor_variable(x).ndim != 1:
        raise TypeError(f"alloc_diag: a vector is needed, and {x} is {as_tensor_variable(x).type}")
    return diag(x)


def extract_diag(x: Any, view: bool = False) -> Any:
    """The diagonal of a matrix; `view` is accepted."""
    return diag(matrix(x))


class MatrixInverse(Composed):
    """`matrix_inverse`, as operations are made."""

    function = staticmethod(matrix_inverse)


class MatrixPinv(Composed):
    """`pinv`, as operations are made."""

    function = staticmethod(pinv)


class Det(Composed):
    """`det`, as operations are made."""

    function = staticmethod(det)


class SVD(Composed):
    """`svd`, as operations are made."""

    function = staticmethod(svd)


class Eigh(Composed):
    """`eigh`, as operations are made."""

    function = staticmethod(eigh)


class QRFull(Composed):
    """`qr`, as operations are made."""

    function = staticmethod(qr)


class TensorInv(Composed):
    """`tensorinv`, as operations are made."""

    function = staticmethod(tensorinv)


class TensorSolve(Composed):
    """`tensorsolve`, as operations are made."""

    function = staticmethod(tensorsolve)


class AllocDiag(Composed):
    """`alloc_diag`, as operations are made."""

    function = staticmethod(alloc_diag)


class ExtractDiag(Composed):
    """`extract_diag`, as operations are made."""

    function = staticmethod(extract_diag)
