"""``theano.sparse.sandbox.sp2``: sparse matrices of random numbers.

The numbers come from NumPy's global generator: `numpy.random.seed` sets it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, FLOATS
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.gradient import grad_undefined
from wengert.symbolic.graph import Apply, Operation, disconnected
from wengert.symbolic.sparse import *  # noqa: F403
from wengert.symbolic.sparse import classes
from wengert.symbolic.sparse import remove0 as eliminate_zeros  # noqa: F401
from wengert.symbolic.sparse.type import FORMATS, SparseType, as_sparse_variable


class _Random(Operation):
    """Draws anew in every call, and in every step of a loop."""

    has_effect = True

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [grad_undefined(self, k, x) for k, x in enumerate(inputs)]


class Poisson(_Random):
    """Counts of the rates that a sparse matrix stores.

    >>> import numpy as np
    >>> import scipy.sparse
    >>> from wengert.symbolic import function, sparse
    >>> from wengert.symbolic.sparse.sandbox import sp2
    >>> x = sparse.csr_matrix("x", "float64")
    >>> np.random.seed(1)
    >>> function([x], sp2.poisson(x))(scipy.sparse.csr_matrix([[0.0, 900.0]])).toarray()
    array([[  0., 893.]])
    """

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        """A sparse matrix of the same type."""
        x = as_sparse_variable(x)
        return Apply(self, [x], [x.type()])

    def compute(self, x: Any) -> Any:
        """Counts of 0 are not stored."""
        drawn = x.copy()
        drawn.data = np.random.poisson(x.data).astype(x.dtype)
        drawn.eliminate_zeros()
        return drawn


class Binomial(_Random):
    """How many of `n` trials succeed: a sparse matrix of a format, a dtype and a shape."""

    __props__ = ("format", "dtype")

    def __init__(self, format: str, dtype: str) -> None:
        self.format, self.dtype = format, dtype

    def make_node(self, n: Any, p: Any, shape: Any) -> Apply:
        """The number of trials, the probability of each, two lengths."""
        n, p, shape = (as_tensor_variable(v) for v in (n, p, shape))
        for v, dtypes in ((n, DISCRETE), (p, FLOATS), (shape, DISCRETE)):
            if v.dtype not in dtypes:
                raise AssertionError(f"{self}: {v} is of {v.dtype}, which is none of {dtypes}")
        return Apply(self, [n, p, shape], [SparseType(self.format, self.dtype)()])

    def compute(self, n: Any, p: Any, shape: Any) -> Any:
        """NumPy's."""
        return FORMATS[self.format](np.random.binomial(n, p, tuple(shape)), dtype=self.dtype)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The shape has no gradient."""
        return [[True], [True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """Not defined."""
        return [*super().L_op(inputs[:2], outputs, output_gradients), disconnected()]


class Multinomial(_Random):
    """How often each of the outcomes comes whose probabilities a row stores, in `n` trials."""

    __props__ = ()

    def make_node(self, n: Any, p: Any) -> Apply:
        """`n` is a number, or one for each row."""
        n, p = as_tensor_variable(n), as_sparse_variable(p)
        return Apply(self, [n, p], [p.type()])

    def compute(self, n: Any, p: Any) -> Any:
        """NumPy's, row by row; only matrices in rows have them."""
        if p.format != "csr":
            raise NotImplementedError(f"{self}: the probabilities are in {p.format}, not in csr")
        if n.ndim and n.shape[0] != p.shape[0]:
            raise ValueError(f"{self}: {n.shape[0]} numbers of trials for {p.shape[0]} rows")
        drawn = p.copy()
        for row, trials in enumerate(np.broadcast_to(n, p.shape[:1])):
            own = slice(p.indptr[row], p.indptr[row + 1])
            drawn.data[own] = np.random.multinomial(trials, p.data[own])
        return drawn


EliminateZeros = vars(classes)["Remove0"]  # its older name
poisson, multinomial = Poisson(), Multinomial()
csr_fbinomial, csc_fbinomial = Binomial("csr", "float32"), Binomial("csc", "float32")
csr_dbinomial, csc_dbinomial = Binomial("csr", "float64"), Binomial("csc", "float64")
