"""Scans of large arrays: compiled, by NumPy, and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import scan

SHAPES = [((4100,), 0), ((70, 80), 1), ((70, 80), 0), ((3, 60, 130), 1), ((4100, 1), 0)]
each_shape = pytest.mark.parametrize(("shape", "axis"), SHAPES)


def sample(shape: tuple[int, ...], dtype: Any = "f4", transposed: bool = False) -> np.ndarray:
    """Numbers around 1 with ties, zeros, a NaN and infinities."""
    rng = np.random.default_rng(0)
    x = 1 + np.round(rng.normal(size=shape), 1) / 100
    flat = x.reshape(-1)
    flat[rng.integers(0, x.size, 9)] = 0.0
    flat[rng.integers(x.size // 2, x.size, 3)] = np.nan, np.inf, -0.0
    x = x.astype(dtype)
    return np.asfortranarray(x) if transposed else x


def computed(x: np.ndarray, axis: int) -> list[np.ndarray]:
    factor = np.nan_to_num(x, posinf=1.0)
    with np.errstate(all="ignore"):
        return [
            *(scan.running(f, x, axis, back) for f in (np.add, np.multiply) for back in (0, 1)),
            *(scan.running_extreme_index(x, axis, largest) for largest in (True, False)),
            *(scan.recurrence(x, factor, axis, back) for back in (False, True)),
            scan.differences(x, axis),
        ]


@needs_llvmlite
@each_shape
@pytest.mark.parametrize(("dtype", "error"), [("f4", 2e-7), ("f2", 1e-3)])
def test_running_logsumexp_of_rows_and_columns(
    shape: tuple[int, ...], axis: int, dtype: str, error: float
) -> None:
    x = np.asfortranarray(sample(shape, dtype))
    with np.errstate(invalid="ignore"):
        exact = np.logaddexp.accumulate(x.astype("f8"), axis=axis)
    got = scan.running_logsumexp(x, axis)
    assert got.dtype == x.dtype
    np.testing.assert_allclose(got, exact, rtol=error)


@needs_llvmlite
@pytest.mark.parametrize("axis", [0, 1])
def test_running_logsumexp_is_as_accurate_as_its_terms(axis: int) -> None:
    x = np.random.default_rng(0).normal(size=(300, 260)) * 30
    x[0] = x[:, 0] = 0  # a sum near 1 has a logarithm near 0
    x[1] = x[:, 1] = -40
    exact = np.logaddexp.accumulate(x.astype(np.longdouble), axis=axis).astype(np.float64)
    np.testing.assert_allclose(scan.running_logsumexp(x, axis), exact, rtol=1e-14, atol=1e-16)
    x[5, 5], x[7, 7], x[9, 9] = -np.inf, np.inf, np.nan
    got = scan.running_logsumexp(x, axis)
    with np.errstate(all="ignore"):
        exact = np.logaddexp.accumulate(x, axis=axis)
    np.testing.assert_allclose(got, exact, rtol=1e-13, atol=1e-14)


def places(x: np.ndarray, axis: int) -> list[np.ndarray]:
    return [scan.running_extreme_index(x, axis, largest) for largest in (True, False)]


@each_shape
@pytest.mark.parametrize("dtype", ["i8", "i4", "u1", "?"])
def test_places_of_integers(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    if dtype == "i8":
        x.reshape(-1)[[3, 90]] = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    found = places(np.asfortranarray(x), axis)
    few = x[tuple([slice(-(-n // 20)) for n in shape])]
    with by_numpy(scan):
        np.testing.assert_array_equal(found, places(x, axis))
        expected = places(few, axis)
    with in_python((scan, "SOME")):
        np.testing.assert_array_equal(places(few, axis), expected)


@needs_llvmlite
@each_shape
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("dtype", "error"), [("f4", 2e-5), ("f8", 1e-12), ("f2", 2e-3)])
def test_kernels_and_numpy_agree(
    shape: tuple[int, ...], axis: int, transposed: bool, dtype: str, error: float
) -> None:
    x = sample(shape, dtype, transposed)
    found = computed(x, axis)
    with by_numpy():
        for ours, theirs in zip(found, computed(x, axis), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_allclose(ours, theirs, rtol=error, atol=error)


@each_shape
def test_kernels_stay_within_their_arrays(shape: tuple[int, ...], axis: int) -> None:
    x = sample(tuple(-(-n // 20) for n in shape), "f8")
    with by_numpy():
        expected = computed(x, axis)
    finite = np.nan_to_num(x, posinf=9.0)  # Python converts no NaN to an integer
    sums = np.logaddexp.accumulate(finite, axis=axis)
    with in_python((scan, "SOME")):
        for ours, theirs in zip(computed(x, axis), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
        np.testing.assert_allclose(scan.running_logsumexp(finite, axis), sums, rtol=1e-12)


@pytest.mark.torch
@each_shape
def test_scans_and_gradients_are_pytorchs(torch: Any, shape: tuple[int, ...], axis: int) -> None:
    x, g = sample(shape, "f8"), np.random.default_rng(1).normal(size=shape)
    found = []
    for lib in (wengert, torch):
        t = lib.tensor(x)
        results = [t.cumsum(axis), t.cumprod(axis), *t.cummax(axis), *t.cummin(axis)]
        t = t.nan_to_num(posinf=1.0).requires_grad_()
        for y in (t.cumsum(axis), t.cumprod(axis), t.logcumsumexp(axis), t.cummax(axis).values):
            results += lib.autograd.grad(y, t, lib.tensor(g))
        found.append([r.detach().numpy() for r in results])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
