"""``theano.sparse``: variables that stand for SciPy's sparse matrices, and functions of them.

>>> import scipy.sparse
>>> from wengert.symbolic import function, sparse
>>> from wengert.symbolic import tensor as T
>>> x, y = sparse.csr_matrix("x", "float64"), T.dvector("y")
>>> f = function([x, y], sparse.dot(x, y))
>>> f(scipy.sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]]), [1.0, 10.0])
array([20.,  3.])
"""

import sys as _sys
from importlib import import_module as _import_module
from typing import Any as _Any

from wengert.symbolic.dtypes import ALL as all_dtypes  # noqa: N811
from wengert.symbolic.dtypes import COMPLEX as complex_dtypes  # noqa: N811
from wengert.symbolic.dtypes import CONTINUOUS as continuous_dtypes  # noqa: N811
from wengert.symbolic.dtypes import DISCRETE as discrete_dtypes  # noqa: N811
from wengert.symbolic.dtypes import FLOATS as float_dtypes  # noqa: N811
from wengert.symbolic.dtypes import INTEGERS as int_dtypes  # noqa: N811
from wengert.symbolic.dtypes import UNSIGNED as uint_dtypes  # noqa: N811
from wengert.symbolic.sharing import shared as shared
from wengert.symbolic.sparse import type as type
from wengert.symbolic.sparse.basic import *
from wengert.symbolic.sparse.basic import is_sparse_variable as _is_sparse_variable  # for PyMC3
from wengert.symbolic.sparse.classes import *
from wengert.symbolic.sparse.items import *
from wengert.symbolic.sparse.products import *
from wengert.symbolic.sparse.structured import *
from wengert.symbolic.sparse.type import *

basic = _sys.modules[__name__]
integer_dtypes = (*int_dtypes, *uint_dtypes)
enable_sparse = True


def __getattr__(name: str) -> _Any:
    if name == "sandbox":  # loaded on first access
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
