"""Operations on numbers as expressions of Python on NumPy's scalars.

NumPy takes ten times as long for an array without dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.symbolic.expressions.elemwise import Elemwise
from wengert.symbolic.expressions.shapes import Length
from wengert.symbolic.expressions.type import TensorType
from wengert.symbolic.graph import Apply

_FLOATS = frozenset({"float32", "float64"})
_REALS = _FLOATS | {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "bool"}
# Of operands of one type of floats, which is also the result's.
_OF_FLOATS = {
    "add": " + ", "sub": " - ", "mul": " * ", "true_div": " / ", "pow": " ** ",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "neq": "!="}
_FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "log1p": np.log1p, "expm1": np.expm1,
}  # fmt: skip
# What expressions call.
SCOPE: dict[str, Any] = {f"np_{name}": function for name, function in _FUNCTIONS.items()} | {
    "np_array": np.asarray, "np_float32": np.float32, "np_float64": np.float64,
    "np_int64": np.int64,
}  # fmt: skip


def is_number(variable: Any) -> bool:
    """Whether a variable is an array without dimensions."""
    return isinstance(variable.type, TensorType) and not variable.ndim


def number_form(node: Apply) -> str | None:
    """An expression for a node, with a place for each input; None if there is none.

    Inputs are numbers, and an array for the length of a dimension.
    """
    if type(node.op) is Length:
        return f"np_int64({{0}}.shape[{node.op.axis}])"
    if not isinstance(node.op, Elemwise) or not all(map(is_number, node.inputs)):
        return None
    name, dtype = node.op.scalar_op.name, node.outputs[0].dtype
    dtypes = [x.dtype for x in node.inputs]
    if name in _COMPARISONS:
        alike = len(set(dtypes)) == 1 and dtypes[0] in _FLOATS | {"int64"}
        return f"{{0}} {_COMPARISONS[name]} {{1}}" if alike else None
    if name in ("add", "sub") and {dtype, *dtypes} == {"int64"}:  # lengths and counts
        return f"{{0}}{_OF_FLOATS[name]}{{1}}"
    if dtype not in _FLOATS or not _REALS.issuperset(dtypes):
        return None
    if name == f"Cast{{{dtype}}}":
        return f"np_{dtype}({{0}})"
    if dtypes.count(dtype) < len(dtypes) and name in ("sqr", "neg"):
        return None
    places = [f"{{{k}}}" if d == dtype else f"np_{dtype}({{{k}}})" for k, d in enumerate(dtypes)]
    if name in _OF_FLOATS and len(places) == 2:
        return _OF_FLOATS[name].join(places)
    if name in _FUNCTIONS:
        return f"np_{name}({places[0]})"
    return {"sqr": "{0} * {0}", "neg": "-{0}"}.get(name)
