"""``torch.testing._internal.common_dtype``: dtypes by group."""

from __future__ import annotations

from collections.abc import Callable

from wengert.core import dtypes
from wengert.core.dtypes import dtype

_Dtypes = tuple[dtype, ...]

_FLOATING = (dtypes.float32, dtypes.float64)
_COMPLEX = (dtypes.complex64, dtypes.complex128)
_INTEGRAL = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)
_FLOAT8 = (
    dtypes.float8_e4m3fn, dtypes.float8_e4m3fnuz, dtypes.float8_e5m2, dtypes.float8_e5m2fnuz
)  # fmt: skip


def _group(name: str, members: _Dtypes) -> Callable[[], _Dtypes]:
    def group() -> _Dtypes:
        return members

    group.__name__ = group.__qualname__ = name
    group.__doc__ = f"The dtypes {', '.join(d.name for d in members) or 'of no group'}."
    return group


def _group_and(name: str, members: _Dtypes) -> Callable[..., _Dtypes]:
    def group(*dtypes: dtype) -> _Dtypes:
        return tuple(dict.fromkeys((*members, *dtypes)))

    group.__name__ = group.__qualname__ = name
    group.__doc__ = f"The dtypes {', '.join(d.name for d in members)}, and those given."
    return group


empty_types = _group("empty_types", ())
floating_types = _group("floating_types", _FLOATING)
floating_types_and = _group_and("floating_types_and", _FLOATING)
floating_types_and_half = _group("floating_types_and_half", (*_FLOATING, dtypes.float16))
floating_and_complex_types = _group("floating_and_complex_types", _FLOATING + _COMPLEX)
floating_and_complex_types_and = _group_and("floating_and_complex_types_and", _FLOATING + _COMPLEX)
double_types = _group("double_types", (dtypes.float64, dtypes.complex128))
complex_types = _group("complex_types", _COMPLEX)
complex_types_and = _group_and("complex_types_and", _COMPLEX)
integral_types = _group("integral_types", _INTEGRAL)
integral_types_and = _group_and("integral_types_and", _INTEGRAL)
all_types = _group("all_types", _FLOATING + _INTEGRAL)
all_types_and = _group_and("all_types_and", _FLOATING + _INTEGRAL)
all_types_and_half = _group("all_types_and_half", (*_FLOATING, *_INTEGRAL, dtypes.float16))
all_types_and_complex = _group("all_types_and_complex", _FLOATING + _INTEGRAL + _COMPLEX)
all_types_and_complex_and = _group_and(
    "all_types_and_complex_and", _FLOATING + _INTEGRAL + _COMPLEX
)
_MPS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, *_INTEGRAL)
all_mps_types = _group("all_mps_types", _MPS)
all_mps_types_and = _group_and("all_mps_types_and", _MPS)
all_types_complex_float8_and = _group_and(
    "all_types_complex_float8_and", _FLOATING + _INTEGRAL + _COMPLEX + _FLOAT8
)
float8_types = _group("float8_types", _FLOAT8)
float8_types_and = _group_and("float8_types_and", _FLOAT8)


def custom_types(*dtypes: dtype) -> _Dtypes:
    """The dtypes given."""
    return dtypes


def get_all_int_dtypes() -> list[dtype]:
    """The integer dtypes, small ones first."""
    return list(_INTEGRAL)


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[dtype]:
    """The floating-point dtypes, with the halves unless they are declined."""
    halves = [dtypes.float16] * include_half + [dtypes.bfloat16] * include_bfloat16
    return [*_FLOATING, *halves]


def get_all_complex_dtypes(include_complex32: bool = False) -> list[dtype]:
    """The complex dtypes."""
    return [dtypes.complex32] * include_complex32 + [*_COMPLEX]


def get_all_dtypes(
    include_half: bool = True,
    include_bfloat16: bool = True,
    include_bool: bool = True,
    include_complex: bool = True,
    include_complex32: bool = False,
) -> list[dtype]:
    """Every dtype that computes, without the groups that are declined."""
    return (
        get_all_int_dtypes()
        + get_all_fp_dtypes(include_half, include_bfloat16)
        + [dtypes.bool_] * include_bool
        + (get_all_complex_dtypes(include_complex32) if include_complex else [])
    )


float_to_corresponding_complex_type_map = {
    dtypes.float16: dtypes.complex32,
    dtypes.float32: dtypes.complex64,
    dtypes.float64: dtypes.complex128,
}


def get_all_math_dtypes(device: str) -> list[dtype]:
    """The dtypes of numbers, without halves on the CPU."""
    half = not device.startswith("cpu")
    return get_all_int_dtypes() + get_all_fp_dtypes(half, False) + get_all_complex_dtypes()


__all__ = [
    "all_mps_types",
    "all_mps_types_and",
    "all_types",
    "all_types_and",
    "all_types_and_complex",
    "all_types_and_complex_and",
    "all_types_and_half",
    "all_types_complex_float8_and",
    "complex_types",
    "complex_types_and",
    "custom_types",
    "double_types",
    "empty_types",
    "float8_types",
    "float8_types_and",
    "float_to_corresponding_complex_type_map",
    "floating_and_complex_types",
    "floating_and_complex_types_and",
    "floating_types",
    "floating_types_and",
    "floating_types_and_half",
    "get_all_complex_dtypes",
    "get_all_dtypes",
    "get_all_fp_dtypes",
    "get_all_int_dtypes",
    "get_all_math_dtypes",
    "integral_types",
    "integral_types_and",
]
