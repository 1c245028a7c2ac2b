"""Each construct of the kernel language means in machine code what it means in Python."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from wengert.kernels.halves import has_halves
from wengert.kernels.jit import Kernel, available, kernel
from wengert.kernels.jit.builtins import (
    at,
    bits,
    bits64,
    brain,
    ceil,
    copysign,
    f32,
    f32s,
    f64,
    fabs,
    floor,
    from_bits,
    from_bits64,
    given,
    half,
    i32,
    i64,
    i64s,
    inline,
    local,
    maximum,
    minimum,
    real,
    reals,
    rint,
    short_range,
    sqrt,
    storeds,
    trunc,
    u8,
    u8s,
)
from wengert.kernels.jit.language import Unit
from wengert.kernels.jit.machine_types import KernelSyntaxError, argument_kinds, signature_of

pytestmark = pytest.mark.skipif(not available(), reason="no llvmlite")

HALF = 0.5


@inline
def _hypotenuse(a: real, b: real) -> real:
    return sqrt(a * a + b * b)


@inline
def _fill(out: reals, n: i64, value: real) -> None:
    for i in range(n):
        out[i] = value


@kernel
def operators(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """Operators on floats, and numbers of the module."""
    for i in range(start, stop):
        a = x[i] + y[i] * 2.0
        b = (x[i] - 1.0) / (y[i] * y[i] + 1)
        out[i] = -a * HALF + b


@kernel
def integers(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """Operators on integers."""
    for i in range(start, stop):
        k = (i * 7 + 3) // 2 % 5
        k = (k << 2) | 1
        k = (k ^ 5) & 30
        k = k >> 1
        out[i] = k + min(i, 3) - max(i, 4) + -i


@kernel
def choices(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """Conditions as expressions and as statements; comparisons with NaN are false."""
    for i in range(start, stop):
        v = x[i] if x[i] > y[i] else y[i]
        if (v >= 1.0 and not (x[i] < 0.0)) or y[i] == 0.0:
            v = v + 10.0
            out[i] = 0.0
        else:
            v = v - 10.0
        if x[i] != x[i]:
            v = -1.0
        out[i] = v


@kernel
def functions(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """What LLVM has as an intrinsic, and a function of another name."""
    for i in range(start, stop):
        s = sqrt(fabs(x[i])) + rint(x[i]) + floor(x[i]) - ceil(y[i]) + trunc(y[i])
        out[i] = s + maximum(x[i], y[i]) * minimum(x[i], 1.0) + copysign(2.0, y[i])
        out[i] = out[i] + _hypotenuse(x[i], 3.0)


@kernel
def loops(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """Loops in loops, steps, `while`, sums, and an array on the stack."""
    few = local(real, 4)
    for i in range(start, stop):
        _fill(few, 4, y[i])
        few[i % 4] = x[i]
        t = 0.0
        for j in range(4):
            for k in range(j, 9, 3):
                t += few[j] * k
        n = 0
        while n * n < i:
            n += 1
        out[i] = t + n


@kernel
def conversions(x: reals, y: reals, out: reals, start: i64, stop: i64) -> None:
    """Between types, by hand and where nothing is lost."""
    for i in range(start, stop):
        whole = i64(x[i])
        small = i32(whole) + 1
        wide = f64(x[i]) * 3.0
        out[i] = real(wide) + small + whole + real(f32(0.125))


BODIES = [operators, integers, choices, functions, loops, conversions]


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("body", BODIES, ids=lambda k: k.__name__)
def test_machine_code_does_what_python_does(body: Kernel, dtype: str) -> None:
    rng = np.random.default_rng(0)
    kind = {"f32": np.float32, "f64": np.float64}[dtype]
    x, y = (rng.normal(0, 3, 37).astype(kind) for _ in range(2))
    y[5] = 0
    if body is choices:
        x[7] = np.nan
    expected, found = np.zeros_like(x), np.zeros_like(x)
    body.python(x.astype("d"), y.astype("d"), expected, 0, x.size)
    getattr(body, dtype)(x, y, found, x.size, x.size)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "f32" else 1e-13)


@kernel
def types(bytes_: u8s, numbers: i64s, out: reals, start: i64, stop: i64) -> None:
    """Arrays of integers, and parts of arrays."""
    for i in range(start, stop):
        tail = at(numbers, i)
        bytes_[i] = u8(tail[0] + 250)
        out[i] = i64(bytes_[i])


def test_integer_arrays() -> None:
    numbers = np.arange(10, dtype=np.int64)
    small, out = np.zeros(10, np.uint8), np.zeros(10, np.float32)
    types.f32(small, numbers, out, 10, 10)
    assert small.tolist() == [(k + 250) % 256 for k in range(10)]
    assert out.tolist() == small.tolist()


@kernel
def patterns(x: reals, out: reals, start: i64, stop: i64) -> None:
    """Bits of floats, there and back."""
    for i in range(start, stop):
        single = from_bits(bits(f32(x[i])) ^ 1)
        out[i] = real(from_bits64(bits64(f64(single)) + 1))


def test_bits() -> None:
    x = np.array([1.0, -2.5, 0.1], np.float32)
    out = np.zeros(3)
    patterns.f64(x.astype("d"), out, 3, 3)
    flipped = (x.view(np.int32) ^ 1).view(np.float32).astype("d")
    assert out.tolist() == np.nextafter(flipped, np.sign(flipped) * np.inf).tolist()


@kernel
def optional(x: reals, bias: reals, n: i64, scale: f32, out: reals, start: i64, stop: i64) -> None:
    """An array that may be missing, and numbers."""
    for i in range(start, stop):
        shift = 0.0
        if given(bias):
            shift = bias[i]
        out[i] = x[i] * scale + shift + n


def test_none_is_an_array_that_is_not_given() -> None:
    x, out = np.arange(5, dtype="f"), np.zeros(5, "f")
    optional.f32(x, None, 2, 0.5, out, 5, 5)
    assert out.tolist() == (x / 2 + 2).tolist()
    optional.f32(x, x, 2, 0.5, out, 5, 5)
    assert out.tolist() == (x * 1.5 + 2).tolist()


def test_infinite_and_missing_numbers() -> None:
    @kernel
    def special(out: reals, start: i64, stop: i64) -> None:
        out[0] = math.inf
        out[1] = -math.inf
        out[2] = math.nan

    out = np.zeros(3, "f")
    special.f32(out, 1, 1)
    np.testing.assert_array_equal(out, [np.inf, -np.inf, np.nan])


@kernel
def _logistic(x: reals, mask: u8s, out: reals, start: i64, stop: i64) -> None:
    for i in short_range(start, stop):
        y = x[i] * x[i] + 1.0
        out[i] = x[i] / (1.0 + sqrt(y)) if mask[i] != 0 else -y


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_short_ranges_end_where_others_do(name: str) -> None:
    dtype = np.dtype({"f32": np.float32, "f64": np.float64}[name])
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 7, 8, 10, 15, 16, 17, 31, 33, 64, 70):
        x, mask = rng.standard_normal(n).astype(dtype), rng.integers(0, 2, n).astype(np.uint8)
        out = np.full(n + 16, 7, dtype)  # what is behind stays as it is
        getattr(_logistic, name)(x, mask, out, n, 1 << 20)
        y = x * x + 1
        expected = np.where(mask, x / (1 + np.sqrt(y)), -y)
        np.testing.assert_allclose(out[:n], expected, rtol=1e-6 if name == "f32" else 1e-15)
        assert (out[n:] == 7).all()


def test_two_functions_of_one_name_are_not_taken_for_one() -> None:
    def step(a: real) -> real:
        return a + 1

    first = step

    def step(a: real) -> real:  # type: ignore[no-redef]
        return a + 2

    unit = Unit("f32")
    assert unit.add(first, inline=True) is unit.add(first, inline=True)
    with pytest.raises(KernelSyntaxError, match="called step"):
        unit.add(step, inline=True)


def refused(function: object) -> str:
    """The message with which a kernel is refused."""
    assert isinstance(function, Kernel)
    try:
        argument_kinds(signature_of(function.python, "f32"))
        Unit("f32").add(function.python, inline=False)
    except KernelSyntaxError as error:
        return str(error)
    pytest.fail("it was compiled")


def test_what_is_not_in_the_subset_is_refused_with_its_line() -> None:
    @kernel
    def comprehension(x: reals, start: i64, stop: i64) -> None:
        x[0] = sum([1, 2])

    @kernel
    def unknown(x: reals, start: i64, stop: i64) -> None:
        x[0] = nowhere  # type: ignore[name-defined] # noqa: F821

    @kernel
    def mixed(x: f32, y: f64, start: i64, stop: i64) -> None:
        z = x + y  # noqa: F841

    @kernel
    def untyped(x, start: i64, stop: i64) -> None:  # type: ignore[no-untyped-def]
        pass

    @kernel
    def no_range(x: reals) -> None:
        pass

    assert "line 3" in refused(comprehension)
    assert "no such name: nowhere" in refused(unknown)
    assert "['f32', 'f64'] together" in refused(mixed)
    assert "'x' has no type" in refused(untyped)
    assert "start: i64, stop: i64" in refused(no_range)


def test_long_functions_are_in_a_module_that_kernels_share():
    from wengert.kernels.jit.language import NEEDS, Unit
    from wengert.kernels.products.microkernel import product, tiles

    unit = Unit("f32")
    unit.add(product, inline=True)
    text, module = unit.text(), product.module()
    count = sum(tiles().values())
    assert text.startswith(f"{NEEDS}native_product\n")
    assert text.count("\ndeclare void @native_product_") == count
    assert module.count("define void @native_product_") == count
    assert "define internal void @product(" in text
    assert "define internal" not in module


@kernel
def _doubled(x: storeds, out: storeds, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        out[i] = x[i] + x[i] * 0.5


@pytest.mark.parametrize("name", ["brain", "half"])
def test_elements_of_a_stored_type_are_rounded_where_they_are_written(name: str) -> None:
    dtype = np.dtype({"brain": ml_dtypes.bfloat16, "half": np.float16}[name])
    if name == "half" and not has_halves():
        return  # LLVM would call functions that are not there
    words = np.arange(1 << 16, dtype=np.uint16)  # every number there is
    x, out = words.view(dtype), np.empty(words.shape, dtype)
    getattr(_doubled, name)(x, out, x.size, 1 << 10)
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float32) * np.float32(1.5)).astype(dtype)
    missing = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(out), missing)
    np.testing.assert_array_equal(out.view(np.uint16)[~missing], expected.view(np.uint16)[~missing])


@kernel
def _rounded(x: f32s, brains: f32s, halves: f32s, start: i64, stop: i64) -> None:
    for i in range(start, stop):
        brains[i] = brain(x[i] * 1.5)
        halves[i] = half(x[i] * 1.5)


@pytest.mark.skipif(not has_halves(), reason="LLVM would call functions that are not there")
def test_floats_are_rounded_to_halves() -> None:
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(5000) * 10.0 ** rng.integers(-9, 9, 5000)).astype(np.float32)
    x[:4] = 0, -0.0, np.inf, np.nan
    brains, halves = np.empty_like(x), np.empty_like(x)
    _rounded.f32(x, brains, halves, x.size, 1 << 10)
    with np.errstate(over="ignore"):
        for found, dtype in ((brains, ml_dtypes.bfloat16), (halves, np.float16)):
            expected = (x * np.float32(1.5)).astype(dtype).astype(np.float32)
            np.testing.assert_array_equal(found, expected)
    python = np.empty((2, 9), np.float32)
    _rounded.python(x[:9], *python, 0, 9)
    np.testing.assert_array_equal(python, np.stack([brains, halves])[:, :9])


def test_elements_of_a_stored_type_are_reals_otherwise() -> None:
    for name, dtype in (("f32", np.float32), ("f64", np.float64)):
        x = np.random.default_rng(0).standard_normal(9).astype(dtype)
        out = np.empty_like(x)
        getattr(_doubled, name)(x, out, 9, 9)
        np.testing.assert_allclose(out, x * 1.5, rtol=1e-7)
