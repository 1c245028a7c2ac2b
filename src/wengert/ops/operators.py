"""Operators of Tensor: NotImplemented for what is no operand, so that Python asks the other one.

An operator is a function beside that of its operation. While that has the code that was generated
for it, so has the operator, but for two names in it. Where a front is in its place, the operator
may have one, too. Otherwise, as before the first call, the operator calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

import numpy as np

from wengert.core.fronts import front_of, replaced
from wengert.core.overriding import NoImplementationError, answers
from wengert.core.sparse import SparseTensor
from wengert.core.tensor import Tensor
from wengert.kernels.jit import TracedArray
from wengert.ops.numbers import Number
from wengert.ops.op import Op
from wengert.ops.operands import call_foreign, foreign

_OPERANDS = (SparseTensor, Tensor, TracedArray, np.ndarray, np.generic, *Number)


def as_operator(function: Any) -> Any:
    """The operator that an operation's public function is as a method of Tensor."""
    if function not in _operators:
        function.__globals__.update(_SCOPE, operation=function)
        operator: Any = FunctionType(_calling, function.__globals__, function.__name__)
        operator.__dict__.update(function.__dict__)
        operator.__qualname__, operator.__doc__ = function.__qualname__, function.__doc__
        operator.__module__ = function.__module__
        _operators[function] = operator
        _follow(function)
    return _operators[function]


_operators: dict[Any, Any] = {}


def _follow(function: Any) -> None:
    """Have the operator of a function, if it has one, do what the function does by now."""
    operator = _operators.get(function)
    if operator is None:
        return
    code = function.__code__
    if code.co_filename == f"<op {function.op.name}>":
        names = tuple([_RENAMED.get(name, name) for name in code.co_names])
        operator.__code__ = code.replace(co_names=names)
        operator.__defaults__ = function.__defaults__
        return
    front = front_of(code)
    beside = None if front is None else front.beside(operator)
    operator.__code__ = _calling if beside is None else beside
    operator.__defaults__ = None


replaced.append(_follow)


def _on_foreign(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    try:
        return call_foreign(op, inputs, params)
    except TypeError as error:
        if _is_about_operands(error, inputs):
            return NotImplemented
        raise


def _with_unknown(values: Iterable[Any]) -> bool:
    values = tuple(values)
    return foreign(values) or not _known(values)


def calling(function: Any) -> Any:
    """The operator that calls a function."""
    return FunctionType(_calling, {**_SCOPE, "operation": function}, function.__name__)


def _is_about_operands(error: TypeError, inputs: tuple[Any, ...]) -> bool:
    """Whether an error says that an input is no operand."""
    return isinstance(error, NoImplementationError) or not _known(inputs)


def _known(inputs: Iterable[Any]) -> bool:
    return all(isinstance(x, _OPERANDS) or answers(type(x)) for x in inputs)


def _operator(input, other):  # type: ignore[no-untyped-def]
    try:
        return operation(input, other)  # type: ignore[name-defined] # noqa: F821
    except TypeError as error:
        if is_about_operands(error, (input, other)):  # type: ignore[name-defined] # noqa: F821
            return NotImplemented
        raise


_calling = _operator.__code__
_RENAMED = {"call_foreign": "operate_on_foreign", "foreign": "with_unknown"}
_SCOPE = {
    "is_about_operands": _is_about_operands,
    "operate_on_foreign": _on_foreign,
    "with_unknown": _with_unknown,
}

__all__ = ["as_operator", "calling"]
