"""The table of scalar operations: name, function of arrays, dtypes and gradient.

Most are operations of the library, whose rules give the gradients (`tracing.pulled`). Where
Theano's derivative is another one (the second of two equal operands of `maximum` gets nothing) it
is written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import ops
from wengert.ops.op import REGISTRY, Op
from wengert.symbolic.dtypes import COMPLEX, CONTINUOUS, DISCRETE, quotient, to_float, upcast
from wengert.symbolic.expressions.elemwise import (
    PARAMETRIC,
    SCALARS,
    DimShuffle,
    Elemwise,
    Scalar,
    fill,
)
from wengert.symbolic.expressions.tracing import CALLS, UFUNCS, pulled
from wengert.symbolic.expressions.type import TensorConstant, TensorType
from wengert.symbolic.settings import config

Gradient = Callable[..., Sequence[Any]]


def _apply(name: str) -> Callable[..., Any]:
    op = Elemwise(SCALARS[name])
    return lambda *inputs: op(*inputs)


def by_rules(op: Op, params: dict[str, Any] | None = None) -> Gradient:
    """The gradient that an operation of the library declares."""
    return lambda inputs, out, g: pulled(op, inputs, out, g, params or {})


def _operands(dtypes: Sequence[str], out: str) -> str | None:
    return out if out not in ("bool",) else None


def _common(dtypes: Sequence[str], out: str) -> str | None:
    common = upcast(*dtypes)
    return None if all(d == common for d in dtypes) else common


def _library(
    name: str, of: str, dtype: Callable[..., str] = upcast, gradient: Gradient | None = None,
    label: str | None = None, **params: Any,
) -> None:  # fmt: skip
    """A scalar that is an operation of the library."""
    op = REGISTRY[of]
    function = op.function if not params else (lambda *x: op.function(*x, **params))
    Scalar(name, function, dtype, gradient or by_rules(op, params), _operands, label)


def _boolean(*dtypes: str) -> str:
    return "bool"


def _nothing(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    return [None] * len(inputs)


def _without_rule(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    raise NotImplementedError("the derivative of tri_gamma is not available")


def _kind_of_first(*dtypes: str) -> str:
    return dtypes[0]


def _float_scalar(value: float, like: Any) -> Any:
    dtype = like.dtype if like.dtype in CONTINUOUS else config.floatX
    return TensorConstant(TensorType(dtype, ()), np.asarray(value, dtype))


def _larger_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    first = _apply("eq")(out, inputs[0])
    return [_apply("mul")(first, g), _apply("mul")(_apply("sub")(_float_scalar(1, g), first), g)]


def _switch_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    condition, zero = inputs[0], _float_scalar(0, g)
    switch = _apply("switch")
    return [None, switch(condition, g, zero), switch(condition, zero, g)]


def _clip_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    x, low, high = inputs
    mul, lt, gt = _apply("mul"), _apply("lt"), _apply("gt")
    inside = _apply("and_")(_apply("ge")(x, low), _apply("le")(x, high))
    return [mul(inside, g), mul(lt(x, low), g), mul(gt(x, high), g)]


def _mod_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    x, y = inputs
    return [g, _apply("neg")(_apply("mul")(_apply("int_div")(x, y), g))]


def _second_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    return [None, g]


def _cast_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    return [g if inputs[0].dtype in DISCRETE else cast_to(g, inputs[0].dtype)]


def _passed(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    return [g]


def _complex_gradients(name: str) -> Gradient:
    def gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
        x, zero = inputs[0], fill(out, _float_scalar(0, g))
        if x.dtype not in ("complex64", "complex128"):
            return [g if name == "real" else zero]
        return [_apply("complex")(*((g, zero) if name == "real" else (zero, g)))]

    return gradient


def _real_dtype(*dtypes: str) -> str:
    return {"complex64": "float32", "complex128": "float64"}.get(dtypes[0], dtypes[0])


def _complex_dtype(*dtypes: str) -> str:
    return "complex64" if all(d in ("float32", "float16") for d in dtypes) else "complex128"


def _not_of_booleans(*dtypes: str) -> str:
    if all(d == "bool" for d in dtypes):
        raise TypeError(
            "neither differences nor negatives of booleans are defined: use invert or xor, or cast"
        )
    return upcast(*dtypes)


def _no_boolean(*dtypes: str) -> str:
    dtype = upcast(*dtypes)
    return "int8" if dtype == "bool" else dtype


def _pow_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    """Theano's formula where the exponent is known and not 0; else the library's."""
    base, exponent = inputs
    known = exponent
    while known.owner is not None and known.owner.nin == 1:
        (known,) = known.owner.inputs
    rules = by_rules(REGISTRY["_pow_tensor"])
    if out.dtype in CONTINUOUS and base.dtype not in CONTINUOUS:
        base = _apply(f"Cast{{{out.dtype}}}")(base)  # an integer's power is a loop over elements
        inputs = [base, exponent]
    if not isinstance(known, TensorConstant) or not known.data.all() or (known.data == -128).any():
        return rules(inputs, out, g)  # -129 is no int8
    if exponent.owner is not None and not isinstance(exponent.owner.op, DimShuffle):
        return rules(inputs, out, g)
    mul, power, sub = (Elemwise(SCALARS[name]) for name in ("mul", "pow", "sub"))
    one = TensorConstant(TensorType("int8", ()), np.int8(1))
    return [mul(mul(g, exponent), power(base, sub(exponent, one))), rules(inputs, out, g)[1]]


def _whole(name: str, of: str, gradient: Gradient) -> None:
    """Quotients rounded down, or their remainders, with the errors of Python's operators."""
    function = REGISTRY[of].function

    def divided(a: Any, b: Any) -> Any:
        if a.dtype == np.bool_:
            return divided(a.astype(np.int8), b.astype(np.int8))
        try:
            return function(a, b)
        except RuntimeError:
            raise ZeroDivisionError(f"integer division or modulo by zero in {name}") from None

    Scalar(name, divided, _without_complex(name, upcast, ComplexError), gradient, _operands)


def _abs_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    """Along a complex number, and 0 at 0; by the sign of real ones."""
    if inputs[0].dtype not in COMPLEX:
        return [_apply("mul")(g, _apply("sgn")(inputs[0]))]
    length = _apply("switch")(out, out, _float_scalar(1, out))
    return [_apply("mul")(g, _apply("true_div")(inputs[0], length))]


def _arithmetic() -> None:
    for name, of in {"add": "_add", "mul": "mul", "abs_": "abs"}.items():
        _library(name, of)
    _whole("int_div", "_div_floor", by_rules(REGISTRY["_div_floor"]))
    _whole("mod", "remainder", _mod_gradient)
    _library("sub", "_sub", _not_of_booleans)
    _library("neg", "neg", _not_of_booleans)
    _library("pow", "_pow_tensor", _no_boolean, _pow_gradient)
    _library("true_div", "_div", quotient)
    SCALARS["abs_"].dtype = _real_dtype
    Scalar("abs_", np.abs, _real_dtype, _abs_gradient)
    Scalar("maximum", _extreme(ops.maximum, np.maximum), upcast, _larger_gradient, _operands)
    Scalar("minimum", _extreme(ops.minimum, np.minimum), upcast, _larger_gradient, _operands)
    Scalar("sqr", np.square, upcast, lambda i, o, g: [_apply("mul")(g, _times(i[0], 2.0))])
    Scalar("sgn", _sign, upcast, _nothing)
    Scalar("clip", _clipped, upcast, _clip_gradient, _operands)
    Scalar("inv", REGISTRY["reciprocal"].function, to_float, by_rules(REGISTRY["reciprocal"]),
           _operands)  # fmt: skip
    for name, rounding in {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc}.items():
        Scalar(name, rounding, to_float, _nothing, _operands)
    Scalar("round_half_to_even", np.rint, _float_alone, _nothing)
    Scalar("round_half_away_from_zero", rounded_away, _float_alone, _nothing)


def _float_alone(dtype: str) -> str:
    if dtype in DISCRETE:
        raise TypeError(f"only float types are rounded, got {dtype}")
    return dtype


def _extreme(of_real: Callable[..., Any], of_complex: Callable[..., Any]) -> Callable[..., Any]:
    """The larger (or smaller) of two; complex numbers are ordered by their real parts first."""
    return lambda a, b: (of_complex if a.dtype.kind == "c" else of_real)(a, b)


def rounded_away(x: Any) -> Any:
    """The nearest integers, halves away from 0.

    >>> import numpy as np
    >>> from wengert.symbolic import scalar
    >>> scalar.round_half_away_from_zero_vec(np.array([0.5, -1.5]))
    array([ 1., -2.])
    """
    return np.copysign(np.floor(np.abs(x) + 0.5), x).astype(x.dtype)


def _sign(x: Any) -> Any:
    if isinstance(x, np.ndarray | np.generic):
        return REGISTRY["sign"].function(x)
    return np.where(x > 0, 1.0, np.where(x < 0, -1.0, x.dtype.type(0)))


def _clipped(x: Any, low: Any, high: Any) -> Any:
    return np.where(x < low, low, np.where(x > high, high, x))


def _times(a: Any, b: float) -> Any:
    return _apply("mul")(a, _float_scalar(b, a))


def _functions() -> None:
    for name, of in {
        "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
        "log10": "log10", "log1p": "log1p", "sqrt": "sqrt", "sin": "sin", "cos": "cos",
        "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
        "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
        "arctanh": "atanh", "deg2rad": "deg2rad", "rad2deg": "rad2deg", "erf": "erf",
        "erfc": "erfc", "erfinv": "erfinv", "gammaln": "lgamma", "psi": "digamma",
    }.items():  # fmt: skip
        _library(name, of, to_float)
    _library("arctan2", "atan2", lambda *d: upcast(*map(to_float, d)))
    _library("sigmoid", "sigmoid", to_float, label="sigmoid")
    _library("tri_gamma", "_polygamma", to_float, _without_rule, n=1)
    Scalar("log_sigmoid", REGISTRY["_logsigmoid"].function, to_float, _log_sigmoid_gradient,
           _operands, "log_sigmoid")  # fmt: skip
    Scalar("softplus", _softplus, to_float, lambda i, o, g: [_apply("mul")(
        g, _apply("sigmoid")(i[0]))], _operands, "softplus")  # fmt: skip
    Scalar("rsqrt", REGISTRY["rsqrt"].function, to_float, by_rules(REGISTRY["rsqrt"]), _operands)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _log_sigmoid_gradient(inputs: Any, out: Any, g: Any) -> Sequence[Any]:
    return [_apply("mul")(g, _apply("sigmoid")(_apply("neg")(inputs[0])))]


def _logic() -> None:
    compared = {
        "eq": "eq", "neq": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    }  # fmt: skip
    for name, of in compared.items():
        Scalar(name, REGISTRY[of].function, _boolean, _nothing, lambda d, out: _common(d, out))
    for name, function in {
        "and_": np.bitwise_and, "or_": np.bitwise_or, "xor": np.bitwise_xor, "invert": np.invert,
    }.items():  # fmt: skip
        Scalar(name, function, _bits_dtype, _nothing, _common)
    Scalar("isnan", np.isnan, _boolean, _nothing)
    Scalar("isinf", np.isinf, _boolean, _nothing)
    Scalar("switch", _switched, lambda *d: upcast(*d[1:]), _switch_gradient)


def _bits_dtype(*dtypes: str) -> str:
    for d in dtypes:
        if d not in DISCRETE:
            raise TypeError(
                f"input to a BitOp must have type (u)int8, (u)int16, (u)int32 or (u)int64 or bool"
                f" not {d}"
            )
    return upcast(*dtypes)


def _switched(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition != 0 if condition.dtype != np.bool_ else condition, a, b)


def _second(model: Any, value: Any) -> Any:
    if not isinstance(model, np.ndarray):
        return value
    if value.shape == model.shape:
        return value
    if value.size == 1 and value.ndim <= model.ndim:
        shape = model.shape
    else:
        shape = np.broadcast_shapes(model.shape, value.shape)
    if value.shape == shape:
        return value
    repeated = np.empty(shape, value.dtype)
    repeated[...] = value
    return repeated


def _complexes() -> None:
    Scalar("real", np.real, _real_dtype, _complex_gradients("real"))
    Scalar("imag", np.imag, _real_dtype, _complex_gradients("imag"))
    Scalar("conj", np.conj, upcast, lambda i, o, g: [_apply("conj")(g)])
    Scalar("angle", np.angle, lambda d: "float64" if d in DISCRETE else _real_dtype(d), _nothing,
           lambda dtypes, out: None if dtypes[0] in COMPLEX else out)  # fmt: skip
    Scalar("complex", lambda a, b: a + 1j * b, _complex_dtype, lambda i, o, g: [
        _apply("real")(g), _apply("imag")(g)])  # fmt: skip


def cast_to(x: Any, dtype: str) -> Any:
    """A variable in another dtype; itself where it has that."""
    return x if x.dtype == dtype else Elemwise(cast_scalar(dtype))(x)


def cast_scalar(dtype: str) -> Scalar:
    """The conversion to a dtype."""
    name = f"Cast{{{dtype}}}"
    if name in SCALARS:
        return SCALARS[name]
    target = np.dtype(dtype)
    return Scalar(
        name, lambda x: x.astype(target), lambda d: dtype, _cast_gradient,
        label=f"Elemwise{{{name}}}",
    )  # fmt: skip


class ComplexError(NotImplementedError):
    """An operation has no meaning for complex numbers."""


def _without_complex(
    name: str, dtype: Callable[..., str], error: type[Exception]
) -> Callable[..., str]:
    """What gives the dtype of a result, for operations on real numbers alone."""

    def checked(*dtypes: str) -> str:
        if not set(COMPLEX).isdisjoint(dtypes):
            raise error(f"{name}: complex numbers are not ordered, got {', '.join(dtypes)}")
        return dtype(*dtypes)

    return checked


# How many operands the operations have; "add", "mul" and those of bits take any number.
_COUNTS = {
    1: "identity abs_ neg inv sqr sgn ceil floor trunc round_half_to_even exp exp2 expm1 log log2"
       " log10 log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
       " deg2rad rad2deg erf erfc erfinv gammaln psi tri_gamma sigmoid softplus log_sigmoid rsqrt"
       " round_half_away_from_zero invert isnan isinf real imag conj angle",
    2: "second sub true_div int_div mod pow maximum minimum arctan2 eq neq lt le gt ge complex",
    3: "switch clip",
}  # fmt: skip


def _enter() -> None:
    """Fill the table, and what rules build."""
    Scalar("second", _second, lambda a, b: b, _second_gradient, apart=(0,))
    Scalar("identity", lambda x: x, _kind_of_first, _passed, label="Elemwise{identity}")
    _arithmetic()
    _functions()
    _logic()
    _complexes()
    SCALARS["switch"].apart = (0,)
    for name in ("lt", "le", "gt", "ge", "clip", "ceil", "floor", "trunc"):
        SCALARS[name].dtype = _without_complex(name, SCALARS[name].dtype, TypeError)
    for count, names in _COUNTS.items():
        for name in names.split():
            SCALARS[name].nin = count
    PARAMETRIC["Cast"] = cast_scalar
    for ufunc, name in {
        np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "true_div",
        np.negative: "neg", np.absolute: "abs_", np.fabs: "abs_", np.square: "sqr",
        np.reciprocal: "inv", np.sqrt: "sqrt", np.floor: "floor", np.ceil: "ceil",
        np.trunc: "trunc", np.rint: "round_half_to_even", np.maximum: "maximum",
        np.minimum: "minimum", np.sign: "sgn", np.power: "pow", np.equal: "eq",
        np.not_equal: "neq", np.less: "lt", np.less_equal: "le", np.greater: "gt",
        np.greater_equal: "ge", np.isnan: "isnan", np.isinf: "isinf", np.logical_and: "and_",
        np.logical_or: "or_", np.logical_xor: "xor", np.logical_not: "invert",
        np.bitwise_and: "and_", np.bitwise_or: "or_", np.bitwise_xor: "xor",
        np.invert: "invert", np.exp: "exp", np.exp2: "exp2", np.expm1: "expm1",
        np.log: "log", np.log2: "log2", np.log10: "log10", np.log1p: "log1p", np.sin: "sin",
        np.cos: "cos", np.tan: "tan", np.arcsin: "arcsin", np.arccos: "arccos",
        np.arctan: "arctan", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh",
        np.arcsinh: "arcsinh", np.arccosh: "arccosh", np.arctanh: "arctanh",
        np.conjugate: "conj", np.where: "switch", np.clip: "clip", np.real: "real",
        np.imag: "imag", np.floor_divide: "int_div", np.remainder: "mod",
        np.arctan2: "arctan2", np.deg2rad: "deg2rad", np.rad2deg: "rad2deg",
    }.items():  # fmt: skip
        UFUNCS[ufunc] = _apply(name)
    for name, own in {
        "sigmoid": "sigmoid", "erf": "erf", "pow": "pow", "digamma": "psi",
        "trigamma": "tri_gamma",
    }.items():  # fmt: skip
        CALLS[name] = _apply(own)
    CALLS["astype"] = cast_to


_enter()
