"""The rules of the library's operations, run on variables: gradients of elementwise operations.

An `Operand` stands for a variable while a rule runs. NumPy's functions and the library's, applied
to it, build expressions, as they write kernels when they are applied to the elements of a kernel
(`kernels/jit/tracing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.kernels.jit import TracedArray
from wengert.ops.op import Op
from wengert.symbolic.dtypes import CONTINUOUS
from wengert.symbolic.expressions.type import TensorConstant, TensorType
from wengert.symbolic.graph import Variable

Build = Callable[..., Any]


class UnbuildableError(TypeError):
    """A rule does something that no expression stands for."""


# What NumPy's functions and the functions of kernels (`Expression.call`) build, by function and by
# name: entered by `scalars`.
UFUNCS: dict[Any, Build] = {}
CALLS: dict[str, Build] = {}


class Operand(TracedArray):
    """A variable, in a rule. Comparisons build expressions: variables compare by identity."""

    __slots__ = ("variable",)

    size, strides = 0, ()  # as of a small array: what converts halves looks for large ones

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    @property
    def dtype(self) -> np.dtype[Any]:
        """The variable's."""
        return np.dtype(self.variable.dtype)

    @property
    def ndim(self) -> int:
        """The variable's."""
        return int(self.variable.ndim)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Operand:
        build = UFUNCS.get(ufunc)
        if build is None or method != "__call__" or options:
            raise UnbuildableError(ufunc.__name__)
        return Operand(build(*_variables(inputs)))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Operand:
        build = UFUNCS.get(function)
        if build is None or kwargs:
            raise UnbuildableError(function.__name__)
        return Operand(build(*_variables(args)))

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise UnbuildableError("an array of variables")

    def __bool__(self) -> bool:
        raise UnbuildableError("a decision that depends on elements")

    def call(self, name: str, work: float, *others: Any) -> Operand:
        """A function of kernels."""
        if name not in CALLS:
            raise UnbuildableError(name)
        return Operand(CALLS[name](*_variables((self, *others))))

    def astype(self, dtype: Any, order: str = "K", copy: bool = True) -> Operand:
        """A conversion."""
        return Operand(CALLS["astype"](self.variable, np.dtype(dtype).name))

    def copy(self) -> Operand:
        """Itself."""
        return self

    def __pow__(self, exponent: Any) -> Any:
        return np.power(self, exponent)

    def __neg__(self) -> Any:
        return np.negative(self)

    def __abs__(self) -> Any:
        return np.absolute(self)

    def __invert__(self) -> Any:
        return np.logical_not(self)

    __hash__ = None  # type: ignore[assignment]


def _operators() -> None:
    names = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
        "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    }  # fmt: skip
    compared = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
        "gt": np.greater, "ge": np.greater_equal,
    }  # fmt: skip
    for name, ufunc in (names | compared).items():
        setattr(Operand, f"__{name}__", lambda a, b, f=ufunc: f(a, b))
        if name in names:
            setattr(Operand, f"__r{name}__", lambda a, b, f=ufunc: f(b, a))


_operators()


def _variables(values: Sequence[Any]) -> list[Any]:
    """Operands as variables; numbers beside them as constants of their dtype."""
    dtypes = [v.variable.dtype for v in values if isinstance(v, Operand)]
    floats = [d for d in dtypes if d in CONTINUOUS]
    dtype = np.result_type(*(floats or dtypes)).name
    return [v.variable if isinstance(v, Operand) else _number(v, dtype) for v in values]


def _number(value: Any, dtype: str) -> Variable:
    if isinstance(value, np.ndarray | np.generic):
        dtype = value.dtype.name
    elif isinstance(value, bool):
        dtype = "bool"
    elif isinstance(value, float) and dtype not in CONTINUOUS:
        dtype = "float64"
    elif not isinstance(value, int | float | complex):
        raise UnbuildableError(f"{type(value).__name__} among operands")
    data = np.asarray(value, dtype)
    return TensorConstant(TensorType(dtype, [n == 1 for n in data.shape]), data)


def pulled(op: Op, inputs: Sequence[Any], out: Any, g: Any, params: dict[str, Any]) -> list[Any]:
    """The gradients of an operation's inputs by its rules; None where it has none."""
    scope: dict[str, Any] = {n: Operand(x) for n, x in zip(op.inputs, inputs, strict=True)}
    scope |= params | {"out": Operand(out)}
    gradients: list[Any] = []
    for name in op.inputs:
        rule = op.rules[name]
        if rule is None:
            gradients.append(None)
            continue
        result = rule(Operand(g), *[scope[n] for n in op.takes[name]])
        if not isinstance(result, Operand) and result != 0:
            raise UnbuildableError(f"the rule of {op.name} for {name} gives {result!r}")
        gradients.append(result.variable if isinstance(result, Operand) else None)
    return gradients
