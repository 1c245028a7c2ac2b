"""One number everywhere."""

import numpy as np
import pytest

from wengert.kernels import filling, layout, spacing
from wengert.kernels.jit import available


@pytest.mark.parametrize(
    "dtype", [np.int16, np.float32, np.float64, np.int32, np.int64, np.complex64]
)
@pytest.mark.parametrize("size", [0, 1, 7, 20_001])
def test_all_elements_are_set_bit_by_bit(dtype, size):
    number = np.full(8, 0xA5, np.uint8).view(dtype)[:1].reshape(())  # a NaN's bits stay, too
    array = np.zeros(size + 2, dtype)
    done = filling.fill(array[1:-1], number)
    assert done == available()
    expected = np.zeros(size + 2, dtype)
    expected[1 : 1 + size * done] = number
    assert array.tobytes() == expected.tobytes()


def test_other_widths_and_gaps_are_refused():
    assert not filling.fill(np.zeros(20_000, np.int8), np.ones((), np.int8))
    assert not filling.fill(np.zeros((20_000, 2))[:, 0], np.ones(()))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.bool_, np.complex128])
@pytest.mark.parametrize("n", [3, 300])
def test_arrays_in_any_order_are_filled(dtype, n):
    array = np.zeros((n, 2 * n), dtype)
    layout.fill(array.T[::2], 1)
    assert (array[:, ::2] == 1).all()
    assert not array[:, 1::2].any()
    np.testing.assert_array_equal(layout.full((n, n), dtype, 1), np.ones((n, n), dtype))


@pytest.mark.skipif(not available(), reason="needs llvmlite")
@pytest.mark.parametrize("ends", [(0, 1), (-3.7, 1e6), (1e-3, -1e-3), (5, 5), (1e37, -9e37)])
@pytest.mark.parametrize("n", [2, 3, 1000, 1001, 40_000])
def test_spaced_numbers_are_those_of_numpy(ends, n):
    found = spacing.evenly(*ends, n, np.float32)
    expected = spacing.from_both_ends(*ends, n, np.float32, np.float64)
    np.testing.assert_array_equal(found, expected, strict=True)
