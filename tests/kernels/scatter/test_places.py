"""Where the elements that a key names lie, without a kernel."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from wengert.kernels import scatter
from wengert.kernels.scatter import (
    _of_one_axis,
    _other_places,
    _places,
    add_at,
    along,
    integer_parts,
    sum_at,
    sum_rows,
)

ALL = slice(None)


def ints(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_key_along_an_axis(axis: int) -> None:
    array = np.arange(24).reshape(2, 3, 4)
    index = np.random.default_rng(axis).integers(0, array.shape[axis], (2, 3, 4))
    expected = np.take_along_axis(array, index, axis)
    np.testing.assert_array_equal(array[along(index, axis)], expected)
    np.testing.assert_array_equal(array.ravel()[_places(array.shape, index, axis)], expected)


def test_places_of_an_index_that_is_smaller_than_the_array() -> None:
    index = ints([3, 0])  # of shape (1, 2)
    assert _places((2, 3, 4)[1:], index, 1).tolist() == [[3, 0]]
    assert _places((3, 4), ints([2], [1]), 0).tolist() == [[8], [4]]
    assert _places((3, 4), ints([2], [1]), 1).tolist() == [[2], [5]]


def test_places_of_a_vector_are_its_indices() -> None:
    index = ints(2, 0)
    assert _places((3,), index, 0) is index


def test_places_of_narrow_integers_do_not_overflow() -> None:
    index = np.full((2, 2), 100, np.int8)
    assert _places((200, 1000), index, 0).max() == 100 * 1000 + 1


def test_other_places() -> None:
    assert _other_places((2, 3, 4), (2, 3, 4), 1).tolist() == [
        [[0, 1, 2, 3]], [[12, 13, 14, 15]]
    ]  # fmt: skip


KEYS: dict[str, tuple[tuple[Any, ...], list[int]]] = {
    "first": ((ints(1, 0),), [0]),
    "last": ((ALL, ALL, ints(1, 0)), [2]),
    "two together": ((ALL, ints(1, 0), ints(3, 3)), [1, 2]),
    "two apart": ((ints(1, 0), ALL, ints(3, 3)), [0, 2]),
    "mask": ((np.array([True, False]),), [0]),
    "mask of two": ((np.ones((2, 3), bool),), [0, 1]),
    "mask behind": ((ALL, np.array([True, False, True])), [1]),
    "matrix": ((ALL, ints([0, 1], [2, 2])), [1]),
    "broadcast": ((ints([0], [1]), ints(0, 2, 1)), [0, 1]),
    "negative": ((ALL, ints(-1, 0, -3)), [1]),
}


@pytest.mark.parametrize("name", KEYS)
def test_the_parts_of_a_key(name: str) -> None:
    key, axes = KEYS[name]
    arrays, of_axes = integer_parts(key)
    assert of_axes == axes
    assert len(arrays) == len(axes)
    assert all(a.dtype == np.int64 for a in arrays)


@pytest.mark.parametrize("name", KEYS)
def test_values_are_added_where_numpy_says(name: str) -> None:
    key, _ = KEYS[name]
    shape = (2, 3, 4)
    values = np.random.default_rng(0).standard_normal(np.zeros(shape)[key].shape)
    expected = np.zeros(shape)
    np.add.at(expected, key, values)
    np.testing.assert_allclose(sum_at(shape, key, values), expected, rtol=1e-14)
    for order in itertools.permutations(range(3)):  # an array in another order
        out = np.empty([shape[d] for d in order]).transpose(*np.argsort(order))
        out[...] = 1.0
        add_at(out, key, values)
        np.testing.assert_allclose(out, 1.0 + expected, rtol=1e-12)


def test_indices_that_slices_part_come_first() -> None:
    key = (ALL, ints(1, 0), ALL, ints(3, 3))
    shape = (2, 3, 4, 5)
    values = np.random.default_rng(0).standard_normal(np.zeros(shape)[key].shape)
    assert values.shape == (2, 2, 4)
    expected = np.zeros(shape)
    np.add.at(expected, key, values)
    np.testing.assert_array_equal(sum_at(shape, key, values), expected)


def test_a_mask_stands_for_all_of_its_axes() -> None:
    key = (np.ones((2, 3), bool), ints(0, 1, 2, 3, 0, 1))
    assert integer_parts(key)[1] == [0, 1, 2]


def test_keys_of_one_axis() -> None:
    assert _of_one_axis(KEYS["first"][0])
    assert _of_one_axis(KEYS["last"][0])
    for name in ("two together", "two apart", "mask", "mask behind"):
        assert not _of_one_axis(KEYS[name][0])
    assert not _of_one_axis((ints(0), ALL))


def test_rows_that_are_left_out() -> None:
    values = np.arange(8.0).reshape(4, 2)
    index = ints(1, 0, 1, 2)
    assert sum_rows(3, index, values, None).tolist() == [[2, 3], [4, 6], [6, 7]]
    assert sum_rows(3, index, values, 1).tolist() == [[2, 3], [0, 0], [6, 7]]
    assert sum_rows(3, index, values, 0).tolist() == [[0, 0], [4, 6], [6, 7]]
    assert sum_rows(2, index[:2].reshape(2, 1), values[:2].reshape(2, 1, 2), None).shape == (2, 2)


def test_of_values_at_one_place_the_last_stays() -> None:
    out = np.zeros((2, 3))
    scatter.put_along(out, ints([1, 1], [0, 2]), 1, np.array([[5.0, 6.0], [7.0, 8.0]]))
    assert out.tolist() == [[0, 6, 0], [7, 0, 8]]


def test_other_functions_than_sums() -> None:
    out = np.ones((2, 3))
    scatter.combine_along(np.multiply, out, ints([1, 1], [0, 2]), 1, np.full((2, 2), 3.0))
    assert out.tolist() == [[1, 9, 1], [3, 1, 3]]
