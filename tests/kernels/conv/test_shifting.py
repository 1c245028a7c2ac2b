"""Short rows that are copied plus a number."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.guarded import copied, guarded
from wengert.kernels.conv.shifting import halved, shifted
from wengert.kernels.jit import available, kernel
from wengert.kernels.jit.builtins import f32, f32s, i64

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
