"""Functions of the stored elements of sparse matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.symbolic.expressions import arithmetic as A
from wengert.symbolic.expressions.activations import sigmoid
from wengert.symbolic.sparse.basic import csm_data, with_data
from wengert.symbolic.sparse.type import as_sparse_variable


def structured_monoid(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays as one of the stored elements of a sparse matrix."""

    def structured(x: Any, *others: Any) -> Any:
        x = as_sparse_variable(x)
        return with_data(x, function(csm_data(x), *others))

    structured.__name__ = getattr(function, "__name__", "structured")
    structured.__doc__ = f"`{structured.__name__}` of the stored elements."
    return structured


structured_sigmoid, structured_exp = structured_monoid(sigmoid), structured_monoid(A.exp)
structured_log, structured_pow = structured_monoid(A.log), structured_monoid(A.pow)
structured_minimum = structured_monoid(A.minimum)
structured_maximum, structured_add = structured_monoid(A.maximum), structured_monoid(A.add)
# Functions that are zero at zero.
sin, arcsin, tan, arctan = map(structured_monoid, (A.sin, A.arcsin, A.tan, A.arctan))
sinh, arcsinh, tanh, arctanh = map(structured_monoid, (A.sinh, A.arcsinh, A.tanh, A.arctanh))
rint, sgn, ceil, floor = map(structured_monoid, (A.round, A.sgn, A.ceil, A.floor))
log1p, expm1, deg2rad, rad2deg = map(structured_monoid, (A.log1p, A.expm1, A.deg2rad, A.rad2deg))
trunc, sqr, sqrt = map(structured_monoid, (A.trunc, A.sqr, A.sqrt))
