"""`kept` against `np.where`: dtypes, broadcasting, strides, nan and infinity."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.kernels.masking import kept

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int64"])
@pytest.mark.parametrize("shape", [(), (5,), (40, 50), (3, 40, 50)])
@pytest.mark.parametrize("where", [True, False])
def test_equals_where(dtype: str, shape: tuple[int, ...], where: bool) -> None:
    array = np.asarray(RNG.normal(size=shape) * 100).astype(dtype)
    mask = np.asarray(RNG.normal(size=shape[-2:]) > 0)
    found = kept(array, mask, where)
    np.testing.assert_array_equal(found, np.where(mask == where, array, 0))
    assert found.dtype == array.dtype


def test_strides_do_not_matter() -> None:
    array, mask = RNG.normal(size=(60, 70)).T, (RNG.normal(size=(60, 70)) > 0).T
    np.testing.assert_array_equal(kept(array, mask, True), np.where(mask, array, 0))
    np.testing.assert_array_equal(kept(array[::2], mask[::2], True), np.where(mask, array, 0)[::2])


def test_nan_and_infinity_do_not_get_through() -> None:
    array = np.full(2000, np.nan, np.float32)
    array[::2] = np.inf
    found = kept(array, np.zeros(2000, bool), True)
    assert not found.any()
    assert not np.signbit(found).any()


def test_nan_stays_where_it_is_kept() -> None:
    assert np.isnan(kept(np.full(2000, np.nan), np.ones(2000, bool), True)).all()
