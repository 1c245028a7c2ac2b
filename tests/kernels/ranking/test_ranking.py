"""Sorting, choosing, and distinct elements of large arrays: compiled, by NumPy, and PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python, needs_llvmlite
from wengert.kernels import distinct, ranking, selection

SHAPES = [((5000,), 0), ((20, 300), 1), ((300, 20), 0), ((3, 300, 7), 1)]
each_shape = pytest.mark.parametrize(("shape", "axis"), SHAPES)
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "bool"]


def sample(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers with ties and all signs, and for floats what is hard to sort."""
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=shape) * 40) / 2
    flat = x.reshape(-1)
    if "float" in dtype:
        for value in (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40):
            flat[rng.integers(0, x.size, x.size // 50)] = value
        flat[7] = -np.nan
    return np.abs(x) if dtype == "uint8" else x


@needs_llvmlite
@each_shape
@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("back", [False, True])
def test_kernels_and_numpy_agree(shape: tuple[int, ...], axis: int, dtype: str, back: bool) -> None:
    x = sample(shape, np.dtype(dtype).name).astype(dtype)
    found = ranking.order(x, axis, back), ranking.top(x, 5, axis, back)
    with by_numpy(ranking):
        np.testing.assert_array_equal(found[0], ranking.order(x, axis, back))
        expected = np.take_along_axis(x, ranking.top(x, 5, axis, back), axis)
    np.testing.assert_array_equal(np.take_along_axis(x, found[1], axis), expected)
    first = np.take(found[0], range(5), axis)  # of equal ones the first are the best
    np.testing.assert_array_equal(found[1], first)


@needs_llvmlite
@pytest.mark.parametrize("span", [1, 200, 70_000, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 62])
def test_integers_of_any_range(span: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(-span // 2, span - span // 2, 5000)
    x[:2] = -span // 2, span - span // 2
    for back in (False, True):
        expected = np.argsort(-x if back else x, kind="stable")
        np.testing.assert_array_equal(ranking.order(x, 0, back), expected)


@each_shape
def test_kernels_stay_within_their_arrays(shape: tuple[int, ...], axis: int) -> None:
    x = sample(tuple(-(-n // 9) for n in shape), "float32").astype("f4")
    expected = ranking.order(x, axis), ranking.order(x, axis)
    with in_python((ranking, "SOME"), (ranking, "_FEW")):
        np.testing.assert_array_equal(ranking.order(x, axis), expected[0])
        best = np.take(expected[1], [0], axis)
        np.testing.assert_array_equal(ranking.top(x, 1, axis, False), best)


@pytest.mark.parametrize("low", [-(2**63), -7, 2**63 - 2**32])
@pytest.mark.parametrize("range", [5, 70_000, 2**32])
def test_integers_close_to_each_other(low: int, range: int) -> None:
    x = np.random.default_rng(0).integers(0, range, (3, 9000)) + low
    x[:, :2] = low, low + range - 1
    found = ranking.order(x, 1)
    np.testing.assert_array_equal(found, np.argsort(x, 1, kind="stable"))
    with in_python((ranking, "_FEW")):
        found = ranking.order(x[:, :50], 1)
    np.testing.assert_array_equal(found, np.argsort(x[:, :50], 1, kind="stable"))


@pytest.mark.parametrize("far", [0, 2**62])
@pytest.mark.parametrize("inverse", [False, True])
def test_distinct_integers(far: int, inverse: bool) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (30, 40))
    x[0, 0] -= far
    found = distinct.elements(x, inverse, True)
    values, went, counts = np.unique(x, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(found.values, values, strict=True)
    np.testing.assert_array_equal(found.counts, counts)
    assert (found.inverse is not None) == inverse
    if found.inverse is not None:
        np.testing.assert_array_equal(found.inverse, went.reshape(x.shape))


@pytest.mark.torch
@each_shape
@pytest.mark.parametrize("dtype", DTYPES)
def test_large_arrays_are_sorted_as_in_pytorch(
    torch: Any, shape: tuple[int, ...], axis: int, dtype: str
) -> None:
    found = []
    for lib in (wengert, torch):
        x = lib.tensor(sample(shape, dtype), dtype=lib.float32).to(getattr(lib, dtype))
        results = []
        for back in (False, True):
            results += lib.sort(x, dim=axis, descending=back, stable=True)
            if dtype != "bool":
                results += [lib.topk(x, k, axis, back).values for k in (1, 7, 20)]
        x = x.nan_to_num() if "float" in dtype else x
        results += lib.unique(x, return_inverse=True, return_counts=True)
        results += [lib.unique(x), lib.unique_consecutive(x)]
        results += lib.unique(x, return_inverse=True, return_counts=True, dim=axis)
        found.append([r.to(lib.float64).numpy() for r in results])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@needs_llvmlite
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 60), 1), ((60, 5), 0), ((2, 9, 30), 1)])
def test_the_most_frequent(dtype: str, shape: tuple[int, ...], axis: int) -> None:
    """Against counting, row by row."""
    x = sample(shape, np.dtype(dtype).name)
    x = np.where(np.isfinite(x), x, x if "f" in dtype else 0)
    x = np.clip(x, -2, 2).astype(dtype)  # nan stays
    found = [selection.mode_index(x, axis)]
    with in_python((ranking, "SOME")):
        found.append(selection.mode_index(x, axis))
    with by_numpy(ranking):
        found.append(selection.mode_index(x, axis))
    rows = np.moveaxis(x, axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        row = rows[place]
        values, counts = np.unique(row, return_counts=True, equal_nan=False)
        last = np.flatnonzero(row == values[counts.argmax()])[-1]
        for index in found:
            assert np.moveaxis(index, axis, -1)[place] == [last]


@needs_llvmlite
def test_no_number_is_frequent() -> None:
    x = np.full((2, 200), np.nan, np.float32)
    x[0, 3] = 1
    np.testing.assert_array_equal(selection.mode_index(x, 1)[:1], [[3]])
    with by_numpy(ranking):
        expected = selection.mode_index(x, 1)
    np.testing.assert_array_equal(selection.mode_index(x, 1), expected)


@each_shape
def test_kernels_of_doubles_stay_within_their_arrays(shape: tuple[int, ...], axis: int) -> None:
    x = sample(tuple(-(-n // 9) for n in shape), "float32").astype("f8")
    with in_python((ranking, "SOME")):
        found = ranking.top(x, 2, axis, False)
    np.testing.assert_array_equal(found, ranking.top(x, 2, axis, False))


@needs_llvmlite
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 1000])
def test_insertions_are_those_of_numpy(dtype: str, n: int) -> None:
    rng = np.random.default_rng(0)
    edges = np.sort(np.round(rng.normal(size=n) * 9)).astype(dtype)
    edges[-1 - n // 10 :] = np.nan
    edges[: n // 10] = -np.inf
    values = (np.round(rng.normal(size=1000) * 20) / 2).astype(dtype)
    values[:3] = np.nan, np.inf, -np.inf
    for right in (False, True):
        expected = np.searchsorted(edges, values, "right" if right else "left")
        np.testing.assert_array_equal(ranking.insertions(edges, values, right), expected)
        rows, queries = np.stack([edges, edges + 1]), values.reshape(2, 500)
        with by_numpy():
            expected = ranking.insertions(rows, queries, right)
        np.testing.assert_array_equal(ranking.insertions(rows, queries, right), expected)


def test_insertions_stay_within_their_arrays() -> None:
    rng = np.random.default_rng(0)
    for n, width in ((1, 1), (5, 3), (8, 70)):
        edges, values = np.sort(rng.normal(size=(2, n))), rng.normal(size=(2, width))
        with by_numpy():
            expected = ranking.insertions(edges, values, False)
        with in_python((ranking, "SOME")):
            np.testing.assert_array_equal(ranking.insertions(edges, values, False), expected)


@needs_llvmlite
@each_shape
@pytest.mark.parametrize("dtype", ["f4", "i4", "f2"])
@pytest.mark.parametrize("k", [17, 20, 75])
def test_many_of_the_best(shape: tuple[int, ...], axis: int, dtype: str, k: int) -> None:
    x = sample(shape, np.dtype(dtype).name).astype(dtype)
    k = min(k, shape[axis])
    for largest in (False, True):
        ranked = np.take(ranking.order(x, axis, largest), range(k), axis)
        np.testing.assert_array_equal(ranking.top(x, k, axis, largest), ranked)


def test_many_of_the_best_stay_within_their_arrays() -> None:
    keys = np.array([[3, -5, 3, 2147483647, -2147483648, 3, 0, 3]], np.int32)
    with in_python((ranking, "MANY")):
        assert ranking._best(keys, 5).tolist() == [[3, 0, 2, 5, 7]]
        assert ranking._best(keys, 8).tolist() == [[3, 0, 2, 5, 7, 6, 1, 4]]
        assert ranking._best(keys[:, :2], 2).tolist() == [[0, 1]]


@pytest.mark.parametrize("shape", [(9, 11), (70, 90)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?"])
@pytest.mark.parametrize("axis", [0, 1])
def test_elements_by_rank(shape: tuple[int, ...], dtype: str, axis: int) -> None:
    x = sample(shape, np.dtype(dtype).name).astype(dtype)
    ranked = np.sort(x, axis)
    for k in (0, shape[axis] // 3, shape[axis] - 1):
        place = ranking.kth(x, k, axis)
        found = np.take_along_axis(x, place, axis)
        np.testing.assert_array_equal(found, np.take(ranked, [k], axis))
        stable = np.argsort(x, axis, kind="stable")
        np.testing.assert_array_equal(place, np.take(stable, [k], axis))
    if x.dtype.kind == "f":
        with np.errstate(all="ignore"):
            expected = np.nanquantile(x, 0.5, axis, method="lower", keepdims=True)
        place = selection.median_index(x, axis, ignore_nan=True)
        np.testing.assert_array_equal(np.take_along_axis(x, place, axis), expected)
        x[2] = np.nan
        place = selection.median_index(x, axis, ignore_nan=False)
        lower = np.sort(x, axis).take([(shape[axis] - 1) // 2], axis)
        lower[np.isnan(x).any(axis, keepdims=True)] = np.nan
        np.testing.assert_array_equal(np.take_along_axis(x, place, axis), lower)
