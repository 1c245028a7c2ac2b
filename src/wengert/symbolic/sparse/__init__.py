"""``theano.sparse``: variables that stand for SciPy's sparse matrices, and functions of them.

>>> import scipy.sparse
>>> from wengert.symbolic import function, sparse
>>> from wengert.symbolic import tensor as T
>>> x, y = sparse.csr_matrix("x", "float64"), T.dvector("y")
>>> f = function([x, y], sparse.dot(x, y))
>>> f(scipy.sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]]), [1.0, 10.0])
array([20.,  3.])
"""

from wengert.symbolic.sharing import shared as shared
from wengert.symbolic.sparse import basic as basic
from wengert.symbolic.sparse import type as type
from wengert.symbolic.sparse.basic import *
from wengert.symbolic.sparse.structured import *
from wengert.symbolic.sparse.type import *

enable_sparse = True
