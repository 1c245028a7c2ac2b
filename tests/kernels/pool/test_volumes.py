"""Pooling of channels-last images is pooling of the same images in C order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from wengert.kernels import pool
from wengert.kernels.geometry import Geometry

rng = np.random.default_rng(0)

WINDOWS = [  # kernel, stride, padding, dilation
    ((2, 2), (2, 2), (0, 0), (1, 1)),
    ((3, 3), (2, 1), (1, 1), (1, 1)),
    ((2, 3), (1, 2), (1, 0), (1, 1)),
    ((3, 1), (1, 1), (1, 0), (2, 1)),
    ((5, 4), (3, 4), (2, 2), (1, 1)),
]
SHAPES = [(2, 3, 9, 8), (1, 40, 7, 7), (3, 1, 6, 9), (2, 17, 12, 5)]


def _last(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("kernel", "stride", "padding", "dilation"), WINDOWS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_windows(
    shape: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any, dtype: str
) -> None:
    geometry = Geometry(stride, tuple([(p, p) for p in padding]), dilation)
    out = geometry.out_size(shape[2:], kernel)
    x = rng.integers(-3, 4, shape).astype(dtype)  # with many that are equal
    x[0, 0, 2, 3] = np.nan
    for found, right in zip(
        pool.max_pool(_last(x), kernel, out, geometry),
        pool.max_pool(x, kernel, out, geometry),
        strict=True,
    ):
        np.testing.assert_array_equal(found, right)
        assert found.transpose(0, 2, 3, 1).flags.c_contiguous
    positions = pool.max_positions(x, kernel, out, geometry)
    np.testing.assert_array_equal(pool.max_positions(_last(x), kernel, out, geometry), positions)
    g = rng.integers(-9, 9, positions.shape).astype(dtype)
    for index in (positions, _last(positions)):
        np.testing.assert_array_equal(
            pool.add_positions(_last(g), index, shape[2:]),
            pool.add_positions(g, positions, shape[2:]),
        )
    np.testing.assert_array_equal(
        pool.window_sum(_last(x), kernel, out, geometry), pool.window_sum(x, kernel, out, geometry)
    )
    np.testing.assert_array_equal(
        pool.window_spread(_last(g), kernel, shape[2:], geometry),
        pool.window_spread(g, kernel, shape[2:], geometry),
    )


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "lp_pool2d"])
def test_slices_of_images(name: str) -> None:
    """Which have gaps, so that they are copied."""
    whole = wengert.randn(2, 8, 12, 12).contiguous(memory_format=wengert.channels_last)
    x = whole[:, 1:6, 2:, 1:]
    pooled = getattr(wengert.nn.functional, name)
    options = {"norm_type": 2.0} if name == "lp_pool2d" else {}
    found = pooled(x, kernel_size=3, stride=2, **options)
    right = pooled(x.contiguous(), kernel_size=3, stride=2, **options)
    wengert.testing.assert_close(found.contiguous(), right)
