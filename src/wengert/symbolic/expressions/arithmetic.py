"""The elementwise functions, by Theano's names."""

from __future__ import annotations

from functools import reduce
from typing import Any

from wengert.symbolic.dtypes import ALL, DISCRETE, as_name
from wengert.symbolic.expressions import scalars
from wengert.symbolic.expressions.elemwise import SCALARS, Elemwise
from wengert.symbolic.expressions.type import as_tensor_variable
from wengert.symbolic.graph import marked


class Applied(Elemwise):
    """A scalar operation by its own name, such as ``T.exp``: to programs it is the operation.

    Unlike a function it does not become a method where a class has it as an attribute.
    """

    def __init__(self, name: str, text: str, scalar: Any = None) -> None:
        scalar = SCALARS[name] if scalar is None else scalar
        super().__init__(scalar)
        self.op = Elemwise(scalar)
        self.__name__ = self.__qualname__ = name
        self.__doc__ = text

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return self.op(*inputs, **options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Elemwise) and other.scalar_op == self.scalar_op

    def __hash__(self) -> int:
        return hash(self.op)

    def __reduce__(self) -> Any:
        return type(self), (self.name, self.__doc__, self.scalar_op)


class AppliedToSeveral(Applied):
    """The same of any number of variables, one after the other."""

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        return_list = options.pop("return_list", False)
        if len(inputs) < 2:
            out = tensor_copy(*inputs, **options)
        else:
            out = reduce(self.op, inputs[2:], self.op(*inputs[:2], **options))
        return [out] if return_list else out


def elementwise(name: str, text: str, scalar: Any = None) -> Any:
    """The function of variables that applies a scalar operation."""
    return Applied(name, text, scalar)


def _several(name: str, text: str) -> Any:
    """A function of two or more variables."""
    return AppliedToSeveral(name, text)


add = _several("add", "Sums of elements.")
mul = _several("mul", "Products of elements.")
sub = elementwise("sub", "``a - b``.")
true_div = elementwise("true_div", "``a / b``; of integers in floatX.")
int_div = floor_div = elementwise("int_div", "``a // b``.")
mod = elementwise("mod", "``a % b``, with the sign of `b`.")
pow = power = elementwise("pow", "``a ** b``.")
neg = elementwise("neg", "``-a``.")
inv = elementwise("inv", "``1 / a``.")
abs_ = elementwise("abs_", "Absolute values.")
sqr = square = elementwise("sqr", "Squares.")
sqrt = elementwise("sqrt", "Square roots.")
sgn = elementwise("sgn", "-1, 0 or 1: the sign.")
exp = elementwise("exp", "Exponentials.")
exp2 = elementwise("exp2", "Powers of 2.")
expm1 = elementwise("expm1", "``exp(a) - 1``, exact for small `a`.")
log = elementwise("log", "Natural logarithms.")
log2 = elementwise("log2", "Logarithms to base 2.")
log10 = elementwise("log10", "Logarithms to base 10.")
log1p = elementwise("log1p", "``log(1 + a)``, exact for small `a`.")
ceil = elementwise("ceil", "The next integers above.")
floor = elementwise("floor", "The next integers below.")
trunc = elementwise("trunc", "The next integers towards 0.")
round_half_to_even = elementwise("round_half_to_even", "The nearest integers, halves to even.")
round_half_away_from_zero = elementwise(
    "round_half_away_from_zero", "The nearest integers, halves away from 0."
)
sin = elementwise("sin", "Sines.")
cos = elementwise("cos", "Cosines.")
tan = elementwise("tan", "Tangents.")
arcsin = elementwise("arcsin", "Inverse sines.")
arccos = elementwise("arccos", "Inverse cosines.")
arctan = elementwise("arctan", "Inverse tangents.")
arctan2 = elementwise("arctan2", "The angle of the point (b, a).")
sinh = elementwise("sinh", "Hyperbolic sines.")
cosh = elementwise("cosh", "Hyperbolic cosines.")
tanh = elementwise("tanh", "Hyperbolic tangents.")
arcsinh = elementwise("arcsinh", "Inverse hyperbolic sines.")
arccosh = elementwise("arccosh", "Inverse hyperbolic cosines.")
arctanh = elementwise("arctanh", "Inverse hyperbolic tangents.")
deg2rad = elementwise("deg2rad", "Degrees in radians.")
rad2deg = elementwise("rad2deg", "Radians in degrees.")
erf = elementwise("erf", "The error function.")
erfc = elementwise("erfc", "1 less the error function.")
erfinv = elementwise("erfinv", "The inverse of the error function.")
gammaln = elementwise("gammaln", "The logarithm of the gamma function.")
psi = elementwise("psi", "The derivative of `gammaln`.")
tri_gamma = elementwise("tri_gamma", "The second derivative of `gammaln`.")
real = elementwise("real", "Real parts.")
imag = elementwise("imag", "Imaginary parts.")
conj = elementwise("conj", "Complex conjugates.")
angle = elementwise("angle", "Angles of complex numbers.")
complex = elementwise("complex", "Complex numbers of real and imaginary parts.")
maximum = elementwise("maximum", "The larger of two; the gradient goes to the first of equals.")
minimum = elementwise("minimum", "The smaller of two; the gradient goes to the first of equals.")
clip = elementwise("clip", "Values no smaller than a bound and no larger than another.")
eq = elementwise("eq", "``a == b``, which as an operator compares identities.")
neq = elementwise("neq", "``a != b``.")
lt = elementwise("lt", "``a < b``.")
le = elementwise("le", "``a <= b``.")
gt = elementwise("gt", "``a > b``.")
ge = elementwise("ge", "``a >= b``.")
and_ = bitwise_and = _several("and_", "Bits in both of two.")
or_ = bitwise_or = _several("or_", "Bits in either of two.")
xor = bitwise_xor = _several("xor", "Bits in exactly one of two.")
invert = bitwise_not = elementwise("invert", "All other bits.")
isnan = elementwise("isnan", "Whether elements are NaN.")
isinf = elementwise("isinf", "Whether elements are infinite.")
switch = elementwise("switch", "Elements of `b` where `a` is true, of `c` elsewhere.")
second = elementwise("second", "`b` in the shape of `a`.")
tensor_copy = identity = elementwise("identity", "The same values.")


# ``convert_to_float32`` and its like, by name.
CONVERTERS = {
    f"convert_to_{d}": elementwise(
        f"convert_to_{d}", f"A variable in dtype {d}.", scalars.cast_scalar(d)
    )
    for d in ALL
}


def where(condition: Any, ift: Any, iff: Any) -> Any:
    """As `switch`."""
    return switch(condition, ift, iff)


def cast(x: Any, dtype: Any) -> Any:
    """A variable in another dtype; `"floatX"` is that of the settings."""
    name, x = as_name(dtype), as_tensor_variable(x)
    if name not in ALL:
        raise TypeError(f"Cannot cast to dtype {dtype!r}")
    if x.dtype in ("complex64", "complex128") and name not in ("complex64", "complex128"):
        raise TypeError("Casting from complex to real is ambiguous: consider real(), imag(), ...")
    return scalars.cast_to(x, name)


def fill(a: Any, b: Any) -> Any:
    """`b` in the shape of `a`."""
    return second(a, b)


def divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Quotient and remainder."""
    return floor_div(x, y), mod(x, y)


def round(a: Any, mode: str | None = None) -> Any:
    """The nearest integers, as `mode` says: "half_to_even" or "half_away_from_zero"."""
    if mode in (None, "half_to_even"):
        return round_half_to_even(a)
    if mode == "half_away_from_zero":
        return round_half_away_from_zero(a)
    raise Exception("round mode %s is not implemented." % mode)  # noqa: UP031


def iround(a: Any, mode: str | None = None) -> Any:
    """`round`, as int64."""
    return cast(round(a, mode), "int64")


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether elements are close: ``|a - b| <= atol + rtol * |b|``."""
    a, b = as_tensor_variable(a), as_tensor_variable(b)
    close = le(abs_(sub(a, b)), add(atol, mul(rtol, abs_(b))))
    if all(v.dtype in DISCRETE for v in (a, b)):
        return close
    special = or_(isnan(a), isnan(b), isinf(a), isinf(b))
    equal = eq(a, b)
    if equal_nan:
        equal = or_(equal, and_(isnan(a), isnan(b)))
    return or_(and_(close, invert(special)), equal)


def comparison_result(variable: Any) -> Any:
    """The result of a comparison by an operator: it has no truth value."""
    variable.is_comparison = True
    return marked(variable)


__all__ = [
    "abs_",
    "add",
    "and_",
    "angle",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "ceil",
    "clip",
    "complex",
    "conj",
    "cos",
    "cosh",
    "deg2rad",
    "divmod",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fill",
    "floor",
    "floor_div",
    "gammaln",
    "ge",
    "gt",
    "identity",
    "imag",
    "int_div",
    "inv",
    "invert",
    "iround",
    "isclose",
    "isinf",
    "isnan",
    "le",
    "log",
    "log1p",
    "log2",
    "log10",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "neg",
    "neq",
    "or_",
    "pow",
    "power",
    "psi",
    "rad2deg",
    "real",
    "round",
    "round_half_away_from_zero",
    "round_half_to_even",
    "second",
    "sgn",
    "sin",
    "sinh",
    "sqr",
    "sqrt",
    "square",
    "sub",
    "switch",
    "tan",
    "tanh",
    "tensor_copy",
    "tri_gamma",
    "true_div",
    "trunc",
    "where",
    "xor",
]
