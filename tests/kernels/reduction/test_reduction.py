"""Reductions by compiled kernels: against float64, NumPy's path, and torch."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.kernels.guarded import copied
from tests.kernels.threads import same_for_all_threads
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import jit, reduction
from wengert.kernels.shapes import unbroadcast

pytestmark = needs_llvmlite

# Shapes and the axes to reduce.
CASES: list[tuple[tuple[int, ...], Any]] = [
    ((40_000,), None), ((70_001,), None), ((200, 300), None), ((33, 1, 1100), (0, 2)),
    *(((1 + 40_000 // n, n), 1) for n in (1, 2, 7, 8, 9, 31, 33, 1000, 1023, 2500)),
    *(((1 + 40_000 // n, n), 0) for n in (1, 2, 7, 8, 9, 31, 33, 1000, 1023, 5000)),
    ((3, 70_000), 1), ((3, 70_000), 0), ((1, 40_000), 0), ((70_000, 3), 0),
    ((9, 70, 66), 1), ((2, 33, 1030), 1), ((5, 9000, 3), 1), ((20, 33, 9, 9), (0, 2, 3)),
    ((20, 33, 9, 9), (2, 3)), ((20, 33, 9, 9), (0, 1)), ((20, 33, 9, 9), (-1, 1)),
    ((20, 33, 81), (0, 1, 2)), ((2, 1, 40_000), 1),
]  # fmt: skip


def sample(shape: tuple[int, ...], offset: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    return (rng.standard_normal(shape) + offset).astype(np.float32)


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """The same values as they may lie in memory."""
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1) if x.ndim > 1 else x
    return [x, np.asfortranarray(x), last, np.repeat(x, 2, axis=0)[::2]]


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_sums_and_means(shape: tuple[int, ...], dim: Any, keepdim: bool) -> None:
    x = sample(shape)
    exact = x.sum(dim, np.float64, keepdims=keepdim)
    scale = np.abs(x).sum(dim, np.float64, keepdims=keepdim)
    gaps = 1e-4 if dim == (0, 1) else 4e-7  # rows in groups are left to NumPy
    for y, error in zip(layouts(x), (4e-7, 4e-7, 4e-7, gaps), strict=True):
        got = reduction.total(y, dim, keepdim)
        assert got.dtype == np.float32
        assert got.shape == exact.shape
        if shape[2:] == (3,) or dim == (-1, 1):
            error = 1e-4  # no kernel is for them
        assert (np.abs(got - exact) <= error * scale).all()
    wide = reduction.total(x.astype(np.float64), dim, keepdim)
    np.testing.assert_allclose(wide, exact, rtol=1e-12, atol=1e-9)
    mean = reduction.average(x, dim, keepdim)
    np.testing.assert_allclose(
        mean, x.mean(dim, np.float64, keepdims=keepdim), rtol=2e-6, atol=1e-6
    )


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_variances(shape: tuple[int, ...], dim: Any, offset: float) -> None:
    x = sample(shape, offset)
    exact = x.astype(np.float64).var(dim)
    got = reduction.variance(x, dim, 0.0)
    assert got.shape == exact.shape
    np.testing.assert_allclose(got, exact, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("shape", "dim"), [c for c in CASES if isinstance(c[1], int)], ids=str)
def test_extremes(shape: tuple[int, ...], dim: int, largest: bool) -> None:
    x = sample(shape).round(1)  # with ties
    x.reshape(-1)[77::991] = np.nan
    x.reshape(-1)[78::1991] = np.inf if largest else -np.inf
    axis = dim % x.ndim
    for y in layouts(x):
        for keepdim in (False, True):
            got = reduction.extreme(y, (axis,), keepdim, largest)
            places = reduction.extreme_index(y, axis, keepdim, largest)
            with by_numpy():
                np.testing.assert_array_equal(got, reduction.extreme(y, (axis,), keepdim, largest))
                np.testing.assert_array_equal(
                    places, reduction.extreme_index(y, axis, keepdim, largest)
                )


@pytest.mark.torch
def test_not_a_number_and_infinities_are_those_of_torch(torch: Any) -> None:
    x = sample((600, 90))
    for r, values in enumerate([[np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [3e38, 3e38],
                                [np.nan, np.inf]]):  # fmt: skip
        x[r, 5 : 5 + len(values)] = values
    t = torch.from_numpy(x)
    with np.errstate(all="ignore"):
        for dim in (None, 0, 1):
            found = [reduction.total(x, dim), reduction.variance(x, dim, 1.0)]
            for a, b in zip(found, [t.sum(dim), t.var(dim)], strict=True):
                np.testing.assert_allclose(a, b.numpy(), rtol=1e-5)
    np.testing.assert_array_equal(reduction.extreme_index(x, 1, False, True), t.argmax(1).numpy())
    np.testing.assert_array_equal(reduction.extreme_index(x, 1, False, False), t.argmin(1).numpy())
    np.testing.assert_array_equal(reduction.extreme(x, (1,), False, True), t.amax(1).numpy())


@pytest.mark.parametrize("shape", [(), (1, 65, 1), (65, 1), (33, 1, 70), (70,), (1, 1, 1)], ids=str)
def test_undoing_a_broadcast(shape: tuple[int, ...]) -> None:
    g = sample((33, 65, 70))
    if g.shape[-len(shape) :] != shape and shape == (65, 1):
        wanted = g.sum((0, 2), np.float64).reshape(65, 1)
    else:
        full = (1,) * (3 - len(shape)) + shape
        axes = tuple(a for a in range(3) if full[a] == 1)
        wanted = g.sum(axes, np.float64).reshape(shape)
    np.testing.assert_allclose(unbroadcast(g, shape), wanted, rtol=1e-6, atol=1e-4)


def test_results_do_not_depend_on_the_threads() -> None:
    arrays = [(sample(s), d) for s, d in CASES]
    before = jit.get_threads()
    try:
        found = []
        for threads in (1, 3):
            jit.set_threads(threads)
            found.append([reduction.total(x, d) for x, d in arrays])
    finally:
        jit.set_threads(before)
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


SMALL = [((130,), None), ((9, 7), 1), ((70, 3), 0), ((2, 66, 9), 1), ((3, 2, 5), (0, 2))]


@pytest.mark.parametrize(("shape", "dim"), SMALL, ids=str)
def test_stays_within_its_arrays(shape: tuple[int, ...], dim: Any) -> None:
    x = sample(shape)
    with in_python((reduction, "_LONG"), (reduction, "LARGE")):
        total, variance = reduction.total(x, dim), reduction.variance(x, dim, 0.0)
        if isinstance(dim, int):
            place = reduction.extreme_index(x, dim, False, True)
            np.testing.assert_array_equal(place, x.argmax(dim))
            np.testing.assert_array_equal(reduction.extreme(x, (dim,), False, False), x.min(dim))
    np.testing.assert_allclose(total, x.sum(dim, np.float64), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(variance, x.astype("d").var(dim), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dim"), CASES, ids=str)
def test_norms_and_products(shape: tuple[int, ...], dim: Any, keepdim: bool) -> None:
    x = sample(shape)
    near = 1 + (x - 1) / 1000
    wide = x.astype(np.float64)
    exact = np.sqrt((wide * wide).sum(dim, keepdims=keepdim))
    product = near.prod(dim, np.float64, keepdims=keepdim)
    for y, z in zip(layouts(x), layouts(near), strict=True):
        np.testing.assert_allclose(reduction.p_norm(y, 2, dim, keepdim), exact, rtol=2e-6)
        got = reduction.product(z, dim, keepdim)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, product, rtol=1e-3 if dim == (0, 1) else 2e-4)
    np.testing.assert_allclose(reduction.p_norm(wide, 2, dim, keepdim), exact, rtol=1e-12)


def test_products_of_rows_are_rounded_once() -> None:
    x = sample((60, 1000)) / 1.7
    with np.errstate(all="ignore"):
        exact = x.prod(1, np.float64).astype(np.float32)
    np.testing.assert_allclose(reduction.product(x, 1), exact, rtol=1e-6)
    x[:, 7] = 0.0
    assert not reduction.product(x, 1).any()


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_sums_of_what_is_known(dim: int | None) -> None:
    x = sample((300, 200))
    np.testing.assert_array_equal(reduction.total_of_known(x, dim), reduction.total(x, dim))
    x[[3, 70, 70], [5, 9, 11]] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = np.nansum(x.astype(np.float64), axis=dim)
        np.testing.assert_allclose(reduction.total_of_known(x, dim), expected, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "digits"), [(np.float16, 11), (ml_dtypes.bfloat16, 8)])
def test_sums_of_halves_are_rounded_once(dtype: Any, digits: int) -> None:
    rng = np.random.default_rng(0)
    for shape, axes in [((117, 257), None), ((117, 257), 1), ((117, 257), 0), ((3, 5, 700), (1, 2)),
                        ((100_001,), None), ((3, 40_000), 1), ((257, 1), 1),
                        ((32, 16, 8, 9), (0, 2, 3)), ((2, 9, 700), (0, 2))]:  # fmt: skip
        x = rng.uniform(-1, 1, shape).astype(dtype)
        for keepdim in (False, True):
            found = reduction.total(x, axes, keepdim)
            exact = x.astype(np.float64).sum(axis=axes, keepdims=keepdim)
            size = np.abs(x.astype(np.float64)).sum(axis=axes, keepdims=keepdim)
            assert found.dtype == x.dtype
            assert np.shape(found) == exact.shape
            rounded = np.abs(exact) * 2.0**-digits
            assert (np.abs(found.astype(np.float64) - exact) <= rounded + size * 1e-6).all()


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("axes", [None, (0,), (1,), (2,), (0, 2), (0, 1), (1, 2)])
def test_sums_of_what_repeats_its_elements(axes: Any, keepdim: bool) -> None:
    x = sample((50, 1, 30))
    for y in (
        np.broadcast_to(x, (50, 40, 30)),
        np.broadcast_to(x[:, :, :1], (50, 40, 30)),
        np.broadcast_to(x[:1], (50, 40, 30)),
        np.broadcast_to(x[0, 0, 0], (50, 40, 30)),
        np.broadcast_to(x.T, (30, 40, 50)),
    ):
        got = reduction.total(y, axes, keepdim)
        exact = y.sum(axes, np.float64, keepdims=keepdim)
        np.testing.assert_allclose(got, exact, rtol=2e-6, atol=1e-3)
        assert got.shape == exact.shape
        assert got.dtype == np.float32
        assert np.ndim(got) == 0 or got.flags.writeable


@pytest.mark.parametrize("axes", [None, (1,), (2,), (0,), (0, 1), (1, 2), (0, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_arrays_with_gaps(axes: Any, dtype: Any) -> None:
    x = copied(sample((40, 50, 60)).astype(dtype), at_end=True)
    heads = copied(sample((40, 50, 3, 4, 8)).astype(dtype), at_end=True)[:, :, 2].swapaxes(1, 2)
    for y in (x[:, :, 3:], x[:, 7:], x[1::2, ::2], x[3:, 2:, 1:].T, x[:, :, ::2], x[::-1], heads):
        got = same_for_all_threads(lambda y=y: reduction.total(y, axes))
        exact = y.sum(axes, np.float64)
        assert got.shape == exact.shape
        scale = np.abs(y).sum(axes, np.float64)
        error = 1e-5 if dtype == np.float32 else 1e-13  # of NumPy's sums of columns
        assert (np.abs(got - exact) <= error * scale).all()


@needs_llvmlite
@pytest.mark.parametrize("largest", [False, True])
def test_extremes_of_columns_stay_within_their_arrays(largest: bool) -> None:
    x = sample((3, 4, 9)).round()
    x[0, 1, 2] = x[2, :, 5] = np.nan
    x[1, :, 3] = -np.inf
    with by_numpy():
        most = reduction.extreme(x, (1,), True, largest)
        places = reduction.extreme_index(x, 1, True, largest)
    with in_python((reduction, "LARGE")):
        np.testing.assert_array_equal(reduction.extreme(x, (1,), True, largest), most)
        np.testing.assert_array_equal(reduction.extreme_index(x, 1, True, largest), places)
