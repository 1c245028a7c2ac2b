"""Operations on sparse matrices.

What an operation does to the stored elements alone is an expression of `csm_properties` (their
values and places) and `CSM` (a matrix made of these), so that it has the gradients of those.
Products and sums run SciPy's kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from wengert.symbolic.dtypes import COMPLEX, CONTINUOUS, as_name, upcast
from wengert.symbolic.expressions import arithmetic as A
from wengert.symbolic.expressions.creation import arange, ones_like, zeros, zeros_like
from wengert.symbolic.expressions.indexing import inc_subtensor
from wengert.symbolic.expressions.reductions import sum as sum_over
from wengert.symbolic.expressions.structure import stack
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, Variable, disconnected
from wengert.symbolic.settings import config
from wengert.symbolic.sparse.type import (
    FORMATS,
    SparseOperators,
    SparseType,
    as_sparse_variable,
)
from wengert.symbolic.sparse.type import as_sparse as as_sparse

_OTHER = {"csr": "csc", "csc": "csr"}


def is_sparse_variable(x: Any) -> bool:
    """Whether a variable stands for a sparse matrix."""
    return isinstance(x, Variable) and isinstance(x.type, SparseType)


def is_sparse(x: Any) -> bool:
    """Whether something is a sparse matrix, or a variable for one."""
    return scipy.sparse.issparse(x) or is_sparse_variable(x)


def as_sparse_or_tensor_variable(x: Any, name: str | None = None) -> Any:
    """A sparse variable if that is possible, else one of an array."""
    if is_sparse(x):
        return as_sparse_variable(x, name)
    return as_tensor_variable(x, name)


def _vector(dtype: str) -> Any:
    return TensorType(dtype, (False,))()


class CSM(Operation):
    """A sparse matrix of the values and places of its elements."""

    __props__ = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, data: Any, indices: Any, indptr: Any, shape: Any) -> Apply:
        """Vectors, as SciPy has them."""
        data = as_tensor_variable(data)
        places = [A.cast(as_tensor_variable(x), "int32") for x in (indices, indptr, shape)]
        for x in (data, *places):
            if x.ndim != 1:
                raise TypeError(f"CSM: expected vectors, got {x} with {x.ndim} dimensions")
        return Apply(self, [data, *places], [SparseType(self.format, data.dtype)()])

    def compute(self, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
        """The matrix."""
        return FORMATS[self.format]((data.copy(), indices.copy(), indptr.copy()), tuple(shape))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The elements at the same places."""
        rows, columns = coordinates(outputs[0])
        rest = [disconnected() for _ in inputs[1:]]
        return [sparse_take(output_gradients[0], rows, columns), *rest]


CSR, CSC = CSM("csr"), CSM("csc")
_MAKERS = {"csr": CSR, "csc": CSC}


class CSMProperties(Operation):
    """The values of the elements of a sparse matrix, and the vectors of their places."""

    def make_node(self, csm: Any) -> Apply:
        """Of one matrix."""
        csm = as_sparse_variable(csm)
        return Apply(self, [csm], [_vector(csm.dtype), *[_vector("int32") for _ in range(3)]])

    def compute(self, csm: Any) -> Any:
        """Data, indices, pointers and shape."""
        places = [np.asarray(x, np.int32) for x in (csm.indices, csm.indptr, csm.shape)]
        return csm.data, *places

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Values depend on values."""
        return [[True, False, False, False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """A matrix with these elements."""
        return [_MAKERS[inputs[0].format](output_gradients[0], *outputs[1:])]


csm_properties = CSMProperties()


def csm_data(csm: Any) -> Any:
    """The values of the elements."""
    return csm_properties(csm)[0]


def csm_indices(csm: Any) -> Any:
    """The columns (of csr) or rows (of csc) of the elements."""
    return csm_properties(csm)[1]


def csm_indptr(csm: Any) -> Any:
    """Where rows or columns begin among the elements."""
    return csm_properties(csm)[2]


def csm_shape(csm: Any) -> Any:
    """The shape."""
    return csm_properties(csm)[3]


class Coordinates(Operation):
    """The rows and columns of the elements, in their order."""

    def make_node(self, csm: Any) -> Apply:
        """Of one matrix."""
        return Apply(self, [as_sparse_variable(csm)], [_vector("int64"), _vector("int64")])

    def compute(self, csm: Any) -> Any:
        """Rows and columns."""
        major = np.repeat(np.arange(len(csm.indptr) - 1), np.diff(csm.indptr))
        minor = csm.indices.astype(np.int64)
        return (major, minor) if csm.format == "csr" else (minor, major)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Places do not depend on values."""
        return [[False, False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected()]


coordinates = Coordinates()


class SparseTake(Operation):
    """The elements at some rows and columns, as a vector."""

    def make_node(self, x: Any, rows: Any, columns: Any) -> Apply:
        """A matrix and two vectors."""
        x = as_sparse_variable(x)
        return Apply(self, [x, as_tensor_variable(rows), as_tensor_variable(columns)],
                     [_vector(x.dtype)])  # fmt: skip

    def compute(self, x: Any, rows: Any, columns: Any) -> Any:
        """Zero where nothing is stored."""
        return np.asarray(x[rows, columns]).reshape(-1) if len(rows) else np.zeros(0, x.dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """A matrix with the gradients at these places."""
        x, rows, columns = inputs
        made = FromCoordinates(x.format)(output_gradients[0], rows, columns, csm_shape(x))
        return [made, disconnected(), disconnected()]


sparse_take = SparseTake()


class FromCoordinates(Operation):
    """A matrix of elements, their rows and their columns; those of one place are added."""

    __props__ = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, data: Any, rows: Any, columns: Any, shape: Any) -> Apply:
        """Four vectors."""
        parts = [as_tensor_variable(x) for x in (data, rows, columns, shape)]
        return Apply(self, parts, [SparseType(self.format, parts[0].dtype)()])

    def compute(self, data: Any, rows: Any, columns: Any, shape: Any) -> Any:
        """The matrix."""
        return FORMATS[self.format]((data, (rows, columns)), tuple(shape))

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The elements at these places."""
        _, rows, columns, _ = inputs
        rest = [disconnected() for _ in range(3)]
        return [sparse_take(output_gradients[0], rows, columns), *rest]


class Combined(Operation):
    """The sum, or the product element by element, of two sparse matrices."""

    __props__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def make_node(self, x: Any, y: Any) -> Apply:
        """Two sparse matrices; the result has the format of the first."""
        x, y = as_sparse_variable(x), as_sparse_variable(y)
        return Apply(self, [x, y], [SparseType(x.format, upcast(x.dtype, y.dtype))()])

    def compute(self, x: Any, y: Any) -> Any:
        """SciPy's."""
        if x.shape != y.shape:
            raise ValueError(f"{self.name}: matrices of shape {x.shape} and {y.shape}")
        out = x + y if self.name == "add" else x.multiply(y)
        return out.asformat(x.format)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Sparse matrices as well."""
        (x, y), (g,) = inputs, output_gradients
        if self.name == "add":
            return [g, g]
        return [mul_s_s(g, y), mul_s_s(g, x)]


add_s_s, mul_s_s = Combined("add"), Combined("mul")


class SparseFromDense(Operation):
    """The elements of an array that are not zero, as a sparse matrix."""

    __props__ = ("format",)

    def __init__(self, format: str) -> None:
        self.format = format

    def make_node(self, x: Any) -> Apply:
        """A matrix."""
        x = as_tensor_variable(x)
        if x.ndim > 2:
            raise TypeError("Theano does not have sparse tensor types with more than 2 dimensions,"
                            f" but {x}.ndim = {x.ndim}")  # fmt: skip
        x = x if x.ndim == 2 else x.dimshuffle(*["x"] * (2 - x.ndim), *range(x.ndim))
        return Apply(self, [x], [SparseType(self.format, x.dtype)()])

    def compute(self, x: Any) -> Any:
        """The matrix."""
        return FORMATS[self.format](x)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """As an array."""
        return [dense_from_sparse(output_gradients[0])]


csr_from_dense, csc_from_dense = SparseFromDense("csr"), SparseFromDense("csc")


class InFormat(SparseFromDense):
    """A sparse matrix in another format."""

    def make_node(self, x: Any) -> Apply:
        """A sparse matrix."""
        x = as_sparse_variable(x)
        return Apply(self, [x], [SparseType(self.format, x.dtype)()])

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """In the format of the input."""
        return [in_format(output_gradients[0], inputs[0].format)]


def in_format(x: Any, format: str) -> Any:
    """A sparse matrix in a format."""
    return x if x.format == format else InFormat(format)(x)


class Cast(Operation):
    """A sparse matrix in another dtype."""

    __props__ = ("dtype",)

    def __init__(self, dtype: Any) -> None:
        self.dtype = as_name(dtype)

    def make_node(self, x: Any) -> Apply:
        """One matrix."""
        x = as_sparse_variable(x)
        return Apply(self, [x], [SparseType(x.format, self.dtype)()])

    def compute(self, x: Any) -> Any:
        """Of complex numbers the real parts, if the dtype is real."""
        return (x.real if x.dtype.kind == "c" and self.dtype not in COMPLEX else x).astype(
            self.dtype
        )

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradient in the dtype that was."""
        x, (g,) = inputs[0], output_gradients
        return [cast(g if x.dtype in CONTINUOUS else sp_zeros_like(x), _gradient_dtype(x.dtype))]


def _gradient_dtype(dtype: str) -> str:
    return dtype if dtype in CONTINUOUS else str(config.floatX)


class AllElements(Operation):
    """A sparse matrix as an array, with a gradient in elements that are not stored as well."""

    def make_node(self, x: Any) -> Apply:
        """One matrix."""
        x = as_sparse_variable(x)
        return Apply(self, [x], [TensorType(x.dtype, (False, False))()])

    def compute(self, x: Any) -> Any:
        """The array."""
        return x.toarray()

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The elements of the gradient that are not zero."""
        return [SparseFromDense(inputs[0].format)(output_gradients[0])]


class Tidied(Operation):
    """The same matrix, its elements in order, or without those that are zero."""

    __props__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def make_node(self, x: Any) -> Apply:
        """A matrix."""
        x = as_sparse_variable(x)
        return Apply(self, [x], [x.type()])

    def compute(self, x: Any) -> Any:
        """A copy, tidied."""
        x = x.copy()
        getattr(x, self.what)()
        return x

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The same."""
        return list(output_gradients)


ensure_sorted_indices, remove0 = Tidied("sort_indices"), Tidied("eliminate_zeros")


def clean(x: Any) -> Any:
    """Without zeros, and in order."""
    return ensure_sorted_indices(remove0(x))


def with_data(x: Any, data: Any) -> Any:
    """A matrix of the same places with other elements."""
    _, indices, indptr, shape = csm_properties(x)
    return _MAKERS[x.format](data, indices, indptr, shape)


def dense_from_sparse(x: Any, structured: bool = True) -> Any:
    """The matrix as an array.

    The gradient is that of the stored elements; of all of them, zeros as well, unless
    `structured`.
    """
    if not structured:
        return AllElements()(x)
    x = as_sparse_variable(x)
    rows, columns = coordinates(x)
    shape = csm_shape(x)
    empty = zeros((shape[0], shape[1]), dtype=x.dtype)
    return inc_subtensor(empty[rows, columns], csm_data(x))


toarray = dense_from_sparse


def transpose(x: Any) -> Any:
    """The transpose, in the other format."""
    x = as_sparse_variable(x)
    data, indices, indptr, shape = csm_properties(x)
    return _MAKERS[_OTHER[x.format]](data, indices, indptr, shape[::-1])


def cast(variable: Any, dtype: Any) -> Any:
    """The matrix in another dtype; of complex numbers the real parts, if that is real."""
    x = as_sparse_variable(variable)
    return x if x.dtype == as_name(dtype) else Cast(dtype)(x)


def _caster(dtype: str) -> Any:
    def to(variable: Any) -> Any:
        return cast(variable, dtype)

    to.__doc__ = f"The matrix in dtype {dtype}."
    return to


bcast, wcast, icast, lcast = map(_caster, ("int8", "int16", "int32", "int64"))
fcast, dcast, ccast, zcast = map(_caster, ("float32", "float64", "complex64", "complex128"))


def neg(x: Any) -> Any:
    """The negative."""
    return with_data(as_sparse_variable(x), -csm_data(x))


def conj(x: Any) -> Any:
    """The complex conjugate."""
    return with_data(as_sparse_variable(x), A.conj(csm_data(x)))


def sp_ones_like(x: Any) -> Any:
    """A matrix with ones where `x` has elements."""
    x = as_sparse_variable(x)
    return with_data(x, ones_like(csm_data(x)))


def sp_zeros_like(x: Any) -> Any:
    """A matrix of the shape, format and dtype of `x` without elements."""
    x = as_sparse_variable(x)
    data, indices, indptr, shape = csm_properties(x)
    return _MAKERS[x.format](data[:0], indices[:0], zeros_like(indptr), shape)


def add_s_s_data(x: Any, y: Any) -> Any:
    """The sum of two sparse matrices that have elements at the same places."""
    x, y = as_sparse_variable(x), as_sparse_variable(y)
    if x.type != y.type:
        raise NotImplementedError(f"add_s_s_data: {x} is {x.type}, and {y} is {y.type}")
    return with_data(x, csm_data(x) + csm_data(y))


def add(x: Any, y: Any) -> Any:
    """The sum: sparse if both are, else an array."""
    if is_sparse(x) and is_sparse(y):
        return add_s_s(x, y)
    if not is_sparse(x) and not is_sparse(y):
        raise TypeError("add: one of the matrices has to be sparse")
    x, y = (dense_from_sparse(v) if is_sparse(v) else as_tensor_variable(v) for v in (x, y))
    return x + y


def sub(x: Any, y: Any) -> Any:
    """The difference: sparse if both are, else an array."""
    return add(x, neg(y) if is_sparse(y) else -as_tensor_variable(y))


def mul(x: Any, y: Any) -> Any:
    """The product element by element, with a number, a vector of columns or a matrix."""
    if is_sparse(x) and is_sparse(y):
        return mul_s_s(x, y)
    if is_sparse(y):
        x, y = y, x
    if not is_sparse(x):
        raise TypeError("mul: one of the matrices has to be sparse")
    x, y = as_sparse_variable(x), as_tensor_variable(y)
    rows, columns = coordinates(x)
    at = y if y.ndim == 0 else y[columns] if y.ndim == 1 else y[rows, columns]
    return with_data(x, csm_data(x) * at)


mul_s_d = mul_s_v = mul
add_s_d = add


def structured_add_s_v(x: Any, y: Any) -> Any:
    """A vector added to the stored elements of each row."""
    x = as_sparse_variable(x)
    return with_data(x, csm_data(x) + as_tensor_variable(y)[coordinates(x)[1]])


def col_scale(x: Any, s: Any) -> Any:
    """Each column times an element of a vector."""
    return mul(as_sparse_variable(x), s)


def row_scale(x: Any, s: Any) -> Any:
    """Each row times an element of a vector."""
    x = as_sparse_variable(x)
    return with_data(x, csm_data(x) * as_tensor_variable(s)[coordinates(x)[0]])


def sp_sum(x: Any, axis: int | None = None, sparse_grad: bool = False) -> Any:
    """The sum of all elements, of columns (0) or of rows (1), as an array."""
    x = as_sparse_variable(x)
    if axis is None:
        return sum_over(csm_data(x))
    if axis not in (0, 1):
        raise ValueError(f"Illegal value for self.axis: {axis}")
    places = coordinates(x)[1 - axis]
    empty = zeros((csm_shape(x)[1 - axis],), dtype=x.dtype)
    return inc_subtensor(empty[places], csm_data(x))


def diag(x: Any) -> Any:
    """The diagonal, as a vector."""
    x = as_sparse_variable(x)
    shape = csm_shape(x)
    places = arange(A.minimum(shape[0], shape[1]))
    return sparse_take(x, places, places)


def square_diagonal(diag: Any) -> Any:
    """A sparse matrix with a vector on its diagonal."""
    diag = as_tensor_variable(diag)
    n = diag.shape[0]
    return CSC(diag, arange(n), arange(n + 1), stack([n, n]))


def construct_sparse_from_list(x: Any, shape: Any, ilist: Any) -> Any:
    """A matrix of that shape with the rows of an array at some rows."""
    x, ilist = as_tensor_variable(x), as_tensor_variable(ilist)
    indptr = arange(x.shape[0] + 1) * x.shape[1]
    rows = CSR(x.flatten(), arange(x.size) % x.shape[1], indptr, stack([x.shape[0], x.shape[1]]))
    places, columns = coordinates(rows)
    return FromCoordinates("csc")(csm_data(rows), ilist[places], columns, shape)


def _has_operators() -> None:
    """Give sparse variables their operators and methods."""
    own: Any = SparseOperators
    own.__add__ = add
    own.__radd__ = lambda self, other: add(other, self)
    own.__sub__ = sub
    own.__rsub__ = lambda self, other: sub(other, self)
    own.__mul__ = own.__rmul__ = mul
    own.__neg__ = neg
    own.toarray = own.todense = dense_from_sparse
    own.astype = cast
    own.sum = sp_sum
    own.transpose = transpose
    own.T, own.shape = property(transpose), property(csm_shape)
    own.data, own.indices = property(csm_data), property(csm_indices)
    own.indptr, own.size = property(csm_indptr), property(lambda self: csm_data(self).size)
    own.is_sparse = True


_has_operators()
