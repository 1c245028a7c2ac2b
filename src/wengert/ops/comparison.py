"""Comparisons and logic: results are booleans without a derivative."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from wengert.core import dtypes
from wengert.core.preparations import elements_read
from wengert.core.tensor import Tensor
from wengert.ops.checks import not_implemented
from wengert.ops.declare import Value, elementwise


@elementwise(np.equal, input=None, other=None, tensors=("input",))
def eq(input: Value, other: Value) -> Value:
    """Whether elements are equal; NaN equals nothing.

    >>> import wengert
    >>> wengert.eq(wengert.tensor([1, 2]), 2)
    tensor([False,  True])
    """


@elementwise(np.not_equal, input=None, other=None, tensors=("input",))
def ne(input: Value, other: Value) -> Value:
    """Whether elements differ.

    >>> import wengert
    >>> wengert.ne(wengert.tensor([1, 2]), 2)
    tensor([ True, False])
    """


def _require_order(name: str, array: np.ndarray) -> None:
    if array.dtype.kind == "c":
        raise not_implemented(name, array)


@elementwise(input=None, other=None, tensors=("input",))
def lt(input: Value, other: Value) -> Value:
    """Whether ``input < other``.

    >>> import wengert
    >>> wengert.lt(wengert.tensor([1, 2]), 2)
    tensor([ True, False])
    """
    _require_order("lt_cpu", input)
    return np.less(input, other)


@elementwise(input=None, other=None, tensors=("input",))
def le(input: Value, other: Value) -> Value:
    """Whether ``input <= other``.

    >>> import wengert
    >>> wengert.le(wengert.tensor([1, 3]), 2)
    tensor([ True, False])
    """
    _require_order("le_cpu", input)
    return np.less_equal(input, other)


@elementwise(input=None, other=None, tensors=("input",))
def gt(input: Value, other: Value) -> Value:
    """Whether ``input > other``.

    >>> import wengert
    >>> wengert.gt(wengert.tensor([1, 3]), 2)
    tensor([False,  True])
    """
    _require_order("gt_cpu", input)
    return np.greater(input, other)


@elementwise(input=None, other=None, tensors=("input",))
def ge(input: Value, other: Value) -> Value:
    """Whether ``input >= other``.

    >>> import wengert
    >>> wengert.ge(wengert.tensor([1, 2]), 2)
    tensor([False,  True])
    """
    _require_order("ge_cpu", input)
    return np.greater_equal(input, other)


def _eq(input: Tensor, other: Any) -> Any:
    """The operator ``==``: False for what is neither a tensor nor a number."""
    return eq(input, other) if _comparable(other) else NotImplemented


def _ne(input: Tensor, other: Any) -> Any:
    """The operator ``!=``: True for what is neither a tensor nor a number."""
    return ne(input, other) if _comparable(other) else NotImplemented


def _comparable(other: Any) -> builtins.bool:
    return isinstance(other, (Tensor, int, float, complex, np.ndarray, np.generic))


@elementwise(np.logical_and, input=None, other=None, tensors=("input", "other"))
def logical_and(input: Value, other: Value) -> Value:
    """Whether both elements are nonzero.

    >>> import wengert
    >>> wengert.logical_and(wengert.tensor([True, True]), wengert.tensor([True, False]))
    tensor([ True, False])
    """


@elementwise(np.logical_or, input=None, other=None, tensors=("input", "other"))
def logical_or(input: Value, other: Value) -> Value:
    """Whether either element is nonzero.

    >>> import wengert
    >>> wengert.logical_or(wengert.tensor([True, False]), wengert.tensor([False, False]))
    tensor([ True, False])
    """


@elementwise(np.logical_xor, input=None, other=None, tensors=("input", "other"))
def logical_xor(input: Value, other: Value) -> Value:
    """Whether exactly one of the two elements is nonzero.

    >>> import wengert
    >>> wengert.logical_xor(wengert.tensor([True, True]), wengert.tensor([True, False]))
    tensor([False,  True])
    """


@elementwise(np.logical_not, input=None)
def logical_not(input: Value) -> Value:
    """Whether each element is zero.

    >>> import wengert
    >>> wengert.logical_not(wengert.tensor([0, 1]))
    tensor([ True, False])
    """


@elementwise(np.isnan, input=None)
def isnan(input: Value) -> Value:
    """Whether each element is NaN.

    >>> import wengert
    >>> wengert.isnan(wengert.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """


@elementwise(np.isinf, input=None)
def isinf(input: Value) -> Value:
    """Whether each element, or a part of it, is infinite.

    >>> import wengert
    >>> wengert.isinf(wengert.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """


@elementwise(np.isfinite, input=None)
def isfinite(input: Value) -> Value:
    """Whether each element is neither infinite nor NaN.

    >>> import wengert
    >>> wengert.isfinite(wengert.tensor([1.0, float("inf")]))
    tensor([ True, False])
    """


def _infinite(name: str, input: np.ndarray, limit: float) -> np.ndarray:
    if input.dtype.kind == "c":
        raise RuntimeError(f"{name} does not support complex inputs.")
    if input.dtype not in dtypes.inexact:
        return np.zeros(input.shape, np.bool_)
    return np.equal(input, input.dtype.type(limit))


@elementwise(input=None, layout=("input",))
def isposinf(input: Value) -> Value:
    """Whether each element is plus infinity.

    >>> import wengert
    >>> wengert.isposinf(wengert.tensor([1.0, float("inf")]))
    tensor([False,  True])
    """
    return _infinite("isposinf", input, np.inf)


@elementwise(input=None, layout=("input",))
def isneginf(input: Value) -> Value:
    """Whether each element is minus infinity.

    >>> import wengert
    >>> wengert.isneginf(wengert.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """
    return _infinite("isneginf", input, -np.inf)


@elementwise(input=None)
def isreal(input: Value) -> Value:
    """Whether each element has no imaginary part.

    >>> import wengert
    >>> wengert.isreal(wengert.tensor([1 + 1j, 2.0]))
    tensor([False,  True])
    """
    if input.dtype.kind == "c":
        return np.equal(input.imag, 0)
    return np.ones(input.shape, np.bool_)


@elementwise(input=None)
def signbit(input: Value) -> Value:
    """Whether each element's sign bit is set, as it is for -0.0.

    >>> import wengert
    >>> wengert.signbit(wengert.tensor([-1.0, 0.0]))
    tensor([ True, False])
    """
    if input.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return np.signbit(input) if input.dtype in dtypes.inexact else np.less(input, 0)


@elementwise(input=None, other=None, name="isclose")
def _close(input: Value, other: Value, rtol: float, atol: float, equal_nan: builtins.bool) -> Value:
    close = np.equal(input, other)
    if equal_nan:
        close = close | (np.isnan(input) & np.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    if input.dtype.kind in "bu":
        input, other = input.astype(np.int64), other.astype(np.int64)
    # In double for half types, whose differences would be rounded.
    compute_dtype = np.float64 if input.dtype.kind not in "iuc" else input.dtype
    gap = np.abs(input.astype(compute_dtype) - other.astype(compute_dtype))
    return close | (np.isfinite(gap) & (gap <= atol + np.abs(rtol * other.astype(compute_dtype))))


def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> Tensor:
    """Whether ``|input - other| <= atol + rtol * |other|``; the dtypes must be equal.

    >>> import wengert
    >>> wengert.isclose(wengert.tensor([1.0, 2.0]), wengert.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    _check_two("isclose", input, other)
    a, b = input._outline.dtype, other._outline.dtype
    if a != b:
        raise RuntimeError(f"{dtypes.of_numpy[a].short} did not match {dtypes.of_numpy[b].short}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return _close(input, other, rtol, atol, equal_nan)


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: builtins.bool = False,
) -> builtins.bool:
    """Whether `isclose` holds for every element.

    >>> import wengert
    >>> wengert.allclose(wengert.tensor([1.0, 2.0]), wengert.tensor([1.0, 2.0]))
    True
    """
    close = isclose(input, other, rtol, atol, equal_nan)
    return builtins.bool(elements_read(close).all())


def equal(input: Tensor, other: Tensor) -> builtins.bool:
    """Whether two tensors have the same shape and equal elements.

    >>> import wengert
    >>> wengert.equal(wengert.tensor([1, 2]), wengert.tensor([1, 2]))
    True
    """
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        _check_two("equal", input, other)
    if input._outline.shape != other._outline.shape:
        return False
    a, b = elements_read(input), elements_read(other)
    if type(a) is np.ndarray is type(b) and a.flags.c_contiguous and b.flags.c_contiguous:
        if a.size and a.item(0) != b.item(0):  # most that differ do so at once
            return False
        if a.size <= _SOME:
            return builtins.bool(np.logical_and.reduce(a == b, axis=None))
        # Large tensors that differ usually do so early on.
        a, b = a.reshape(-1), b.reshape(-1)
        starts = range(0, a.size, _SOME)
        return builtins.all((a[k : k + _SOME] == b[k : k + _SOME]).all() for k in starts)
    return builtins.bool(eq(input, other)._array.all())


# Number of elements compared at a time.
_SOME = 1 << 15


def _check_two(name: str, input: Any, other: Any) -> None:
    for position, (argument, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not"
                f" {type(x).__name__}"
            )


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

__all__ = [
    "_eq", "_ne", "allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "le", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal", "signbit",
]  # fmt: skip
FUNCTIONAL: tuple[str, ...] = ()
METHODS = tuple(name for name in __all__ if not name.startswith("_"))
INPLACE = (
    "eq", "ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lt", "ne", "not_equal",
)  # fmt: skip
