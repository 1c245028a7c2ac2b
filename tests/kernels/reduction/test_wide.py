"""Sums of float32 in float64."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.kernels.jit import available
from wengert.kernels.reduction.wide import wide_total


@pytest.mark.skipif(not available(), reason="there are no kernels without llvmlite")
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((70_001,), None), ((70, 50), None), ((65, 33), (1,)), ((65, 33), (0,)),
        ((3, 1100), (0,)), ((2, 3, 1100), (1,)), ((9, 20, 31), (0, 2)), ((9, 1, 300), (0,)),
        ((2, 2500), (0,)),
    ],
)  # fmt: skip
def test_sums_are_exact_to_float64(shape: tuple[int, ...], axes: tuple[int, ...] | None) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    x[..., 0] += 1e6  # float32 would lose six digits of the others
    out = wide_total(x, axes)
    expected = x.sum(axis=axes, dtype=np.float64)
    assert out is not None
    assert out.dtype == np.float64
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-7)


@pytest.mark.parametrize(
    ("x", "axes"),
    [
        (np.ones((4, 4), np.float32), None),
        (np.ones((80, 90), np.float32).T, None),
        (np.ones((8, 8, 8, 8), np.float32), (0, 2)),
        (np.ones((0, 5), np.float32), (0,)),
    ],
)
def test_other_arrays_are_left_to_numpy(x: np.ndarray, axes: tuple[int, ...] | None) -> None:
    assert wide_total(x, axes) is None
