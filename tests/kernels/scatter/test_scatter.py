"""Taking and adding at indices gives what NumPy does, compiled or not."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert
from tests.kernels.variants import by_numpy, in_python
from wengert.kernels import scatter, selection
from wengert.kernels.jit import available, get_threads, set_threads
from wengert.kernels.scatter import native
from wengert.nn import functional as F
from wengert.ops import subscript

SHAPES = [
    ((50, 37), 0),
    ((50, 130), 0),
    ((5, 50, 7), 1),
    ((5000,), 0),
    ((3, 4, 500), 2),
    ((1, 9, 40), 1),
    ((1, 1), 0),
]
each_shape = pytest.mark.parametrize(("shape", "axis"), SHAPES)
needs_kernels = pytest.mark.skipif(not available(), reason="no llvmlite")


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Any:
    before = get_threads()
    set_threads(request.param)
    yield
    set_threads(before)


def made(shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype("f4")
    return rng, x, rng.integers(0, shape[axis], index_shape)


@needs_kernels
@each_shape
@pytest.mark.parametrize("index_shape", [(300,), (1,), (20, 31)])
def test_slices(
    shape: tuple[int, ...], axis: int, index_shape: tuple[int, ...], threads: Any
) -> None:
    rng, x, index = made(shape, axis, index_shape)
    found = native.take_slices(x, index, axis)
    assert found is not None
    np.testing.assert_array_equal(found, x.take(index, axis))
    g = rng.normal(size=found.shape).astype("f4")
    for left_out in (-1, 0):
        out, wanted = np.zeros(shape, "f4"), np.zeros(shape)
        assert native.add_slices(out, index, g, axis, left_out)
        np.add.at(wanted, (*(slice(None),) * axis, index), g)
        if left_out == 0:
            wanted[(*(slice(None),) * axis, 0)] = 0
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@needs_kernels
@each_shape
@pytest.mark.parametrize("length", [1, 77])
def test_elements(shape: tuple[int, ...], axis: int, length: int, threads: Any) -> None:
    rng, x, index = made(shape, axis, (*shape[:axis], length, *shape[axis + 1 :]))
    found = native.take_elements(x, index, axis)
    assert found is not None
    np.testing.assert_array_equal(found, np.take_along_axis(x, index, axis))
    g = rng.normal(size=index.shape).astype("f4")
    out, wanted = np.zeros(shape, "f4"), np.zeros(shape)
    assert native.add_elements(out, index, g, axis)
    np.add.at(wanted, scatter.along(index, axis), g)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


@needs_kernels
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "i4", "c8"])
@each_shape
def test_elements_of_any_kind_are_moved(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    rng, x, index = made(shape, axis, (*shape[:axis], 40, *shape[axis + 1 :]))
    bits = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    x = bits.view(dtype)[..., 0]  # not all of them are numbers
    found = native.take_elements(x, index, axis)
    assert found is not None
    np.testing.assert_array_equal(found.view("u1"), np.take_along_axis(x, index, axis).view("u1"))
    out, wanted = np.zeros(shape, dtype), np.zeros(shape, dtype)
    assert native.put_elements(out, index, found, axis)
    for k in range(40):  # what is written last stays
        at = np.take(index, [k], axis)
        np.put_along_axis(wanted, at, np.take(found, [k], axis), axis)
    np.testing.assert_array_equal(out.view("u1"), wanted.view("u1"))


@pytest.mark.parametrize("size", [30, 3000])
def test_combining_along_an_axis(size: int) -> None:
    """In vectors of NumPy's, and for each dtype."""
    rng = np.random.default_rng(0)
    for dtype in ("f4", "f8", "i8", "?", "c16"):
        values = rng.integers(0, 3, (4, size)).astype(dtype)
        index = rng.integers(0, 9, (4, size))
        for ufunc in (np.add, np.maximum, np.multiply):
            out = np.ones((4, 9), dtype)
            wanted = out.copy()
            ufunc.at(wanted, scatter.along(index, 1), values)
            scatter.combine_along(ufunc, out, index, 1, values)
            np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    "key",
    [
        (np.array([1, -1, 1]),),
        (slice(None), np.array([[0, 2], [2, -3]])),
        (np.array([[0], [1]]), np.array([1, 1, -1])),
        (np.array([0, 3, 0]), slice(None), np.array([1, 1, 0])),
        (np.array([True, False, True, True]),),
        (np.array([2, 0]), np.array([True, False, True])),
    ],
)
@pytest.mark.parametrize("width", [2, 700])
def test_adding_at_a_key(key: Any, width: int) -> None:
    rng = np.random.default_rng(0)
    for dtype in ("f4", "f8", "i8"):
        out = rng.integers(0, 9, (4, 3, width)).astype(dtype)
        values = rng.integers(0, 9, out[key].shape).astype(dtype)
        wanted = out.copy()
        np.add.at(wanted, key, values)
        for target in (out.copy(), np.asfortranarray(out)):
            scatter.add_at(target, key, values)
            np.testing.assert_array_equal(target, wanted)


@needs_kernels
def test_what_kernels_may_not_read_is_left_to_numpy() -> None:
    x, index = np.ones((90, 80), "f4"), np.arange(90)
    for wrong in (index - 1, index + 1, index.astype(np.int32), index[::-1][::2]):
        if wrong.dtype == np.int64 and wrong.flags.c_contiguous:
            assert native.take_slices(x, wrong, 0) is None
        assert not native.add_slices(x.copy(), wrong, x[: len(wrong)], 0)
    assert native.take_slices(x.astype("f2"), index, 0) is None
    assert not native.add_slices(x.astype("i4"), index, x.astype("i4"), 0)  # no floats
    assert native.take_slices(x.T, index[:80], 0) is None
    assert native.take_elements(x, index.reshape(1, 90), 0) is None  # longer than the array


def test_indices_are_checked_before_a_kernel_runs() -> None:
    x = np.ones((90, 80), "f4")
    for index in (np.full(100, 90), np.full(100, -91)):
        with pytest.raises(IndexError):
            scatter.take_rows(x, index, 0)
    np.testing.assert_array_equal(scatter.take_rows(x, np.full(100, -1), 0), np.ones((100, 80)))
    sums = scatter.sum_at((90, 80), (np.full(100, -1),), np.ones((100, 80), "f4"))
    np.testing.assert_array_equal(sums[-1], np.full(80, 100))
    assert not sums[:-1].any()


@pytest.mark.parametrize("left_out", [None, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rows_of_a_table(left_out: int | None, dtype: str) -> None:
    rng = np.random.default_rng(0)
    index, values = rng.integers(0, 70, (40, 9)), rng.normal(size=(40, 9, 33)).astype(dtype)
    wanted = np.zeros((70, 33))
    np.add.at(wanted, index, values)
    if left_out is not None:
        wanted[left_out] = 0
    found = scatter.sum_rows(70, index, values, left_out)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ml_dtypes.bfloat16, "i8"])
@pytest.mark.parametrize(("shape", "axis"), [((80, 60), 0), ((9, 90, 7), 1), ((30, 4, 50), 2)])
def test_an_index_that_is_repeated(shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    """As `expand` makes them: whole slices, each sum rounded as NumPy does."""
    rng, _, index = made(shape, axis, (shape[axis],))
    x, g = (rng.normal(size=(2, *shape)) * 9).astype(dtype)
    step = [1] * len(shape)
    step[axis] = -1
    repeated = np.broadcast_to(index.reshape(step), shape)
    vector = scatter.vector_of(repeated, axis)
    assert vector is not None
    np.testing.assert_array_equal(vector, index)
    assert scatter.vector_of(repeated.copy(), axis) is None
    found = scatter.take_along(x, repeated, axis)
    np.testing.assert_array_equal(found, np.take_along_axis(x, repeated, axis))
    wanted = x.copy()
    scatter.add_along(x, repeated, axis, g)
    np.add.at(wanted, scatter.along(repeated, axis), g)
    np.testing.assert_array_equal(x, wanted)


@pytest.mark.parametrize("unique", [True, False])
def test_along_an_axis(unique: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 200)).astype("f4")
    order = np.argsort(x, axis=1)
    sorted_ = selection.take_along(x, order, 1)
    np.testing.assert_array_equal(sorted_, np.sort(x, axis=1))
    back = selection.add_along(sorted_, order, x.shape, 1, unique)
    np.testing.assert_array_equal(back, x)


@pytest.mark.torch
def test_large_tables_and_indices_have_pytorchs_gradients(torch: Any) -> None:
    rng = np.random.default_rng(0)
    table, index = rng.normal(size=(300, 48)).astype("f4"), rng.integers(0, 300, (8, 40))
    source = rng.normal(size=(40, 48)).astype("f4")
    short = rng.integers(0, 300, (40, 48))
    results = []
    for library, functional in ((wengert, F), (torch, torch.nn.functional)):
        w, i = library.tensor(table).requires_grad_(), library.tensor(index)
        s, k = library.tensor(source).requires_grad_(), library.tensor(short)
        outs = [
            functional.embedding(i, w, padding_idx=5),
            functional.embedding(i, w, scale_grad_by_freq=True),
            functional.embedding_bag(i, w),
            w[i],
            w[:, i % 48],
            library.index_select(w, 0, i[0].repeat(9)),
            library.gather(w, 0, k.repeat(4, 1)),
            library.gather(w[:40], 1, k % 48),
            library.scatter_add(w, 0, k.repeat(4, 1), s.repeat(4, 1)),
            library.index_add(w, 0, i[0].repeat(9), s.repeat(9, 1)),
        ]
        loss = sum((o * o * o.detach().cos()).sum() for o in outs)
        grads = library.autograd.grad(loss, (w, s))
        results.append([x.detach().numpy() for x in (*outs, *grads)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.minimum])
@each_shape
def test_combining_is_numpys(
    shape: tuple[int, ...], axis: int, ufunc: np.ufunc, dtype: str, threads: Any
) -> None:
    rng = np.random.default_rng(0)
    lengths = [*shape[:axis], 77, *shape[axis + 1 :]]
    index = rng.integers(0, shape[axis], lengths)
    values = rng.integers(-3, 4, lengths).astype(dtype) / 2
    if dtype != "i8":
        values[rng.random(lengths) < 0.01] = np.nan
    values = values.astype(dtype)
    out = rng.integers(-3, 4, shape).astype(dtype)
    expected = out.copy()
    with np.errstate(invalid="ignore"):  # NumPy's maximum
        ufunc.at(expected, scatter.along(index, axis), values)
    scatter.combine_along(ufunc, out, index, axis, values)
    np.testing.assert_array_equal(out, expected, strict=True)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_the_largest_rows_of_bags(dtype: str) -> None:
    """Bags in any order, one of them empty, and rows in no bag."""
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(40, 3))).astype(dtype)
    bag = rng.integers(0, 6, 40)
    bag[bag == 2] = 3
    x[0, 0] = x[11, 1] = np.nan
    expected = np.zeros((5, 3), np.int64)
    for b in range(5):
        for c in range(3):
            rows = np.flatnonzero(bag == b).tolist() or [0]
            best = rows[0]
            for k in rows:
                best = k if x[k, c] > x[best, c] else best
            expected[b, c] = best
    found = [scatter.largest_rows(x, bag, 5)]
    with by_numpy():
        found.append(scatter.largest_rows(x, bag, 5))
    with in_python():
        found.append(scatter.largest_rows(x, bag, 5))
    for places in found:
        np.testing.assert_array_equal(places, expected)


def pairs(shape: tuple[int, ...], index_shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Indices of the first two dimensions, some of which count from the end."""
    rng = np.random.default_rng(0)
    return tuple(rng.integers(-n, n, index_shape) for n in shape[:2])


@needs_kernels
@pytest.mark.parametrize("shape", [(30, 40), (5, 7, 11), (3, 1, 2, 5)])
@pytest.mark.parametrize("index_shape", [(300,), (20, 31), (1,)])
def test_pairs(shape: tuple[int, ...], index_shape: tuple[int, ...], threads: Any) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape).astype("f4")
    key = pairs(shape, index_shape)
    np.testing.assert_array_equal(scatter.take_at(x, key), x[key])
    np.testing.assert_array_equal(scatter.take_at(x[::-1], key), x[::-1][key])
    values = rng.normal(size=x[key].shape).astype("f4")
    expected, got = x.copy(), x.copy()
    np.add.at(expected, key, values)
    subscript.write_at(got, values, key, accumulate=True)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@needs_kernels
def test_pairs_out_of_bounds_have_no_places() -> None:
    key = pairs((30, 40), (300,))
    for d, wrong in ((0, 30), (0, -31), (1, 40), (1, -41), (1, 1 << 62), (0, -(1 << 63))):
        bad = [index.copy() for index in key]
        bad[d][250] = wrong
        assert native.flat_places(tuple(bad), (30, 40)) is None
        x, indices = wengert.zeros(30, 40), tuple(map(wengert.tensor, bad))
        with pytest.raises(IndexError, match="out of bounds"):
            x[indices]
        with pytest.raises(IndexError, match="out of bounds"):
            x.index_put(indices, wengert.ones(()), accumulate=True)


@needs_kernels
def test_places_of_pairs_stay_within_their_arrays() -> None:
    key = pairs((3, 4), (2, 5))
    with in_python((native, "FEW")):
        places = native.flat_places(key, (3, 4, 2))
    expected = np.arange(12).reshape(3, 4)[key]
    np.testing.assert_array_equal(places, expected)


@needs_kernels
@pytest.mark.parametrize("count", [31, 32, 33, 70_000])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_within(count: int, dtype: Any) -> None:
    index = np.random.default_rng(0).integers(0, 9, count).astype(dtype)
    index[-1] = 8
    assert native.within(index, 9)
    assert native.within(index[::2], 9)
    assert not native.within(index, 8)
    for wrong in (-1, 9, np.iinfo(dtype).min, np.iinfo(dtype).max):
        for place in (0, count // 2, count - 1):
            bad = index.copy()
            bad[place] = wrong
            assert not native.within(bad, 9)


def test_a_single_place_of_a_vector() -> None:
    out, place = np.zeros(3, np.float32), np.array(1)
    scatter.put_along(out, place, 0, np.array(2, np.float32))
    assert out.tolist() == [0, 2, 0]
