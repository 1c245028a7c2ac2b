"""Short rows that are copied plus a number."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.guarded import copied, guarded
from wengert.kernels.conv.shifting import (
    copied_brains,
    halved,
    halved_brains,
    rounded_sums,
    shifted,
    woven,
    woven_halved,
)
from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import f32, f32s, i64, u16s

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")


@kernel
def _shifted(to: f32s, source: f32s, count: i64, shift: f32, start: i64, stop: i64) -> None:
    shifted(to, source, count, shift)


@kernel
def _halved(to: f32s, source: f32s, count: i64, start: i64, stop: i64) -> None:
    halved(to, source, count)


@pytest.mark.parametrize("at_end", [False, True])
def test_every_second_element_and_none_beyond(at_end: bool) -> None:
    for count in range(36):
        row = np.random.default_rng(0).standard_normal(max(0, 2 * count - 1), dtype=np.float32)
        source, to = copied(row, at_end), guarded(count, at_end=at_end)
        _halved.f32(to, source, count, 1, 1)
        np.testing.assert_array_equal(to, row[::2])
        by_python = np.empty(count, np.float32)
        _halved.python(by_python, row, count, 0, 1)
        np.testing.assert_array_equal(by_python, row[::2])


def test_a_shifted_row_of_each_length() -> None:
    source = np.random.default_rng(0).standard_normal(40, dtype=np.float32)
    for count in range(36):
        for shift in (-0.0, 0.5):
            to = np.full(40, 7, np.float32)
            _shifted.f32(to, source, count, shift, 1, 1)
            np.testing.assert_array_equal(to[:count], source[:count] + np.float32(shift))
            assert (to[count:] == 7).all()


def test_a_row_shifted_by_negative_zero_keeps_its_bits() -> None:
    source = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, 1, -1, 3], np.float32)
    to = np.empty_like(source)
    _shifted.f32(to, source, 9, -0.0, 1, 1)
    np.testing.assert_array_equal(to.view(np.int32), source.view(np.int32))


BRAIN = np.dtype(ml_dtypes.bfloat16)


@kernel
def _woven(
    to: f32s, low: u16s, high: u16s, count: i64, step: i64, both: i64, start: i64, stop: i64
) -> None:
    if step == 1:
        woven(to, low, high, count, both)
    else:
        woven_halved(to, low, high, count, both)


@kernel
def _rounded(to: u16s, source: f32s, count: i64, shift: f32, start: i64, stop: i64) -> None:
    rounded_sums(to, source, count, shift)


@kernel
def _copied_brains(to: u16s, source: u16s, count: i64, step: i64, start: i64, stop: i64) -> None:
    if step == 1:
        copied_brains(to, source, count)
    else:
        halved_brains(to, source, count)


def _words(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 16, count, np.uint16)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("step", [1, 2])
def test_rows_of_bfloat16_keep_all_bits(step: int, at_end: bool) -> None:
    for count in range(36):
        size = max(0, step * (count - 1) + 1)
        low, high = (copied(_words(size, seed), at_end) for seed in (0, 1))
        alone = guarded(count, np.uint16, at_end)
        _copied_brains.f32(alone, low, count, step, 1, 1)
        np.testing.assert_array_equal(alone, low[::step])
        for both in (0, -1):
            to = guarded(count, at_end=at_end)
            _woven.f32(to, low, high, count, step, both, 1, 1)
            expected = low[::step].astype(np.uint32) | (
                high[::step].astype(np.uint32) << 16 if both else 0
            )
            np.testing.assert_array_equal(to.view(np.uint32), expected)
            by_python = np.empty(count, np.float32)
            _woven.python(by_python, low, high, count, step, both, 0, 1)
            np.testing.assert_array_equal(by_python.view(np.uint32), expected)


def test_sums_are_rounded_to_bfloat16() -> None:
    source = np.random.default_rng(0).standard_normal(40).astype(np.float32)
    source[:6] = [np.nan, np.inf, -np.inf, 3.4e38, 1e-45, 1.00390625]
    for count in range(36):
        to = np.full(40, 7, np.uint16)
        _rounded.f32(to, source, count, 0.5, 1, 1)
        with np.errstate(over="ignore"):
            expected = (source[:count] + np.float32(0.5)).astype(BRAIN)
        got = to.view(BRAIN)[:count]
        np.testing.assert_array_equal(got.astype(float), expected.astype(float))
        assert (to[count:] == 7).all()
