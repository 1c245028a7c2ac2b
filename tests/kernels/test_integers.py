"""Integer arithmetic gives what NumPy gives, and traps nowhere."""

from functools import cache

import numpy as np
import pytest

from tests.kernels.variants import in_python
from wengert.kernels import filling, integers, masks
from wengert.kernels.jit import CHUNK

LEAST, MOST = -(2**63), 2**63 - 1
EXTREMES = np.array(
    [LEAST, LEAST + 1, MOST, -1, 0, 1, 2, -3, 6, 7, 2**50 - 1, -(2**50), 2**51, 2**53 + 1, 2**62]
)


@cache
def cases():
    """Pairs of arrays, larger than what kernels begin with."""
    generator = np.random.default_rng(0)
    n, found = 2 * CHUNK + 5, []
    pairs = np.stack(np.meshgrid(EXTREMES, EXTREMES)).reshape(2, -1)
    found.append(np.tile(pairs, n // pairs.shape[1] + 1))
    found += [generator.integers(-b, b, (2, n)) for b in (9, 2**24, 2**31, 2**50, MOST)]
    factors, divisors = generator.integers(1, 2**25, (2, n))
    # Quotients that are close to the next integer.
    return found + [np.stack([factors * divisors + off, divisors]) for off in (-1, 0, 1)]


@pytest.mark.parametrize("ufunc", integers._BOTH)
def test_of_two_arrays(ufunc):
    for x, y in cases():
        found = integers.computed(ufunc, x, y)
        np.testing.assert_array_equal(found, ufunc(x, y), strict=True)


@pytest.mark.parametrize("ufunc", integers._DIVIDING)
def test_quotients_and_remainders(ufunc):
    for x, y in cases():
        divisors = np.where(y == 0, -1, y)
        with np.errstate(all="ignore"):
            expected = ufunc(x, divisors)
        found = integers.divided(ufunc, x, divisors)
        np.testing.assert_array_equal(found, expected, strict=True)
        divisors[len(y) // 2] = 0
        assert integers.divided(ufunc, x, divisors) is None


@pytest.mark.parametrize("below", [9, 2**55])
def test_kernels_stay_within_their_arrays(below):
    x, y = np.random.default_rng(0).integers(-below, below, (2, 9, 5))
    y[y == 0] = -1
    with in_python((integers, "LARGE"), (integers, "SOME"), (integers, "_FEWER")):
        for ufunc in integers._DIVIDING:
            found = integers.divided(ufunc, x, y)
            np.testing.assert_array_equal(found, ufunc(x, y), strict=True)
        for ufunc in integers._BOTH:
            kernel, _, chunk = integers._BOTH[ufunc]
            out = np.empty_like(x)
            kernel.f32(x % 99, y % 99, out, x.size, chunk)
            np.testing.assert_array_equal(out, ufunc(x % 99, y % 99))


def test_other_arrays_are_left_to_numpy():
    x, y = np.arange(1, 70_001).reshape(-1, 2), np.arange(2, 70_002).reshape(-1, 2)
    for a, b in ((x[:, 0], y[:, 0]), (x, y[:1]), (x.astype(np.int32), y.astype(np.int32))):
        np.testing.assert_array_equal(integers.computed(np.gcd, a, b), np.gcd(a, b), strict=True)
        found = integers.divided(np.floor_divide, a, b)
        np.testing.assert_array_equal(found, a // b, strict=True)


def test_integers_in_steps():
    for first, last, step in ((0, 40_000, 1), (-7, 300_001, 7), (2**61, 2**61 + 99_999, 3)):
        found = filling.counted(first, last, step)
        np.testing.assert_array_equal(found, np.arange(first, last, step), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_what_is_not_zero(dtype):
    array = np.resize(np.array([0.0, -0.0, 1e-45, np.inf, -1, 2], dtype=np.float32), (4, 9000))
    with np.errstate(invalid="ignore"):
        array = array.astype(dtype)
    np.testing.assert_array_equal(masks.nonzero(array), array != 0, strict=True)
    if dtype is not np.int64:
        assert masks.nonzero(np.full(40_000, np.nan, dtype)).all()
