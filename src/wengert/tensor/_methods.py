"""Operators, methods and in-place forms: the operation behind each name.

Every module of `ops` lists which of its functions are methods (`METHODS`) and which have an
in-place form (`INPLACE`). Anything more than a binding is written out here.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from wengert import ops
from wengert.core.sparse import numpy_dtype
from wengert.core.tensor import Tensor
from wengert.ops.operands import sum_to
from wengert.ops.operators import as_operator
from wengert.ops.powers import check_double
from wengert.ops.subscript import broadcasts
from wengert.tensor._inplace import copy_, inplace
from wengert.tensor.arguments import size_of
from wengert.tensor.copies import narrow_copy


def bind_module(module: ModuleType) -> None:
    """Give Tensor the methods and in-place forms of one module of ops."""
    for name in getattr(module, "METHODS", ()):
        setattr(Tensor, name, getattr(module, name))
    for name in getattr(module, "INPLACE", ()):
        setattr(Tensor, f"{name}_", inplace(getattr(module, name), f"{name}_"))


def _reflected(function: Any, name: str) -> Any:
    def operator(self: Tensor, other: Any) -> Any:
        return function(other, self)

    operator.__name__ = operator.__qualname__ = name
    return operator


# Operator: its op. All have a reflected form, those marked also an in-place one.
ARITHMETIC = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "pow", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
    "matmul": "matmul",
}  # fmt: skip
COMPARISON = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNARY = {"neg": "neg", "abs": "abs", "pos": "positive"}


def bind_operators() -> None:
    """Give Tensor the operators; an augmented assignment is the in-place form."""
    for operator, name in ARITHMETIC.items():
        function = getattr(ops, f"_{name}", None) or getattr(ops, name, None)
        if function is None:
            continue
        if hasattr(function, "op"):
            function = as_operator(function)
        setattr(Tensor, f"__{operator}__", function)
        setattr(Tensor, f"__r{operator}__", _reflected(function, f"__r{operator}__"))
        if operator != "matmul":
            setattr(Tensor, f"__i{operator}__", inplace(function, f"__i{operator}__"))
    for operator, name in (COMPARISON | UNARY).items():
        function = getattr(ops, f"_{name}", None) or getattr(ops, name, None)
        if function is not None:
            if operator in COMPARISON and hasattr(function, "op"):
                function = as_operator(function)
            setattr(Tensor, f"__{operator}__", function)
    define: Any = Tensor
    define.__invert__ = _invert


def _invert(self: Tensor) -> Tensor:
    """`bitwise_not`, which says of a float what Python says of one."""
    if numpy_dtype(self).kind not in "biu":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors, got"
            f" {self.dtype}"
        )
    return ops.bitwise_not(self)


def where(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Select this tensor's elements where `condition` is true, those of `other` elsewhere.

    >>> import wengert
    >>> x = wengert.tensor([1.0, 2.0])
    >>> x.where(x > 1, 0.0)
    tensor([0., 2.])
    """
    return ops.where(condition, self, other)


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Sum to shape `size`, over the dimensions a broadcast to this tensor's shape would repeat.

    >>> import wengert
    >>> wengert.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = size_of("sum_to_size", size)
    if not broadcasts(tuple(shape), tuple(self.shape)):
        raise RuntimeError(
            f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}."
        )
    whole = not (self.is_floating_point() or self.is_complex())
    if whole and tuple(shape) != tuple(self.shape):  # a sum of these is of int64
        self = self.long()
    return sum_to(self, shape)


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the main diagonal; `wrap` repeats it down a tall matrix.

    >>> import wengert
    >>> wengert.zeros(2, 2).fill_diagonal_(3)
    tensor([[3., 0.],
            [0., 3.]])
    """
    shape = self.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"dimensions must larger than 1: fill_diagonal_() got shape {list(shape)}"
        )
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError(
            "all dimensions of input must be of equal length: fill_diagonal_() got shape"
            f" {list(shape)}"
        )
    if wrap and len(shape) == 2:
        for start in range(0, shape[0], shape[1] + 1):
            self[start : start + shape[1]].diagonal().fill_(fill_value)
        return self
    view = self
    while view.ndim > 1:
        view = view.diagonal(0, 0, -1)
    view.fill_(fill_value)
    return self


def resolve_neg(self: Tensor) -> Tensor:
    """The tensor itself: negation is never lazy here.

    >>> import wengert
    >>> wengert.tensor([1.0]).resolve_neg()
    tensor([1.])
    """
    return self


def _modulus(input: Tensor) -> Tensor:
    """What `abs_` writes: complex numbers have absolute values of another type."""
    if input.is_complex():
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return ops.abs(input)


def polygamma(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of `digamma`.

    >>> import wengert
    >>> wengert.tensor([1.0, 2.0]).polygamma(1)
    tensor([1.6449, 0.6449])
    """
    return ops.polygamma(n, self)


_float_power_ = inplace(ops.float_power, "float_power_")


def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of `float_power`, for tensors of float64 and complex128."""
    check_double("base", "float_power_", self, self, exponent)
    result: Tensor = _float_power_(self, exponent)
    return result


def bind() -> None:
    """Give Tensor everything that ops declare."""
    for family in ops.FAMILIES:
        bind_module(family)
    bind_operators()
    for function in (
        copy_,
        fill_diagonal_,
        float_power_,
        polygamma,
        resolve_neg,
        sum_to_size,
        where,
    ):
        setattr(Tensor, function.__name__, function)
    define: Any = Tensor
    define.__div__, define.__rdiv__ = Tensor.__truediv__, Tensor.__rtruediv__
    define.narrow_copy = narrow_copy
    define.abs_ = inplace(_modulus, "abs_")
    define.absolute_ = inplace(_modulus, "absolute_")
    define.polygamma_ = inplace(polygamma, "polygamma_")
