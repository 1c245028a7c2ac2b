"""Types of arrays, variables of these types, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import ALL, DISCRETE, as_name, name_of, narrowed, upcast
from wengert.symbolic.graph import Apply, Constant, Type, Variable, marked
from wengert.symbolic.settings import config

_F64, _I64 = np.dtype(np.float64), np.dtype(np.int64)
_NAMES = {
    (): "scalar", (False,): "vector", (False, True): "col", (True, False): "row",
    (False, False): "matrix",
}  # fmt: skip


def _is_exact(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number of Python is one of that dtype, of the usual two."""
    if dtype is _F64:
        return type(value) is float
    return dtype is _I64 and type(value) is int and abs(value) < 1 << 63


class TensorType(Type):
    """Arrays of a dtype and a number of dimensions.

    `broadcastable` says for each dimension whether its length is 1 and it stands for any length
    beside another array. A dimension that merely happens to have length 1 is not repeated.

    >>> from wengert.symbolic import tensor as T
    >>> T.TensorType("float32", (False, True))
    TensorType(float32, col)
    """

    filter_checks_isfinite = False
    context_name = "cpu"

    def __init__(self, dtype: Any, broadcastable: Sequence[Any], name: str | None = None) -> None:
        self.dtype = as_name(dtype)
        if self.dtype not in ALL:
            raise TypeError(f"Unsupported dtype for TensorType: {dtype}")
        self.broadcastable = tuple([b is True or b == 1 for b in broadcastable])
        self.name = name
        self.numpy_dtype = np.dtype(self.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.broadcastable)

    def clone(self, dtype: Any = None, broadcastable: Any = None) -> TensorType:
        """The type with another dtype or other broadcastable dimensions."""
        pattern = self.broadcastable if broadcastable is None else broadcastable
        return type(self)(self.dtype if dtype is None else dtype, pattern)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """`value` as an array of this type; TypeError where that loses something."""
        if isinstance(value, Variable):
            raise TypeError(
                "Expected an array-like object, but found a Variable: maybe you are trying to call"
                " a function on a (possibly shared) variable instead of a numeric array?"
            )
        if type(value) is np.ndarray and value.dtype == self.numpy_dtype:
            data = value
        elif strict:
            raise TypeError(f"{self} expected an ndarray of dtype {self.dtype}, got {value!r}")
        else:
            data = self._converted(value, allow_downcast)
        if data.ndim != len(self.broadcastable):
            raise TypeError(
                f"Wrong number of dimensions: expected {self.ndim}, got {data.ndim} with shape"
                f" {data.shape}."
            )
        if not data.flags.aligned:
            data = data.copy()
        for axis, single in enumerate(self.broadcastable):
            if single and data.shape[axis] != 1:
                raise TypeError(
                    "Non-unit value on shape on a broadcastable dimension.",
                    data.shape,
                    self.broadcastable,
                )
        return data

    def _converted(self, value: Any, allow_downcast: bool | None) -> np.ndarray:
        own = self.numpy_dtype
        if allow_downcast or _is_exact(value, own):
            return np.asarray(value).astype(own)
        if isinstance(value, np.ndarray | np.generic):
            if upcast(self.dtype, name_of(value.dtype)) == self.dtype:
                return np.asarray(value, own)
            if allow_downcast is None and type(value) is np.float64 and self.dtype == config.floatX:
                return np.asarray(value, own)
            kind = type(value).__name__ if isinstance(value, np.generic) else "ndarray"
            raise TypeError(
                f"{self} cannot store a value of dtype {value.dtype} without risking loss of"
                f" precision (the value is of type {kind}). If you do not mind this loss, you can:"
                f" 1) explicitly cast your data to {self.dtype}, or 2) set"
                ' "allow_input_downcast=True" when calling "function".',
                value,
            )
        if allow_downcast is None and type(value) is float and self.dtype == config.floatX:
            return np.asarray(value, own)
        widened = np.asarray(value)
        if widened.dtype == object:
            raise TypeError(f"{self} cannot store {value!r}")
        if upcast(self.dtype, name_of(widened.dtype)) == self.dtype:
            return widened.astype(own)
        with np.errstate(over="ignore", invalid="ignore"):
            data = widened.astype(own)
        if not np.array_equal(data, widened, equal_nan=widened.dtype.kind in "fc"):
            raise TypeError(
                f"{self} cannot store accurately value {value}, it would be represented as {data}."
                " If you do not mind this precision loss, you can: 1) explicitly convert your data"
                f" to a numpy array of dtype {self.dtype}, or 2) set"
                ' "allow_input_downcast=True" when calling "function".',
                value,
            )
        return data

    def filter_variable(self, other: Any, allow_convert: bool = True) -> Variable:
        """A variable of this type that stands for `other`: only broadcastable flags may differ."""
        if not isinstance(other, Variable):
            other = TensorConstant(self, self.filter(other))
        if other.type == self:
            return other
        if (
            allow_convert
            and isinstance(other.type, TensorType)
            and other.type.dtype == self.dtype
            and other.type.ndim == self.ndim
            and all(b or not own for b, own in zip(other.broadcastable, self.broadcastable,
                                                   strict=True))
        ):  # fmt: skip
            return other.type.relaxed(other, self.broadcastable)
        raise TypeError(
            f"Cannot convert Type {other.type} (of Variable {other}) into Type {self}. You can try"
            f" to manually convert {other} into a {self}."
        )

    @staticmethod
    def relaxed(variable: Any, pattern: tuple[bool, ...]) -> Any:
        """A variable with fewer broadcastable dimensions: bound where there is an operation."""
        raise NotImplementedError

    def make_variable(self, name: str | None = None) -> TensorVariable:
        """A fresh variable."""
        return TensorVariable(self, name=name)

    def make_constant(self, value: Any, name: str | None = None) -> TensorConstant:
        """A constant."""
        return TensorConstant(self, value, name)

    @staticmethod
    def values_eq(a: Any, b: Any, force_same_dtype: bool = True) -> bool:
        """Whether two arrays are equal."""
        if force_same_dtype and np.asarray(a).dtype != np.asarray(b).dtype:
            return False
        return np.array_equal(a, b, equal_nan=True)

    @staticmethod
    def values_eq_approx(a: Any, b: Any, allow_remove_inf: bool = False,
                         allow_remove_nan: bool = False, rtol: float | None = None,
                         atol: float | None = None) -> bool:  # fmt: skip
        """Whether two arrays are equal up to rounding; they may have NaN at the same places.

        With `allow_remove_inf` or `allow_remove_nan`, places at which one array has such a value
        are not looked at.
        """
        if not all(isinstance(v, np.ndarray) for v in (a, b)) or a.shape != b.shape or (
                a.dtype != b.dtype):  # fmt: skip
            return False
        if "int" in str(a.dtype):
            return bool(np.all(a == b))
        left_out = np.zeros(a.shape, bool)
        if allow_remove_inf:
            left_out |= np.isinf(a) | np.isinf(b)
        if allow_remove_nan:
            left_out |= np.isnan(a) | np.isnan(b)
        return allclose(a[~left_out], b[~left_out], rtol, atol)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Whether a change of one value may change the other."""
        arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        return arrays and bool(np.may_share_memory(a, b))

    def value_zeros(self, shape: Any) -> np.ndarray:
        """Zeros of the dtype."""
        return np.zeros(shape, self.numpy_dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TensorType)
            and other.dtype == self.dtype
            and other.broadcastable == self.broadcastable
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.broadcastable))

    def __repr__(self) -> str:
        if self.name:
            return self.name
        pattern = self.broadcastable
        named = _NAMES.get(pattern)
        if named is None:
            named = str(pattern) if any(pattern) else f"{len(pattern)}D"
        return f"TensorType({self.dtype}, {named})"


def allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """Whether two arrays agree as closely as the coarser of their dtypes can."""
    a, b = np.asarray(a), np.asarray(b)
    kinds = {str(a.dtype), str(b.dtype)}
    tolerances = {"float16": (1e-3, 1e-3), "float32": (1e-5, 1e-5), "complex64": (1e-5, 1e-5)}
    least = next((tolerances[k] for k in tolerances if k in kinds), (1e-5, 1e-8))
    rtol, atol = least[0] if rtol is None else rtol, least[1] if atol is None else atol
    return bool(np.allclose(a, b, rtol, atol, equal_nan=True))


def values_eq_approx_remove_inf(a: Any, b: Any) -> bool:
    """`TensorType.values_eq_approx`, but for places of infinite values."""
    return TensorType.values_eq_approx(a, b, True)


def values_eq_approx_remove_nan(a: Any, b: Any) -> bool:
    """`TensorType.values_eq_approx`, but for places of NaN."""
    return TensorType.values_eq_approx(a, b, False, True)


class AsTensorError(TypeError):
    """What is no array, and cannot be made one, stands where a variable is expected."""


class TensorOperators:
    """What variables of arrays have in common: operators and methods build expressions."""

    __array_priority__ = 1000
    is_comparison = False  # such a result has no truth value: `a < b < c` is a mistake
    type: TensorType

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.type.dtype

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which dimensions have length 1 and are repeated beside other arrays."""
        return self.type.broadcastable

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.type.ndim

    def __bool__(self) -> bool:
        if self.is_comparison:
            raise TypeError("Variables do not support boolean operations.")
        return True


_tensor_py_operators = TensorOperators  # packages derive variables of their own from it


class TensorVariable(TensorOperators, Variable):
    """A variable whose values are arrays. Its operators and methods build expressions.

    >>> from wengert.symbolic import function
    >>> from wengert.symbolic import tensor as T
    >>> x = T.dvector("x")
    >>> y = (2 * x + 1).sum()
    >>> y.owner.op, function([x], y)([1.0, 2.0])
    (Sum{acc_dtype=float64}, array(8.))
    """


class TensorConstant(TensorOperators, Constant):
    """An array in an expression.

    >>> from wengert.symbolic import tensor as T
    >>> T.constant(7.0).dtype, T.constant(0.1).dtype, T.as_tensor_variable(3).dtype
    ('float32', 'float64', 'int8')
    """

    def __init__(self, type: Any, data: Any, name: str | None = None) -> None:
        Constant.__init__(self, type, data, name)

    def key(self) -> Any:
        """Equal for constants that may stand for each other."""
        data = self.data
        if data.size <= 4096:
            return self.type, data.shape, data.tobytes()
        return id(data)

    def __str__(self) -> str:
        if self.name is not None:
            return self.name
        data = self.data
        if data.size and data.ndim and (data == data.flat[0]).all():
            text = f"{data.shape} of {data.flat[0]}"
        else:
            text = str(data)
        if len(text) > 20:
            text = f"{text[:10]}..{text[-10:]}"
        return f"TensorConstant{{{text}}}"

    __repr__ = __str__


def constant(x: Any, name: str | None = None, ndim: int | None = None, dtype: Any = None) -> Any:
    """A constant; Python numbers get the smallest dtype that holds them.

    >>> from wengert.symbolic import tensor as T
    >>> T.constant(0.5).type
    TensorType(float32, scalar)
    """
    if dtype is not None:
        data = np.asarray(x, as_name(dtype))
    elif isinstance(x, list | tuple):
        data = np.asarray(x)
        if not data.size:
            data = data.astype(config.floatX)
    else:
        data = narrowed(x)
    if data.dtype == object or data.dtype.name not in ALL:
        raise AsTensorError(f"Could not convert {x!r} to TensorType", type(x))
    pattern = [n == 1 for n in data.shape]
    if ndim is not None:
        if len(pattern) > ndim:
            raise ValueError(
                f"ndarray could not be cast to constant with {ndim} dimensions: it has {data.ndim}"
            )
        data = data.reshape((1,) * (ndim - data.ndim) + data.shape)
        pattern = [True] * (ndim - len(pattern)) + pattern
    return marked(TensorConstant(TensorType(data.dtype.name, pattern), data, name))


def as_tensor_variable(x: Any, name: str | None = None, ndim: int | None = None) -> Any:
    """A variable as it is, a number or array as a constant, a list of variables stacked.

    >>> from wengert.symbolic import tensor as T
    >>> T.as_tensor_variable([[1, 2]]).type
    TensorType(int64, row)
    """
    if hasattr(x, "_as_TensorVariable"):
        x = x._as_TensorVariable()
    if isinstance(x, Apply):
        if len(x.outputs) != 1 and getattr(x.op, "default_output", None) is None:
            raise ValueError(
                "It is ambiguous which output of a multi-output Op has to be fetched.", x
            )
        x = x.default_output()
    if isinstance(x, Variable):
        if not isinstance(x.type, TensorType):
            raise TypeError(f"Variable type field must be a TensorType: {x} has {x.type}")
        return x if ndim in (None, x.type.ndim) else _with_ndim(x, ndim)
    if isinstance(x, list | tuple) and any(_has_variable(v) for v in x):
        return _Stacking.stack(list(x))
    if isinstance(x, bool | np.bool_):
        raise TypeError(
            "Cannot cast True or False as a tensor variable. Please use np.array(True) or"
            " np.array(False) if you need these constants. This error might be caused by using"
            " the == operator on Variables. v == w does not do what you think it does, use"
            " theano.tensor.eq(v, w) instead."
        )
    if x is None or isinstance(x, str | bytes | dict | set) or callable(x):
        raise AsTensorError(f"Cannot convert {x!r} to TensorType", type(x))
    return constant(x, name=name, ndim=ndim)


def _has_variable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(_has_variable(v) for v in value)
    return isinstance(value, Variable)


class _Stacking:
    """What makes one variable of several, and adds dimensions: bound where it is defined."""

    @staticmethod
    def stack(values: list[Any]) -> Any:
        raise NotImplementedError

    @staticmethod
    def padleft(x: Any, count: int) -> Any:
        raise NotImplementedError


stacking = _Stacking


def _with_ndim(x: Any, ndim: int) -> Any:
    if x.ndim > ndim:
        if not all(x.broadcastable[: x.ndim - ndim]):
            raise ValueError(f"TensorType could not be cast to have {ndim} dimensions", x.type)
        return x.dimshuffle(*range(x.ndim - ndim, x.ndim))
    return _Stacking.padleft(x, ndim - x.ndim)


def is_discrete(variable: Any) -> bool:
    """Whether a variable holds integers or booleans."""
    return isinstance(variable.type, TensorType) and variable.type.dtype in DISCRETE
