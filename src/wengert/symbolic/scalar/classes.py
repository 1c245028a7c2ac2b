"""Theano's classes of operations on elements, for graphs that programs look at or build."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.differentiation import grad
from wengert.symbolic.expressions.arithmetic import tensor_copy
from wengert.symbolic.expressions.elemwise import SCALARS, Scalar
from wengert.symbolic.graph import toposort
from wengert.symbolic.scalar.basic import ScalarOp, get_scalar_type


class _Kind(type):
    """Counts the library's own operation of the same name as an instance."""

    known = ""

    def __instancecheck__(cls, value: Any) -> bool:
        return type.__instancecheck__(cls, value) or (
            cls.known != "" and isinstance(value, Scalar) and value.name == cls.known
        )


class _Known(ScalarOp, metaclass=_Kind):
    """An operation that the library has, under a class of its own."""

    def __init__(self, output_types_preference: Any = None, name: str | None = None) -> None:
        super().__init__(output_types_preference, name)
        self.operand_dtype = SCALARS[type(self).known].operand_dtype

    def dtype(self, *dtypes: str) -> str:
        """What `output_types_preference` says, or what is usual."""
        if hasattr(self, "output_types_preference"):
            return super().dtype(*dtypes)
        return SCALARS[type(self).known].dtype(*dtypes)

    def function(self, *values: np.ndarray) -> np.ndarray:
        """Of whole arrays."""
        out = SCALARS[type(self).known].function(*values)
        return np.asarray(out)

    def impl(self, *inputs: Any) -> Any:
        """Of numbers."""
        return self.function(*inputs)[()]

    def gradient(self, inputs: Any, out: Any, g: Any) -> Sequence[Any]:
        """That of the library's operation."""
        return SCALARS[type(self).known].gradient(inputs, out, g)


# The classes, by the name of the operation.
CLASSES = {
    "Second": "second", "Identity": "identity", "Add": "add", "Mul": "mul", "Abs": "abs_",
    "IntDiv": "int_div", "Sub": "sub", "Neg": "neg", "Pow": "pow", "TrueDiv": "true_div",
    "Mod": "mod", "Maximum": "maximum", "Minimum": "minimum", "Sqr": "sqr", "Sgn": "sgn",
    "Clip": "clip", "Inv": "inv", "Ceil": "ceil", "Floor": "floor", "Trunc": "trunc",
    "RoundHalfToEven": "round_half_to_even", "RoundHalfAwayFromZero": "round_half_away_from_zero",
    "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1", "Log": "log", "Log2": "log2", "Log10": "log10",
    "Log1p": "log1p", "Sqrt": "sqrt", "Sin": "sin", "Cos": "cos", "Tan": "tan", "ArcSin": "arcsin",
    "ArcCos": "arccos", "ArcTan": "arctan", "ArcTan2": "arctan2", "Sinh": "sinh", "Cosh": "cosh",
    "Tanh": "tanh", "ArcSinh": "arcsinh", "ArcCosh": "arccosh", "ArcTanh": "arctanh",
    "Deg2Rad": "deg2rad", "Rad2Deg": "rad2deg", "EQ": "eq", "NEQ": "neq", "LT": "lt", "LE": "le",
    "GT": "gt", "GE": "ge", "AND": "and_", "OR": "or_", "XOR": "xor", "Invert": "invert",
    "IsNan": "isnan", "IsInf": "isinf", "Switch": "switch", "Real": "real", "Imag": "imag",
    "Conj": "conj", "Angle": "angle", "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv",
    "Erfcinv": "erfcinv", "Erfcx": "erfcx", "Gamma": "gamma", "GammaLn": "gammaln", "Psi": "psi",
    "TriGamma": "tri_gamma", "GammaInc": "gammainc", "GammaIncC": "gammaincc", "Jv": "jv",
    "J0": "j0", "J1": "j1", "Iv": "iv", "I0": "i0", "I1": "i1", "ScalarSigmoid": "sigmoid",
    "ScalarSoftplus": "softplus",
}  # fmt: skip
KINDS = {
    name: _Kind(name, (_Known,), {"known": known, "__module__": __name__, "__doc__": f"`{known}`."})
    for name, known in CLASSES.items()
}
globals().update(KINDS)


class Composite(ScalarOp):
    """Several operations on elements as one.

    Args:
        inputs: scalar variables.
        outputs: expressions of them. Where there are several, a call gives as many, by a node for
            each, whose operation is one of `parts`.

    >>> from wengert.symbolic import function, scalar
    >>> from wengert.symbolic import tensor as T
    >>> a, b = scalar.floats("ab")
    >>> x = T.vector("x")
    >>> op = T.Elemwise(scalar.Composite([a, b], [a * b + 1]))
    >>> function([x], op(x, x))([2.0, 3.0])
    array([ 5., 10.])
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if not outputs:
            raise ValueError("Composite: expected at least one output, got none")
        super().__init__(lambda *types: tuple(out.type for out in outputs), "Composite")
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.nin, self.nout = len(self.inputs), len(self.outputs)
        self.parts = [Composite(inputs, [out]) for out in outputs] if self.nout > 1 else []

    def _of(self, values: Sequence[Any]) -> Any:
        table = dict(zip(self.inputs, values, strict=True))
        for node in toposort(self.outputs, self.inputs):
            out = node.op(*[table.get(x, x) for x in node.inputs], return_list=True)
            table.update(zip(node.outputs, out, strict=True))
        return table[self.outputs[0]]

    def dtype(self, *dtypes: str) -> str:
        """That of the expression, of inputs of these dtypes."""
        if len(dtypes) != self.nin:
            raise TypeError(f"Composite takes {self.nin} inputs, got {len(dtypes)}")
        return str(self._of([get_scalar_type(d)() for d in dtypes]).dtype)

    def function(self, *values: np.ndarray) -> np.ndarray:
        """The operations, one after the other, on whole arrays."""
        given = [get_scalar_type(v.dtype)() for v in map(np.asarray, values)]
        result = self._of(given)
        table: dict[Any, Any] = dict(zip(given, values, strict=True))
        for node in toposort([result], given):
            operands = [table.get(x, getattr(x, "data", None)) for x in node.inputs]
            table[node.outputs[0]] = node.op.kernel(node)(*operands)
        return np.asarray(table[result])

    def impl(self, *inputs: Any) -> Any:
        """Of numbers; a list where there are several outputs."""
        if self.parts:
            return [part.impl(*inputs) for part in self.parts]
        return self.function(*[np.asarray(v) for v in inputs])[()]

    def gradient(self, inputs: Any, out: Any, g: Any) -> Sequence[Any]:
        """That of the expression."""
        own = [tensor_copy(x) for x in inputs]
        gradients = grad(None, own, known_grads={self._of(own): g}, disconnected_inputs="ignore")
        return list(gradients)

    def __eq__(self, other: object) -> Any:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> Any:
        return Composite, (self.inputs, self.outputs)


class InRange(ScalarOp):
    """``op(x, low, high)``: whether `x` is between two bounds.

    Args:
        openlow, openhi: whether the bounds themselves are outside.

    >>> from wengert.symbolic import scalar
    >>> from wengert.symbolic import tensor as T
    >>> x = T.vector("x")
    >>> T.Elemwise(scalar.inclosedrange)(x, 1.0, 2.0).eval({x: [0.5, 1.0, 3.0]})
    array([False,  True, False])
    """

    nin = 3
    __props__ = ("openlow", "openhi")

    def __init__(self, openlow: bool, openhi: bool) -> None:
        super().__init__(lambda *types: (get_scalar_type("bool"),))
        self.openlow, self.openhi = openlow, openhi

    def function(self, *values: np.ndarray) -> np.ndarray:
        """Of whole arrays."""
        x, low, high = values
        above = x > low if self.openlow else x >= low
        return np.asarray(above & (x < high if self.openhi else x <= high))

    def impl(self, *inputs: Any) -> Any:
        """Of numbers."""
        return self.function(*map(np.asarray, inputs))[()]

    def gradient(self, inputs: Any, out: Any, g: Any) -> Sequence[Any]:
        """None: the result jumps."""
        return [None] * 3

    def _key(self) -> Any:
        return InRange, self.openlow, self.openhi

    def __reduce__(self) -> Any:
        return InRange, (self.openlow, self.openhi)


inclosedrange, inopenrange = InRange(False, False), InRange(True, True)


def _order(name: str) -> Any:
    return not name.isupper(), [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


__all__ = sorted(["Composite", "InRange", "inclosedrange", "inopenrange", *KINDS], key=_order)
