"""Types and variables of sparse matrices; their values are SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from wengert.symbolic.dtypes import ALL
from wengert.symbolic.graph import Constant, Type, Variable, marked
from wengert.symbolic.settings import config
from wengert.symbolic.sharing import SharedVariable, constructors

FORMATS = {"csr": scipy.sparse.csr_matrix, "csc": scipy.sparse.csc_matrix}
sparse_formats = list(FORMATS)


class SparseType(Type):
    """Sparse matrices of a format, ``"csr"`` or ``"csc"``, and a dtype."""

    ndim = 2
    broadcastable = (False, False)

    def __init__(self, format: str, dtype: Any) -> None:
        if format not in FORMATS:
            raise NotImplementedError(
                f"unsupported format {format!r} not in list {', '.join(FORMATS)}"
            )
        name = config.floatX if dtype == "floatX" else np.dtype(dtype).name
        if name not in ALL:
            raise NotImplementedError(f"unsupported dtype {dtype!r}")
        self.format, self.dtype = format, name

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """A matrix of that format and dtype, or TypeError."""
        own = np.dtype(self.dtype)
        if not scipy.sparse.issparse(value):
            raise TypeError(f"{self} expected a sparse matrix, got {type(value).__name__}")
        same = value.format == self.format
        if value.dtype == own and same:
            return value
        if strict:
            raise TypeError(f"{self} is not what {value!r} is")
        if value.dtype != own and not (allow_downcast or np.can_cast(value.dtype, own)):
            raise TypeError(f"{self} cannot store {value!r} without risking loss of precision")
        return FORMATS[self.format](value, dtype=own)

    def make_variable(self, name: str | None = None) -> SparseVariable:
        """A fresh variable."""
        return SparseVariable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> SparseConstant:
        """A constant."""
        return SparseConstant(self, value, name)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Whether two matrices have the same elements."""
        return bool(a.shape == b.shape and (a != b).nnz == 0)

    def values_eq_approx(self, a: Any, b: Any, eps: float = 1e-6) -> bool:
        """Whether the elements of two matrices differ by no more than `eps`."""
        if not all(map(scipy.sparse.issparse, (a, b))) or a.shape != b.shape:
            return False
        difference = abs(a - b)
        return not difference.nnz or bool(difference.max() < eps)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Whether a change of one matrix may change the other, or an array of its elements."""
        if not any(map(scipy.sparse.issparse, (a, b))):
            return False
        parts = [
            (m.data, m.indices, m.indptr) if scipy.sparse.issparse(m) else (m,) for m in (a, b)
        ]
        return any(np.may_share_memory(p, q) for p in parts[0] for q in parts[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SparseType) and (other.format, other.dtype) == (
            self.format,
            self.dtype,
        )

    def __hash__(self) -> int:
        return hash((SparseType, self.format, self.dtype))

    def __repr__(self) -> str:
        return f"Sparse[{self.dtype}, {self.format}]"


class SparseOperators:
    """What sparse variables have in common; `basic` gives them operators and methods."""

    __array_priority__ = 1000
    type: SparseType

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    @property
    def format(self) -> str:
        """``"csr"`` or ``"csc"``."""
        return self.type.format

    ndim = 2
    broadcastable = (False, False)


class SparseVariable(SparseOperators, Variable):
    """A variable whose values are sparse matrices."""


class SparseConstant(SparseOperators, Constant):
    """A sparse matrix in an expression."""

    data: Any = None  # the matrix; of other variables the values of the elements

    def __str__(self) -> str:
        shape = "x".join(map(str, self.data.shape))
        return self.name or f"SparseConstant{{{self.type.format},{self.type.dtype},{shape}}}"

    __repr__ = __str__


class SparseTensorSharedVariable(SparseOperators, SharedVariable):
    """A shared sparse matrix."""


def as_sparse_variable(x: Any, name: str | None = None) -> Any:
    """A sparse variable as it is, a sparse matrix as a constant; TypeError for anything else."""
    if isinstance(x, Variable):
        if not isinstance(x.type, SparseType):
            raise TypeError(f"Variable type field must be a SparseType: {x} has {x.type}")
        return x
    return constant(x, name)


as_sparse = as_sparse_variable


def constant(x: Any, name: str | None = None) -> SparseConstant:
    """A constant."""
    if not scipy.sparse.issparse(x) or x.format not in FORMATS:
        raise TypeError(f"sparse.constant must be called on a {sparse_formats} matrix, got {x!r}")
    made: SparseConstant = marked(SparseConstant(SparseType(x.format, x.dtype), x.copy(), name))
    return made


def matrix(format: str, name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A variable for sparse matrices; the dtype is `config.floatX` by default."""
    made: SparseVariable = SparseType(format, dtype or config.floatX)(name)
    return made


def csr_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A variable for matrices in rows."""
    return matrix("csr", name, dtype)


def csc_matrix(name: str | None = None, dtype: Any = None) -> SparseVariable:
    """A variable for matrices in columns."""
    return matrix("csc", name, dtype)


csr_fmatrix, csr_dmatrix = SparseType("csr", "float32"), SparseType("csr", "float64")
csc_fmatrix, csc_dmatrix = SparseType("csc", "float32"), SparseType("csc", "float64")


def _shared(value: Any, name: str | None, strict: bool, allow_downcast: Any) -> Any:
    if not scipy.sparse.issparse(value) or value.format not in FORMATS:
        return None
    type_ = SparseType(value.format, value.dtype)
    return SparseTensorSharedVariable(name, type_, value, strict, allow_downcast)


constructors.append(_shared)
