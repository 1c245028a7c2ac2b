"""Operations on single elements, as programs define them for ``tensor.Elemwise``.

Scalars are tensors without dimensions, and the functions here are those of `tensor`.
"""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from wengert.symbolic.dtypes import DISCRETE, to_float, upcast
from wengert.symbolic.dtypes import autocast_float as autocast_float
from wengert.symbolic.dtypes import autocast_float_as as autocast_float_as
from wengert.symbolic.dtypes import autocast_int as autocast_int
from wengert.symbolic.expressions import arithmetic
from wengert.symbolic.expressions.elemwise import Elemwise, Scalar
from wengert.symbolic.expressions.scalars import ComplexError as ComplexError
from wengert.symbolic.expressions.scalars import rounded_away
from wengert.symbolic.expressions.type import TensorType, as_tensor_variable, constant
from wengert.symbolic.graph import Apply, MethodNotDefinedError

# `exp`, `add` and their like.
globals().update({name: getattr(arithmetic, name) for name in arithmetic.__all__})


class ScalarType(TensorType):
    """The type of single elements of a dtype, equal to that of arrays without dimensions."""

    def __init__(
        self, dtype: Any, broadcastable: Sequence[Any] = (), name: str | None = None
    ) -> None:
        super().__init__(dtype, broadcastable, name)

    def __str__(self) -> str:
        return self.dtype

    def __repr__(self) -> str:
        return f"Scalar({self.dtype})"


def get_scalar_type(dtype: Any) -> ScalarType:
    """The type of a scalar.

    >>> from wengert.symbolic import scalar
    >>> scalar.get_scalar_type("float32")
    Scalar(float32)
    """
    return ScalarType(dtype)


bool, int8, int16, int32, int64 = map(get_scalar_type, ("bool", "int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = map(get_scalar_type, ("uint8", "uint16", "uint32", "uint64"))
float16, float32, float64 = map(get_scalar_type, ("float16", "float32", "float64"))
complex64, complex128 = map(get_scalar_type, ("complex64", "complex128"))
int_types = (int8, int16, int32, int64)
uint_types = (uint8, uint16, uint32, uint64)
float_types = (float16, float32, float64)
complex_types = (complex64, complex128)
discrete_types = (bool, *int_types, *uint_types)
continuous_types = (*float_types, *complex_types)
all_types = (*discrete_types, *continuous_types)
as_scalar = as_tensor_variable
round_half_away_from_zero_vec = rounded_away


def upcast_out(*types: Any) -> tuple[Any, ...]:
    """The type that holds values of all of these."""
    return (get_scalar_type(upcast(*[t.dtype for t in types])),)


def upgrade_to_float(*types: Any) -> tuple[Any, ...]:
    """The floating type for arguments of some types."""
    return (get_scalar_type(upcast(*[to_float(t.dtype) for t in types])),)


def upgrade_to_float64(*types: Any) -> tuple[Any, ...]:
    """The floating type for arguments of some types, of 64 bits for integers."""
    return (
        get_scalar_type(upcast(*["float64" if t.dtype in DISCRETE else t.dtype for t in types])),
    )


def upgrade_to_float_no_complex(*types: Any) -> tuple[Any, ...]:
    """The floating type for arguments of some types; TypeError for complex ones."""
    return upgrade_to_float(*_real(types))


def upcast_out_nobool(*types: Any) -> tuple[Any, ...]:
    """The type that holds values of all of these; TypeError for bool."""
    (out,) = upcast_out(*types)
    if out.dtype == "bool":
        raise TypeError("bool output not supported", types)
    return (out,)


def same_out_nocomplex(type: Any) -> tuple[Any, ...]:
    """The type of the argument; TypeError for a complex one."""
    return _real((type,))


def _real(types: tuple[Any, ...]) -> tuple[Any, ...]:
    if any(t in complex_types for t in types):
        raise TypeError("complex argument not supported", types)
    return types


def float_out(*types: Any) -> tuple[Any, ...]:
    """float64."""
    return (float64,)


def int_out(*types: Any) -> tuple[Any, ...]:
    """int64."""
    return (int64,)


def same_out(type: Any) -> tuple[Any, ...]:
    """The type of the argument."""
    return (type,)


def same_out_nobool(type: Any) -> tuple[Any, ...]:
    """The type of the argument; TypeError for bool."""
    if type == bool:
        raise TypeError("bool input not supported", type)
    return (type,)


def same_out_min8(type: Any) -> tuple[Any, ...]:
    """The type of the argument, int8 for bool."""
    return (int8 if type == bool else type,)


def upcast_out_min8(*types: Any) -> tuple[Any, ...]:
    """The type that holds values of all of these, int8 for bool."""
    return same_out_min8(*upcast_out(*types))


def upcast_out_no_complex(*types: Any) -> tuple[Any, ...]:
    """The type that holds values of all of these; TypeError for complex ones."""
    return upcast_out(*_real(types))


def float_out_nocomplex(*types: Any) -> tuple[Any, ...]:
    """float64; TypeError for complex arguments."""
    return float_out(*_real(types))


def int_out_nocomplex(*types: Any) -> tuple[Any, ...]:
    """int64; TypeError for complex arguments."""
    return int_out(*_real(types))


def real_out(type: Any) -> tuple[Any, ...]:
    """The type of the real part."""
    return ({complex64: float32, complex128: float64}.get(type, type),)


def same_out_float_only(type: Any) -> tuple[Any, ...]:
    """The type of the argument; TypeError if that is not a floating one."""
    if type.dtype in DISCRETE:
        raise TypeError("only float type is supported", type)
    return (type,)


def transfer_type(*indices: int) -> Callable[..., tuple[Any, ...]]:
    """Types of results: those of the arguments at some places."""
    return lambda *types: tuple(types[k] for k in indices)


def specific_out(*types: Any) -> Callable[..., tuple[Any, ...]]:
    """Types of results: always these."""
    return lambda *arguments: types


def _several(kind: Any) -> Callable[[str], Any]:
    def several(names: str) -> Any:
        return kind(names) if len(names) == 1 else [kind(name) for name in names]

    several.__doc__ = "Scalar variables, one for each letter; for a single letter the variable."
    return several


floats, ints = _several(float64), _several(int64)
complexs, complexs64, complexs128 = map(_several, (complex128, complex64, complex128))


class ScalarOp(Scalar):
    """An operation on elements, as a program defines it; `tensor.Elemwise` applies it to arrays.

    A subclass has `impl`, of numbers, and `grad` (or `L_op`), of variables. ``nfunc_spec = (name,
    inputs, outputs)`` names a function of NumPy or SciPy that computes whole arrays.

    Args:
        output_types_preference: gives the types of results, from those of the arguments.
        name: what graphs call it.

    >>> from wengert.symbolic import function, scalar
    >>> from wengert.symbolic import tensor as T
    >>> class Cube(scalar.UnaryScalarOp):
    ...     def impl(self, x):
    ...         return x**3
    ...     def grad(self, inputs, output_gradients):
    ...         return [3 * inputs[0] ** 2 * output_gradients[0]]
    >>> x = T.dvector("x")
    >>> cube = T.Elemwise(Cube(scalar.upgrade_to_float, name="cube"))
    >>> function([x], [cube(x), T.grad(cube(x).sum(), x)])([1.0, 2.0])
    [array([1., 8.]), array([ 3., 12.])]
    """

    nin, nout = -1, 1
    nfunc_spec: tuple[str, int, int] | None = None
    # For subclasses whose `__init__` leaves ours out.
    label, apart = None, ()
    operand_dtype: Callable[..., Any] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.name = cls.__name__

    def __init__(self, output_types_preference: Any = None, name: str | None = None) -> None:
        if output_types_preference is not None:
            if not callable(output_types_preference):
                raise TypeError(
                    f"{type(self).__name__}: output_types_preference must be callable, got"
                    f" {output_types_preference!r}"
                )
            self.output_types_preference = output_types_preference
        if name is not None:
            self.name = name

    def output_types(self, types: Sequence[Any]) -> Any:
        """The types of the results, for those of the arguments."""
        if not hasattr(self, "output_types_preference"):
            raise NotImplementedError(f"Cannot calculate the output types for {self.name}")
        return self.output_types_preference(*types)

    def dtype(self, *dtypes: str) -> str:
        """The dtype of the result."""
        return str(self.output_types([get_scalar_type(d) for d in dtypes])[0].dtype)

    def function(self, *values: np.ndarray) -> np.ndarray:
        """`impl` of each element, or the function that `nfunc_spec` names."""
        if self.nfunc_spec is not None:
            home, _, name = self.nfunc_spec[0].rpartition(".")
            return np.asarray(getattr(import_module(home or "numpy"), name)(*values))
        return np.asarray(np.frompyfunc(self.impl, len(values), 1)(*values))

    def impl(self, *inputs: Any) -> Any:
        """The result for some numbers."""
        raise MethodNotDefinedError("impl", type(self), type(self).__name__)

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """The gradients of the arguments."""
        raise MethodNotDefinedError("grad", type(self), type(self).__name__)

    def L_op(self, inputs: Any, outputs: Any, output_gradients: Any) -> Any:  # noqa: N802
        """The gradients of the arguments; by default what `grad` says."""
        return self.grad(inputs, output_gradients)

    def gradient(self, inputs: Any, out: Any, g: Any) -> Sequence[Any]:
        """What `L_op` gives."""
        return list(self.L_op(inputs, [out], [g]))

    def make_node(self, *inputs: Any) -> Apply:
        """The application to scalars, or to arrays element by element."""
        return Elemwise(self).make_node(*inputs)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return Elemwise(self)(*inputs, **options)

    def _key(self) -> Any:
        props = [getattr(self, n) for n in getattr(self, "__props__", ())]
        return type(self), getattr(self, "output_types_preference", None), *props

    def __eq__(self, other: object) -> Any:
        return isinstance(other, ScalarOp) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]


class UnaryScalarOp(ScalarOp):
    """A `ScalarOp` of one argument."""

    nin = 1


class BinaryScalarOp(ScalarOp):
    """A `ScalarOp` of two arguments."""

    nin = 2


__all__ = [
    "BinaryScalarOp",
    "ComplexError",
    "ScalarOp",
    "ScalarType",
    "UnaryScalarOp",
    "all_types",
    "as_scalar",
    "autocast_float",
    "autocast_float_as",
    "autocast_int",
    "bool",
    "complex64",
    "complex128",
    "complex_types",
    "complexs",
    "complexs64",
    "complexs128",
    "constant",
    "continuous_types",
    "discrete_types",
    "float16",
    "float32",
    "float64",
    "float_out",
    "float_out_nocomplex",
    "float_types",
    "floats",
    "get_scalar_type",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_out",
    "int_out_nocomplex",
    "int_types",
    "ints",
    "real_out",
    "round_half_away_from_zero_vec",
    "same_out",
    "same_out_float_only",
    "same_out_min8",
    "same_out_nobool",
    "same_out_nocomplex",
    "specific_out",
    "transfer_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uint_types",
    "upcast",
    "upcast_out",
    "upcast_out_min8",
    "upcast_out_no_complex",
    "upcast_out_nobool",
    "upgrade_to_float",
    "upgrade_to_float64",
    "upgrade_to_float_no_complex",
]
