"""Parts of sparse matrices, and comparisons of their elements."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from wengert.symbolic.dtypes import upcast
from wengert.symbolic.expressions.creation import arange
from wengert.symbolic.expressions.indexing import index
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable
from wengert.symbolic.graph import Apply, Operation, disconnected
from wengert.symbolic.sparse.basic import (
    FromCoordinates,
    as_sparse_or_tensor_variable,
    cast,
    coordinates,
    csm_data,
    csm_shape,
    in_format,
    is_sparse_variable,
    sparse_take,
)
from wengert.symbolic.sparse.type import SparseOperators, SparseType, as_sparse_variable


class Rectangle(Operation):
    """The elements of a sparse matrix in some rows and columns, as a sparse matrix."""

    def make_node(self, x: Any, rows: Any, columns: Any) -> Apply:
        """A matrix and two vectors."""
        x, rows, columns = as_sparse_variable(x), *map(as_tensor_variable, (rows, columns))
        return Apply(self, [x, rows, columns], [x.type()])

    def compute(self, x: Any, rows: Any, columns: Any) -> Any:
        """IndexError where there are no such rows or columns."""
        return x[rows][:, columns].asformat(x.format)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Places have no gradient."""
        return [[True], [False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients, at the places where the elements were."""
        x, rows, columns = inputs
        (g,) = output_gradients
        r, c = coordinates(g)
        made = FromCoordinates(x.format)(csm_data(g), rows[r], columns[c], csm_shape(x))
        return [made, disconnected(), disconnected()]


rectangle = Rectangle()


def _places(length: Any, key: Any) -> Any:
    """The numbers of rows or columns, for a slice, a number or a vector of numbers."""
    if isinstance(key, slice):
        return index(arange(length), key)
    key = as_tensor_variable(key)
    if key.ndim != 1:
        raise NotImplementedError(
            "there are no sparse vectors: where the other index is a slice, write x[a:a + 1] for"
            f" x[a]; got an index of {key.ndim} dimensions"
        )
    return key


def item(x: Any, key: Any) -> Any:
    """A part of a sparse matrix.

    Args:
        x: the matrix.
        key: a row and a column (the result is a number), two vectors of these (a vector), or any
            other pair of slices and vectors, or one of them for rows alone (a sparse matrix).
    """
    x = as_sparse_variable(x)
    rows, columns = key if isinstance(key, tuple) else (key, slice(None))
    if not isinstance(rows, slice) and not isinstance(columns, slice):
        row, column = as_tensor_variable(rows), as_tensor_variable(columns)
        if row.ndim == column.ndim == 0:
            return sparse_take(x, row.dimshuffle("x"), column.dimshuffle("x"))[0]
        if row.ndim == column.ndim == 1:
            return sparse_take(x, row, column)
    shape = csm_shape(x)
    return rectangle(x, _places(shape[0], rows), _places(shape[1], columns))


def get_item_list(x: Any, index: Any) -> Any:
    """Some rows."""
    return item(x, index)


def get_item_2lists(x: Any, ind1: Any, ind2: Any) -> Any:
    """The elements at some rows and columns, as a vector."""
    return item(x, (ind1, ind2))


def get_item_scalar(x: Any, index: Any) -> Any:
    """The element at a row and a column."""
    return item(x, tuple(index))


class Joined(Operation):
    """Matrices beside or below each other."""

    __props__ = ("axis", "format", "dtype")

    def __init__(self, axis: int, format: str | None, dtype: str) -> None:
        self.axis, self.format, self.dtype = axis, format or "csc", dtype

    def make_node(self, *matrices: Any) -> Apply:
        """Sparse matrices."""
        return Apply(self, [as_sparse_variable(m) for m in matrices],
                     [SparseType(self.format, self.dtype)()])  # fmt: skip

    def compute(self, *matrices: Any) -> Any:
        """SciPy's."""
        join = scipy.sparse.hstack if self.axis else scipy.sparse.vstack
        return join(matrices, format=self.format, dtype=self.dtype)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Each matrix's part of the gradient."""
        results, offset = [], as_tensor_variable(0)
        for x in inputs:
            end = offset + csm_shape(x)[self.axis]
            every, part = slice(None), slice(offset, end)
            g = item(output_gradients[0], (every, part) if self.axis else (part, every))
            results.append(in_format(cast(g, x.dtype), x.format))
            offset = end
        return results


def hstack(blocks: Sequence[Any], format: str | None = None, dtype: Any = None) -> Any:
    """Matrices beside each other; "csc" by default."""
    own = dtype or upcast(*[as_sparse_variable(b).dtype for b in blocks])
    return Joined(1, format, own)(*blocks)


def vstack(blocks: Sequence[Any], format: str | None = None, dtype: Any = None) -> Any:
    """Matrices below each other; "csc" by default."""
    own = dtype or upcast(*[as_sparse_variable(b).dtype for b in blocks])
    return Joined(0, format, own)(*blocks)


class Compared(Operation):
    """A comparison element by element; sparse if both matrices are, else an array of booleans."""

    __props__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def make_node(self, x: Any, y: Any) -> Apply:
        """Two matrices of which one is sparse."""
        x, y = as_sparse_or_tensor_variable(x), as_sparse_or_tensor_variable(y)
        kinds = [is_sparse_variable(v) for v in (x, y)]
        if not any(kinds):
            raise TypeError(f"{self.name}: one of the matrices has to be sparse")
        if all(kinds):
            return Apply(self, [x, y], [SparseType(x.format, "bool")()])
        return Apply(self, [x, y], [TensorType("bool", (False, False))()])

    def compute(self, x: Any, y: Any) -> Any:
        """Of sparse matrices SciPy's."""
        if x.shape != y.shape:
            raise ValueError(f"{self.name}: matrices of shape {x.shape} and {y.shape}")
        compare: Callable[..., Any] = getattr(operator, self.name)
        if scipy.sparse.issparse(x) and scipy.sparse.issparse(y):
            with warnings.catch_warnings():  # that most results of eq, le and ge are true
                warnings.simplefilter("ignore", scipy.sparse.SparseEfficiencyWarning)
                return compare(x, y).asformat(x.format)
        x, y = (v.toarray() if scipy.sparse.issparse(v) else v for v in (x, y))
        return np.asarray(compare(x, y))

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Comparisons do not vary."""
        return [[False], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """None."""
        return [disconnected(), disconnected()]


eq, neq, lt, le, gt, ge = map(Compared, ("eq", "ne", "lt", "le", "gt", "ge"))
equal_s_s = equal_s_d = eq
not_equal_s_s = not_equal_s_d = neq
less_than_s_s = less_than_s_d = lt
less_equal_s_s = less_equal_s_d = le
greater_than_s_s = greater_than_s_d = gt
greater_equal_s_s = greater_equal_s_d = ge


def _has_items() -> None:
    """Give sparse variables indices and comparisons."""
    own: Any = SparseOperators
    own.__getitem__ = item
    for name, op in {"lt": lt, "le": le, "gt": gt, "ge": ge}.items():
        setattr(own, f"__{name}__", lambda self, other, op=op: op(self, other))


_has_items()
