"""Functions of pairs of elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import special

from wengert.compat._private.harness.operations.elementwise import BinaryUfuncInfo
from wengert.compat._private.harness.operations.letters import (
    EVERY,
    FLOATS,
    FLOATS_COMPLEX,
    FLOATS_WIDE,
    INTEGERS,
    INTEGERS_BOOL,
    NUMBERS,
    REALS,
    REALS_BOOL,
    REALS_WIDE,
)
from wengert.compat._private.harness.operations.recipes import op
from wengert.compat._private.harness.operations.records import OpInfo

_NO_ZERO = {"exclude_zero": True}
binary = partial(op, kind=BinaryUfuncInfo)


def _rounding(mode: str) -> Callable[..., Any]:
    return lambda device, dtype, input: ({"rounding_mode": mode}, {})


BINARY: list[OpInfo] = [
    binary("add", EVERY, ref=np.add),
    binary("clamp_max", REALS_BOOL, ref=np.minimum),
    binary("clamp_min", REALS_BOOL, ref=np.maximum),
    binary("mul", EVERY, ref=np.multiply, aliases=("multiply",)),
    binary("sub", NUMBERS, ref=np.subtract, aliases=("subtract",)),
    binary(
        "atan2", REALS_BOOL, ref=np.arctan2, supports_rhs_python_scalar=False, aliases=("arctan2",)
    ),
    binary(
        "bitwise_left_shift",
        INTEGERS,
        ref=np.left_shift,
        rhs_make_tensor_kwargs={"low": 0, "high": 7},
        no="grad",
    ),
    binary(
        "bitwise_right_shift",
        INTEGERS,
        ref=np.right_shift,
        rhs_make_tensor_kwargs={"low": 0, "high": 7},
        no="grad",
    ),
    binary("complex", FLOATS_WIDE, supports_rhs_python_scalar=False),
    binary("copysign", REALS_BOOL, ref=np.copysign, supports_rhs_python_scalar=False),
    binary(
        "div|no_rounding_mode",
        EVERY,
        ref=np.true_divide,
        rhs_make_tensor_kwargs=_NO_ZERO,
        aliases=("divide",),
    ),
    binary(
        "div|trunc_rounding",
        REALS,
        rhs_make_tensor_kwargs=_NO_ZERO,
        sample_kwargs=_rounding("trunc"),
        aliases=("divide",),
    ),
    binary(
        "div|floor_rounding",
        REALS,
        rhs_make_tensor_kwargs=_NO_ZERO,
        sample_kwargs=_rounding("floor"),
        aliases=("divide",),
    ),
    binary("true_divide", EVERY, ref=np.true_divide, rhs_make_tensor_kwargs=_NO_ZERO),
    binary("eq", EVERY, ref=np.equal, always_returns_bool=True, no="grad"),
    binary("fmax", REALS_BOOL, ref=np.fmax, supports_rhs_python_scalar=False),
    binary("fmin", REALS_BOOL, ref=np.fmin, supports_rhs_python_scalar=False),
    binary("fmod", REALS, ref=np.fmod, rhs_make_tensor_kwargs=_NO_ZERO),
    binary("remainder", REALS, ref=np.remainder, rhs_make_tensor_kwargs=_NO_ZERO),
    binary("floor_divide", REALS, ref=np.floor_divide, rhs_make_tensor_kwargs=_NO_ZERO, no="grad"),
    binary(
        "ge",
        REALS_BOOL,
        ref=np.greater_equal,
        always_returns_bool=True,
        no="grad",
        aliases=("greater_equal",),
    ),
    binary(
        "gt", REALS_BOOL, ref=np.greater, always_returns_bool=True, no="grad", aliases=("greater",)
    ),
    binary(
        "le",
        REALS_BOOL,
        ref=np.less_equal,
        always_returns_bool=True,
        no="grad",
        aliases=("less_equal",),
    ),
    binary(
        "ldexp",
        EVERY,
        ref=np.ldexp,
        rhs_make_tensor_kwargs={"low": 0, "high": 4},
        supports_rhs_python_scalar=False,
    ),
    binary("logaddexp", FLOATS_COMPLEX, ref=np.logaddexp, supports_rhs_python_scalar=False),
    binary("lt", REALS_BOOL, ref=np.less, always_returns_bool=True, no="grad", aliases=("less",)),
    binary(
        "max|binary",
        REALS_BOOL,
        ref=np.maximum,
        supports_rhs_python_scalar=False,
        aliases=("maximum",),
    ),
    binary("maximum", REALS_BOOL, ref=np.maximum, supports_rhs_python_scalar=False),
    binary(
        "min|binary",
        REALS_BOOL,
        ref=np.minimum,
        supports_rhs_python_scalar=False,
        aliases=("minimum",),
    ),
    binary("minimum", REALS_BOOL, ref=np.minimum, supports_rhs_python_scalar=False),
    binary(
        "logical_and",
        EVERY,
        ref=np.logical_and,
        always_returns_bool=True,
        supports_rhs_python_scalar=False,
        no="grad",
    ),
    binary(
        "logical_or",
        EVERY,
        ref=np.logical_or,
        always_returns_bool=True,
        supports_rhs_python_scalar=False,
        no="grad",
    ),
    binary(
        "logical_xor",
        EVERY,
        ref=np.logical_xor,
        always_returns_bool=True,
        supports_rhs_python_scalar=False,
        no="grad",
    ),
    binary("bitwise_and", INTEGERS_BOOL, ref=np.bitwise_and, no="grad"),
    binary("bitwise_or", INTEGERS_BOOL, ref=np.bitwise_or, no="grad"),
    binary("bitwise_xor", INTEGERS_BOOL, ref=np.bitwise_xor, no="grad"),
    binary("heaviside", REALS_BOOL, ref=np.heaviside, supports_rhs_python_scalar=False, no="grad"),
    binary("lcm", INTEGERS, ref=np.lcm, supports_rhs_python_scalar=False, no="grad"),
    binary("gcd", INTEGERS, ref=np.gcd, supports_rhs_python_scalar=False, no="grad"),
    binary(
        "isclose",
        EVERY,
        ref=np.isclose,
        always_returns_bool=True,
        supports_rhs_python_scalar=False,
        no="grad out",
    ),
    binary("nextafter", FLOATS, ref=np.nextafter, supports_rhs_python_scalar=False),
    binary(
        "igamma",
        FLOATS,
        ref=special.gammainc,
        lhs_make_tensor_kwargs={"low": 0.1, "high": 5},
        rhs_make_tensor_kwargs={"low": 0.1, "high": 5},
        supports_rhs_python_scalar=False,
        no="grad",
        aliases=("special.gammainc",),
    ),
    binary(
        "igammac",
        FLOATS,
        ref=special.gammaincc,
        lhs_make_tensor_kwargs={"low": 0.1, "high": 5},
        rhs_make_tensor_kwargs={"low": 0.1, "high": 5},
        supports_rhs_python_scalar=False,
        no="grad",
        aliases=("special.gammaincc",),
    ),
    binary(
        "ne", EVERY, ref=np.not_equal, always_returns_bool=True, no="grad", aliases=("not_equal",)
    ),
    binary(
        "pow",
        NUMBERS,
        ref=np.power,
        lhs_make_tensor_kwargs={"low": 1, "high": 3},
        rhs_make_tensor_kwargs={"low": 0, "high": 3},
    ),
    binary(
        "float_power",
        EVERY,
        ref=np.float_power,
        lhs_make_tensor_kwargs={"low": 1, "high": 3},
        rhs_make_tensor_kwargs={"low": 0, "high": 3},
    ),
    binary("__radd__", EVERY, no="out"),
    binary("__rdiv__", EVERY, lhs_make_tensor_kwargs=_NO_ZERO, no="out"),
    binary("__rmul__", EVERY, no="out"),
    binary("__rand__", INTEGERS_BOOL, no="grad out"),
    binary("__ror__", INTEGERS_BOOL, no="grad out"),
    binary("__rxor__", INTEGERS_BOOL, no="grad out"),
    binary("__rmod__", REALS, lhs_make_tensor_kwargs=_NO_ZERO, no="out"),
    binary(
        "__rpow__",
        NUMBERS,
        rhs_make_tensor_kwargs={"low": 1, "high": 3},
        lhs_make_tensor_kwargs={"low": 0, "high": 3},
        no="out",
    ),
    binary("__rsub__", NUMBERS, no="out"),
    binary("rsub", NUMBERS, no="out"),
    binary(
        "polar",
        FLOATS_WIDE,
        lhs_make_tensor_kwargs={"low": 0.1, "high": None},
        supports_rhs_python_scalar=False,
    ),
    binary("hypot", FLOATS, ref=np.hypot, supports_rhs_python_scalar=False),
    binary(
        "xlogy",
        REALS_BOOL,
        ref=special.xlogy,
        rhs_make_tensor_kwargs={"low": 0.1, "high": None},
        aliases=("special.xlogy",),
    ),
    binary(
        "special.xlog1py",
        REALS_BOOL,
        ref=special.xlog1py,
        rhs_make_tensor_kwargs={"low": 0, "high": None},
    ),
    binary(
        "special.zeta",
        "uiswlfd",
        ref=special.zeta,
        lhs_make_tensor_kwargs={"low": 2, "high": 5},
        rhs_make_tensor_kwargs={"low": 1, "high": 5},
        no="grad",
    ),
    binary(
        "special.chebyshev_polynomial_t",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.chebyshev_polynomial_u",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.chebyshev_polynomial_v",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.chebyshev_polynomial_w",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.hermite_polynomial_h",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.hermite_polynomial_he",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.laguerre_polynomial_l",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.legendre_polynomial_p",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.shifted_chebyshev_polynomial_t",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.shifted_chebyshev_polynomial_u",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.shifted_chebyshev_polynomial_v",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
    binary(
        "special.shifted_chebyshev_polynomial_w",
        REALS_WIDE,
        lhs_make_tensor_kwargs={"low": -1, "high": 1},
        rhs_make_tensor_kwargs={"low": 0, "high": 5},
        no="grad",
    ),
]

__all__ = ["BINARY"]
