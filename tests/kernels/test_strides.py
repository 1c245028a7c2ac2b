"""Arrays with gaps are written as NumPy writes them, up to the last byte and no further."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.kernels.guarded import copied, guarded
from tests.kernels.threads import same_for_all_threads
from tests.kernels.variants import needs_llvmlite
from wengert.kernels import strides
from wengert.kernels.transposition import Matrices

pytestmark = needs_llvmlite

VIEWS: list[Any] = [
    np.s_[:, :, 3:],
    np.s_[:, 5:, :],
    np.s_[::2, :, :-7],
    np.s_[::-1, ::3, 40:],
    np.s_[:, 1:2, :],
    np.s_[4],
    np.s_[:, :, ::2],
]
# Rows without neighbours, or the other way round.
NO_ROWS = np.s_[:, :, ::2], np.s_[::-1, ::3, 40:]


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "?", "c8", "i2"])
@pytest.mark.parametrize("at_end", [False, True])
def test_copies_of_views(view: Any, dtype: str, at_end: bool) -> None:
    rng = np.random.default_rng(0)
    whole = copied(rng.integers(0, 2, (40, 30, 240)).astype(dtype), at_end)
    source = whole[view]
    target = guarded(source.shape, dtype, at_end)
    strides.copy(target, source)
    np.testing.assert_array_equal(target, source)
    back = copied(np.zeros(whole.shape, dtype), at_end)
    strides.copy(back[view], target)
    np.testing.assert_array_equal(back[view], source)
    assert np.count_nonzero(back) == np.count_nonzero(source)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "c8", "?"])
@pytest.mark.parametrize("shape", [(40, 30, 1), (40, 1, 240), (1, 30, 240), (40, 1, 1), (1, 1, 1)])
def test_copies_of_repeated_elements(dtype: str, shape: tuple[int, ...]) -> None:
    """Each is read once for a row, and the copy may lie in a part of an array."""
    few = copied(np.random.default_rng(0).integers(0, 2, shape).astype(dtype), True)
    repeated = np.broadcast_to(few, (40, 30, 240))

    for source in (repeated, few, *([few[0]] if len(few) == 1 else [])):

        def copy(source: np.ndarray = source) -> np.ndarray:
            whole = copied(np.zeros((40, 30, 250), dtype), True)
            strides.copy(whole[:, :, 10:], source)
            return whole

        whole = same_for_all_threads(copy)
        np.testing.assert_array_equal(whole[:, :, 10:], repeated)
        assert not whole[:, :, :10].any()


def test_sources_that_do_not_broadcast_raise() -> None:
    target = np.zeros((40, 30, 250))[:, :, 10:]
    for shape in ((30, 30, 240), (2, 1), (239,)):
        with pytest.raises(ValueError, match="broadcast"):
            strides.copy(target, np.ones(shape))
    strides.copy(target, np.ones((1, 1, 30, 240)))
    strides.copy(target[:20], np.full((), 1.0))
    assert target.all()


@pytest.mark.parametrize("dtype", ["f4", "u1", "c16"])
@pytest.mark.parametrize("order", [(1, 2, 0), (2, 1, 0), (1, 0, 2), (2, 0, 1)])
@pytest.mark.parametrize("shape", [(3, 70, 90), (70, 8, 90), (2, 300, 40)])
def test_short_rows_are_written_place_by_place(
    dtype: str, order: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    source = copied(np.random.default_rng(0).integers(0, 99, shape).astype(dtype), True)
    moved = source.transpose(order)
    target = guarded(moved.shape, dtype)
    strides.copy(target, moved)
    np.testing.assert_array_equal(target, moved)


def test_which_rows_are_written_place_by_place() -> None:
    def way(source: np.ndarray) -> Any:
        target = np.empty(source.shape, source.dtype)
        outlines = [(a.shape, a.strides) for a in (target, source)]
        return strides._way(source.itemsize, *outlines, short=True)

    assert way(np.zeros((3, 70, 90)).transpose(1, 2, 0)) == 2
    assert way(np.zeros((3, 70, 90, 1)).transpose(1, 2, 0, 3)) == 2
    assert isinstance(way(np.zeros((9, 70, 90)).transpose(1, 2, 0)), Matrices)
    assert way(np.zeros((9, 70, 90), complex).transpose(1, 2, 0)) is None
    assert way(np.zeros((70, 90, 6))[:, :, ::2]) == 2
    assert way(np.zeros((3, 7, 90)).transpose(2, 1, 0)) is None


def test_rows_of_one_element_have_a_kernel() -> None:
    few = np.zeros((100, 1), np.float32)
    target = np.empty((100, 100), np.float32)
    own, repeated = (target.shape, target.strides), (target.shape, (4, 0))
    way = strides._way(4, own, repeated, short=True)
    assert isinstance(way, strides._Rows)
    assert way.spread
    strides.copy(target, np.broadcast_to(few + 3, (100, 100)), apart=False)
    assert (target == 3).all()


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "?", "c8", "i2"])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_slices_of_views(view: Any, dtype: str, order: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    source = copied(rng.integers(0, 2, (40, 30, 240)).astype(dtype), True)[view]
    if source.ndim < 3:
        source = source[None]
    source = source.transpose(order)
    for shape in ((2 * len(source),), (3, 5)):
        index = rng.integers(0, len(source), shape)
        index.flat[0], index.flat[-1] = 0, len(source) - 1
        found = strides.take(source, index)
        assert (found is not None) is (source[0].strides[-1] == source.itemsize)
        if found is not None:
            np.testing.assert_array_equal(found, source.take(index, 0))


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("short", [False, True])
def test_copies_into_another_order(order: tuple[int, ...], short: bool) -> None:
    source = copied(np.random.default_rng(0).standard_normal((37, 41, 67), np.float32), True)
    moved = source.transpose(order)

    def copy() -> np.ndarray:
        target = guarded(moved.shape)
        strides.copy(target, moved, short)
        return target

    np.testing.assert_array_equal(same_for_all_threads(copy), moved)
    back = guarded(source.shape)
    strides.copy(back.transpose(order), np.ascontiguousarray(moved), short)
    np.testing.assert_array_equal(back, source)


@pytest.mark.parametrize("size", [2047, 2048, 2049, 40_001, 100_000])
@pytest.mark.parametrize("at_end", [False, True])
def test_long_rows_are_copied_in_pieces(size: int, at_end: bool) -> None:
    source = copied(np.random.default_rng(0).integers(0, 99, (40, size)).astype("u1"), at_end)
    target = guarded(source.shape, "u1", at_end)
    for k in (0, 1, 5):
        target[...] = 0
        strides.copy(target[:, k:], source[:, : size - k])
        np.testing.assert_array_equal(target[:, k:], source[:, : size - k])
        assert not target[:, :k].any()


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply])
def test_updates_of_views(view: Any, dtype: str, ufunc: np.ufunc) -> None:
    """Elements beside the view stay; one with strides inside its rows is left to NumPy."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal((40, 30, 240)).astype(dtype)
    other = copied(rng.standard_normal(start.shape).astype(dtype), True)[view]
    for value in (other, np.ascontiguousarray(other), np.array(0.3, dtype)):
        expected = start.copy()
        ufunc(expected[view], value, out=expected[view])

        whole = copied(start, True)
        known = strides.update(ufunc, whole[view], value)
        assert known is (view not in (*NO_ROWS, np.s_[4]))  # which has no gaps
        if known:
            np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("view", VIEWS, ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_filling_views(view: Any, dtype: str) -> None:
    whole = copied(np.zeros((40, 30, 240), dtype), True)
    known = strides.fill(whole[view], 0.3)
    assert known is (view not in NO_ROWS)
    if known:
        np.testing.assert_array_equal(whole[view], np.array(0.3, dtype))
        assert np.count_nonzero(whole) == whole[view].size
    assert not strides.fill(whole.astype(np.int32)[view], 1)


def test_updates_by_the_same_memory_are_left_to_numpy() -> None:
    whole = np.random.default_rng(0).standard_normal((40, 30, 240))
    assert not strides.update(np.add, whole[:, :, 3:], whole[:, :, :-3])
    assert not strides.update(np.add, whole[:, :, 3:], whole[:, :, 3:])
    assert strides.update(np.add, whole[:, :, 120:], whole[:, :, :120])
    assert strides.share(whole, whole[3])
    assert not strides.share(whole[:20], whole[20:])
