"""Products of sparse matrices with sparse matrices and with arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation
from wengert.symbolic.sparse.basic import (
    SparseFromDense,
    as_sparse_or_tensor_variable,
    coordinates,
    csm_data,
    dense_from_sparse,
    is_sparse,
    is_sparse_variable,
    transpose,
    with_data,
)
from wengert.symbolic.sparse.type import SparseOperators, SparseType, as_sparse_variable


class Product(Operation):
    """The product of two matrices, one of them or both sparse."""

    def make_node(self, x: Any, y: Any) -> Apply:
        """A sparse matrix, and a matrix or vector of either kind."""
        x, y = as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y)
        dtype = upcast(x.dtype, y.dtype)
        if is_sparse_variable(x) and is_sparse_variable(y):
            return Apply(self, [x, y], [SparseType(x.format, dtype)()])
        if not is_sparse_variable(x) and not is_sparse_variable(y):
            raise TypeError(f"a sparse matrix is needed, and {x} and {y} are arrays")
        if x.ndim not in (1, 2) or y.ndim not in (1, 2):
            raise TypeError(f"a product of {x.ndim} and {y.ndim} dimensions")
        pattern = (*x.broadcastable[:-1], *y.broadcastable[1:])
        return Apply(self, [x, y], [TensorType(dtype, pattern)()])

    def compute(self, x: Any, y: Any) -> Any:
        """SciPy's product."""
        out = x @ y
        return out.asformat(x.format) if scipy.sparse.issparse(out) else np.asarray(out)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Of a sparse operand, at its own places alone."""
        (x, y), (g,) = inputs, output_gradients
        if is_sparse_variable(x) and is_sparse_variable(y):
            return [product(g, transpose(y)), product(transpose(x), g)]
        if is_sparse_variable(x):
            rows, columns = coordinates(x)
            at = g[rows] * y[columns]
            return [with_data(x, at if y.ndim == 1 else sum_over(at, 1)), product(transpose(x), g)]
        rows, columns = coordinates(y)
        of_x = product(y, g.T if g.ndim == 2 else g)
        at = x.T[rows] * g.T[columns] if x.ndim == 2 else x[rows] * g[columns]
        own = with_data(y, at if x.ndim == 1 else sum_over(at, 1))
        return [of_x.T if g.ndim == 2 else of_x, own]


product = Product()


def dot(x: Any, y: Any) -> Any:
    """The product; an array unless both matrices are sparse."""
    if not is_sparse(x) and not is_sparse(y):
        raise TypeError("sparse.dot: one of the matrices has to be sparse")
    out = product(x, y)
    return dense_from_sparse(out) if is_sparse_variable(out) else out


def structured_dot(x: Any, y: Any) -> Any:
    """The product, with the gradient of a sparse matrix at its own places alone."""
    return product(x, y)


def true_dot(x: Any, y: Any, grad_preserves_dense: bool = True) -> Any:
    """The product as a sparse matrix, also where one of the two is an array."""
    if not is_sparse(x) and not is_sparse(y):
        raise TypeError("true_dot: one of the matrices has to be sparse")
    if not is_sparse(x):
        return transpose(true_dot(transpose(y), as_tensor_variable(x).T))
    x, out = as_sparse_variable(x), product(x, y)
    return out if is_sparse_variable(out) else SparseFromDense(x.format)(out)


def usmm(alpha: Any, x: Any, y: Any, z: Any) -> Any:
    """``alpha * x @ y + z``."""
    return as_tensor_variable(alpha) * dot(x, y) + z


def sampling_dot(x: Any, y: Any, p: Any) -> Any:
    """``p * (x @ y.T)``, computed where `p` has elements."""
    p, x, y = as_sparse_variable(p), as_tensor_variable(x), as_tensor_variable(y)
    rows, columns = coordinates(p)
    return with_data(p, csm_data(p) * sum_over(x[rows] * y[columns], 1))


def _has_products() -> None:
    """Give sparse variables their products."""
    own: Any = SparseOperators
    own.__dot__ = own.__matmul__ = dot
    own.__rdot__ = own.__rmatmul__ = lambda self, other: dot(other, self)
    own.dot = structured_dot


_has_products()
