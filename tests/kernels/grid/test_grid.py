"""Sampling along grids: what kernels compute is what NumPy and sparse matrices do."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import grid

SIZES = [(9, 7), (1, 6), (5, 6, 4)]
OPTIONS = [
    grid.Sampling(size, mode, padding, align)
    for size, mode, padding, align in product(
        SIZES, grid._TAPS, ("zeros", "border", "reflection"), (False, True)
    )
    if mode != "bicubic" or len(size) == 2
]
each_way = pytest.mark.parametrize("how", OPTIONS, ids=str)


def coordinates(how: grid.Sampling, count: int, dtype: Any = "f8") -> np.ndarray:
    """Points inside and far outside, on elements and between them, and one that is none."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-4, 4, (2, count, len(how.size)))
    points[0, : count // 2] = rng.integers(-4, 5, (count // 2, len(how.size))) / 2
    points[1, 3, 0] = np.nan
    return points.astype(dtype)


def taps(points: np.ndarray, how: grid.Sampling) -> list[np.ndarray]:
    axes = len(how.size)
    orders = [(0,) * axes, (1,) + (0,) * (axes - 1), (0,) * (axes - 1) + (2,)]
    found = [grid.weights(points, how, o) for o in orders[: 2 if how.mode == "bicubic" else 3]]
    return [grid.positions(points, how), *found]


@needs_llvmlite
@each_way
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_taps_are_those_of_numpy(how: grid.Sampling, dtype: str) -> None:
    points = coordinates(how, 100, dtype)
    found = taps(points, how)
    with by_numpy(), np.errstate(invalid="ignore"):
        for ours, theirs in zip(found, taps(points, how), strict=True):
            assert ours.dtype == theirs.dtype
            error = 1e-5 if dtype == "f4" else 1e-12
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


@each_way
def test_kernels_stay_within_their_arrays(how: grid.Sampling) -> None:
    points = coordinates(how, 8)
    with by_numpy(), np.errstate(invalid="ignore"):
        expected = taps(points, how)
    with in_python((grid, "_FEW")):
        for ours, theirs in zip(taps(points, how), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("python", [False, pytest.param(True, marks=needs_llvmlite)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_are_those_of_sparse_matrices(python: bool, dtype: str) -> None:
    rng = np.random.default_rng(0)
    points = 20 if python else 300
    x, g = rng.normal(size=(2, 3, 40)).astype(dtype), rng.normal(size=(2, 3, points)).astype(dtype)
    index = rng.integers(0, 41, (2, points, 4))
    weight = rng.normal(size=index.shape).astype(dtype)

    def computed() -> list[np.ndarray]:
        return [
            grid.sample(x, index, weight),
            grid.spread(g, index, weight, 40),
            grid.responses(g, x, index),
        ]

    if python:
        with in_python((grid, "FEW")):
            found = computed()
    else:
        found = computed()
    with by_numpy():
        for ours, theirs in zip(found, computed(), strict=True):
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def sampling(how: grid.Sampling, count: int, channels: int, dtype: Any = "f8") -> list[np.ndarray]:
    """Samples and both gradients."""
    rng = np.random.default_rng(1)
    points = coordinates(how, count, dtype)
    x, g = (rng.normal(size=(2, channels, *shape)).astype(dtype) for shape in (how.size, (count,)))
    return [
        grid.sampled(x, points, how),
        grid.input_gradient(g, points, how, x.shape),
        grid.points_gradient(g, x, points, how),
    ]


@needs_llvmlite
@each_way
@pytest.mark.parametrize(("dtype", "error"), [("f4", 1e-4), ("f8", 1e-12)])
def test_fused_kernels_compute_what_taps_do(how: grid.Sampling, dtype: str, error: float) -> None:
    found = sampling(how, 100, 5, dtype)
    with by_numpy(), np.errstate(invalid="ignore"):
        for ours, theirs in zip(found, sampling(how, 100, 5, dtype), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


@each_way
def test_fused_kernels_stay_within_their_arrays(how: grid.Sampling) -> None:
    with by_numpy(), np.errstate(invalid="ignore"):
        expected = sampling(how, 6, 5)
    with in_python((grid, "FEW")):
        for ours, theirs in zip(sampling(how, 6, 5), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
