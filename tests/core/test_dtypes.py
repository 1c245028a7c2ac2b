"""Promotion as an algebra, the dtypes of numbers, and what a dtype can store."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from wengert.core import dtypes
from wengert.core.dtypes import ALL as EVERY
from wengert.core.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    bfloat16,
    bool_,
    can_cast,
    canonical,
    combine,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    of_argument,
    of_number,
    promote_types,
    scalar_array,
    uint8,
    uint16,
    uint64,
)

WIDE_UNSIGNED = ("uint16", "uint32", "uint64")
# Those that combine: float8 dtypes are stored and converted, and promote with nothing.
ALL = tuple(d for d in EVERY if not d.name.startswith("float8"))
ORDINARY = [d for d in ALL if d.name not in WIDE_UNSIGNED]


@pytest.fixture
def double_default() -> Iterator[None]:
    dtypes.set_default_dtype(float64)
    yield
    dtypes.set_default_dtype(float32)


def promoted(a: dtype, b: dtype) -> dtype | None:
    try:
        return promote_types(a, b)
    except RuntimeError:
        return None


def test_promotion_is_commutative() -> None:
    for a, b in itertools.product(ALL, ALL):
        assert promoted(a, b) is promoted(b, a), (a, b)


def test_promotion_is_idempotent() -> None:
    for d in ALL:
        assert promote_types(d, d) is d


def test_bool_is_neutral() -> None:
    for d in ORDINARY:
        assert promoted(bool_, d) is d


def test_promotion_is_associative() -> None:
    for a, b, c in itertools.product(ORDINARY, repeat=3):
        left, right = promote_types(promote_types(a, b), c), promote_types(a, promote_types(b, c))
        assert left is right, (a, b, c)


def test_a_result_holds_the_category_of_both() -> None:
    for a, b in itertools.product(ORDINARY, ORDINARY):
        assert promote_types(a, b).category == max(a.category, b.category)


def test_a_result_is_above_both() -> None:
    """Promoting again with one of the two changes nothing."""
    for a, b in itertools.product(ORDINARY, ORDINARY):
        top = promote_types(a, b)
        assert promote_types(top, a) is top, (a, b)
        assert promote_types(top, b) is top, (a, b)


def test_integers_do_not_lose_values() -> None:
    whole = [d for d in ORDINARY if d.category == INT]
    for a, b in itertools.product(whole, whole):
        top = np.iinfo(promote_types(a, b).np)
        for d in (a, b):
            least, most = np.iinfo(d.np).min, np.iinfo(d.np).max
            assert top.min <= least < most <= top.max, (a, b)


def test_integers_never_widen_floats() -> None:
    for low, high in itertools.product(ORDINARY, ORDINARY):
        if low.category < FLOAT <= high.category:
            assert promote_types(low, high) is high


@pytest.mark.parametrize(
    ("a", "b", "top"),
    [
        (uint8, int8, int16),
        (uint8, int16, int16),
        (int8, int64, int64),
        (float16, bfloat16, float32),
        (float16, float32, float32),
        (float64, complex64, complex128),
        (float32, complex64, complex64),
        (bfloat16, complex128, complex128),
        (uint64, float16, float16),
        (bool_, uint8, uint8),
    ],
)
def test_pairs(a: dtype, b: dtype, top: dtype) -> None:
    assert promote_types(a, b) is top


@pytest.mark.parametrize("partner", [bool_, int8, uint8, int64, uint16, complex64])
def test_wide_unsigned_integers_do_not_promote(partner: dtype) -> None:
    with pytest.raises(
        RuntimeError, match=r"Promotion for uint16, uint32, uint64.*attempted to promote"
    ):
        promote_types(uint64, partner)
    with pytest.raises(RuntimeError, match="UInt64"):
        promote_types(partner, uint64)


@pytest.mark.torch
def test_the_whole_table(torch: Any) -> None:
    for a, b in itertools.product(ALL, ALL):
        try:
            expected = str(torch.promote_types(getattr(torch, a.name), getattr(torch, b.name)))
        except RuntimeError:
            assert promoted(a, b) is None, (a, b)
        else:
            assert repr(promoted(a, b)) == expected, (a, b)


@pytest.mark.torch
def test_casts(torch: Any) -> None:
    for a, b in itertools.product(ALL, ALL):
        expected = torch.can_cast(getattr(torch, a.name), getattr(torch, b.name))
        assert can_cast(a, b) is expected, (a, b)


def test_can_cast_says_which_argument_is_wrong() -> None:
    with pytest.raises(TypeError, match=r"argument 'from_' must be torch.dtype, not int"):
        can_cast(1, float32)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"argument 'to' must be torch.dtype, not str"):
        can_cast(float32, "float32")  # type: ignore[arg-type]


# -- ranks -------------------------------------------------------------------------------------

TENSOR, SCALAR, NUMBER = 2, 1, 0


@pytest.mark.parametrize(
    ("operands", "top"),
    [
        ([(int32, TENSOR), (int64, NUMBER)], int32),
        ([(int32, TENSOR), (int64, SCALAR)], int32),
        ([(float16, TENSOR), (float64, SCALAR)], float16),
        ([(int32, TENSOR), (float32, NUMBER)], float32),
        ([(int32, TENSOR), (float64, SCALAR)], float64),
        ([(int64, SCALAR), (float32, NUMBER)], float32),
        ([(float64, TENSOR), (complex64, NUMBER)], complex128),
        ([(float32, TENSOR), (complex128, SCALAR)], complex64),
        ([(int32, TENSOR), (complex128, SCALAR)], complex128),
        ([(complex64, TENSOR), (complex128, SCALAR)], complex64),
        ([(float16, TENSOR), (complex128, NUMBER)], complex64),
        ([(bool_, TENSOR), (int64, NUMBER)], int64),
        ([(uint8, TENSOR), (int8, TENSOR), (float32, NUMBER)], float32),
        ([(bool_, TENSOR), (int16, SCALAR), (float64, NUMBER)], float64),
        ([(bool_, NUMBER), (int64, NUMBER)], int64),
    ],
)
def test_lower_ranks_only_count_with_a_higher_category(
    operands: list[tuple[dtype, int]], top: dtype
) -> None:
    assert combine(operands) is top
    assert combine(operands[::-1]) is top


def test_within_a_rank_operands_promote() -> None:
    for a, b in itertools.product(ORDINARY, ORDINARY):
        for rank in (TENSOR, SCALAR, NUMBER):
            assert combine([(a, rank), (b, rank)]) is promote_types(a, b)


@pytest.mark.torch
def test_ranks_against_pytorch(torch: Any) -> None:
    for a, b in itertools.product(ORDINARY, ORDINARY):
        if a.itemsize == 2 and a.category == FLOAT and b.category == COMPLEX:
            continue  # complex32, which is not here
        tensor = torch.ones(1, dtype=getattr(torch, a.name))
        scalar = torch.ones((), dtype=getattr(torch, b.name))
        assert repr(combine([(a, TENSOR), (b, SCALAR)])) == str(torch.result_type(tensor, scalar))


# -- dtypes and numbers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, bool_), (3, int64), (0.5, float32), (1j, complex64), (np.float64(2), float32)],
)
def test_numbers(value: Any, expected: dtype) -> None:
    assert of_number(value) is expected


@pytest.mark.usefixtures("double_default")
def test_numbers_follow_the_default() -> None:
    assert of_number(0.5) is float64
    assert of_number(1j) is complex128
    assert of_number(1) is int64


@pytest.mark.parametrize("bad", [int64, "float32", None, float, complex64])
def test_only_floats_are_a_default(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"only floating-point types.*set_default_dtype"):
        dtypes.set_default_dtype(bad)
    assert dtypes.get_default_dtype() is float32


@pytest.mark.parametrize(
    ("argument", "expected"),
    [(bool, bool_), (int, int64), (float, float64), (complex, complex128), (int8, int8)],
)
def test_python_types_as_arguments(argument: Any, expected: dtype) -> None:
    assert of_argument("zeros", argument) is expected


@pytest.mark.parametrize("bad", ["float32", np.float32, 1, str])
def test_other_arguments_are_refused(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"zeros\(\): argument 'dtype' must be torch.dtype, not"):
        of_argument("zeros", bad)


def test_dtypes_pickle_as_themselves() -> None:
    for d in ALL:
        assert pickle.loads(pickle.dumps(d)) is d
        assert dtypes.by_name(d.name) is d
        assert dtypes.of_numpy[d.np] is d
        assert d.itemsize == np.zeros(1, d.np).itemsize


def test_categories() -> None:
    assert bool_.category == BOOL
    for d in ALL:
        assert d.is_floating_point == (d.name in ("float16", "bfloat16", "float32", "float64"))
        assert d.is_complex == d.name.startswith("complex")
        assert d.is_signed == (not d.name.startswith("u") and d is not bool_)
        assert (d.np in dtypes.inexact) == (d.is_floating_point or d.is_complex)


def test_real_and_complex_partners() -> None:
    assert float64.to_complex() is complex128
    assert bfloat16.to_complex() is float16.to_complex() is float32.to_complex() is complex64
    assert complex64.to_complex() is complex64
    assert (complex64.to_real(), complex128.to_real()) == (float32, float64)
    assert int8.to_real() is int8
    with pytest.raises(RuntimeError, match="Unknown Complex ScalarType for Long"):
        int64.to_complex()


def test_arrays_get_the_dtype_object_that_is_known() -> None:
    other = pickle.loads(pickle.dumps(np.arange(3, dtype=np.int64)))
    twin = np.ndarray((3,), np.dtype(np.int64, copy=True), other)
    assert twin.dtype is not int64.np
    assert canonical(twin).dtype is int64.np
    assert np.shares_memory(canonical(twin), twin)
    own = np.zeros(2, np.float32)
    assert canonical(own) is own


# -- scalar_array ------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [d for d in ALL if d.category == INT])
def test_limits_of_integers(to: dtype) -> None:
    info = np.iinfo(to.np)
    for value in (int(info.max), int(info.min), 0):
        array = scalar_array(value, to, "full")
        assert array.dtype == to.np
        assert array.shape == ()
        assert int(array) == value
    with pytest.raises(RuntimeError, match=rf"converted to type {to.name} without overflow: full"):
        scalar_array(int(info.max) + 1, to, "full")


def test_small_negative_integers_wrap_into_unsigned_ones() -> None:
    assert int(scalar_array(-1, uint8, "full")) == 255
    assert int(scalar_array(-255, uint8, "full")) == 1
    with pytest.raises(RuntimeError):
        scalar_array(-256, uint8, "full")
    with pytest.raises(RuntimeError):
        scalar_array(-1.0, uint8, "full")


@pytest.mark.parametrize(
    ("value", "to", "expected"),
    [
        (2.9, int32, 2),
        (-2.9, int32, -2),
        (True, int8, 1),
        (3 + 0j, int16, 3),
        (0.0, bool_, False),
        (float("nan"), bool_, True),
        (1e40, float64, 1e40),
        (float("inf"), float16, math.inf),
        (2, complex64, 2 + 0j),
    ],
)
def test_conversions(value: Any, to: dtype, expected: Any) -> None:
    array = scalar_array(value, to, "full")
    assert array.dtype == to.np
    assert array.item() == expected


@pytest.mark.parametrize(
    ("value", "to"),
    [
        (1e40, float32),
        (-1e40, float32),
        (70000.0, float16),
        (float("nan"), int32),
        (float("inf"), int64),
        (1 + 1j, float32),
        (1 + 1j, int32),
        (1e10, int32),
    ],
)
def test_what_a_dtype_cannot_store(value: Any, to: dtype) -> None:
    with pytest.raises(RuntimeError, match=f"type {to.name} without overflow"):
        scalar_array(value, to, "fill_")
