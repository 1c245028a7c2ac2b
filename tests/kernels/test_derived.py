"""What is kept of arrays: found again while they are as they were, and gone with them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from wengert.kernels import derived


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    derived.drop_all()
    yield
    derived.drop_all()


def twice(array: np.ndarray) -> np.ndarray:
    return derived.derived(array, "twice", lambda: 2 * array)


def test_nothing_is_kept_unasked() -> None:
    array = np.ones(4)
    assert twice(array) is not twice(array)
    assert derived.kept_bytes() == 0


def test_a_value_is_made_once() -> None:
    array = np.ones(4)
    derived.keep_for(array, lambda _: True)
    assert twice(array) is twice(array)
    assert derived.kept_bytes() == array.nbytes


def test_each_key_has_its_value() -> None:
    array = np.ones(4)
    derived.keep_for(array, lambda _: True)
    thrice = derived.derived(array, "thrice", lambda: 3 * array)
    assert twice(array)[0] == 2
    assert thrice[0] == 3


def test_another_array_of_the_same_elements_has_none_of_it() -> None:
    array = np.ones(4)
    derived.keep_for(array, lambda _: True)
    assert twice(array) is not twice(array[:])


def test_a_changed_array_has_nothing_kept_any_more() -> None:
    array, same = np.ones(4), [True]
    derived.keep_for(array, lambda _: same[0])
    before = twice(array)
    same[0] = False
    array[:] = 5
    assert twice(array)[0] == 10 != before[0]
    assert derived.kept_bytes() == 0
    assert not derived.keeps_for(array)


def test_values_go_with_their_array() -> None:
    array = np.ones(4)
    derived.keep_for(array, lambda _: True)
    twice(array)
    del array
    assert derived.kept_bytes() == 0


def test_values_of_an_array_are_few() -> None:
    array = np.ones(4)
    derived.keep_for(array, lambda _: True)
    for k in range(100):
        value = derived.derived(array, k, lambda k=k: k * array)  # type: ignore[misc]
        assert value[0] == k
    assert derived.kept_bytes() <= 4 * array.nbytes


def test_no_more_is_kept_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [np.full(4, float(k)) for k in range(5)]
    monkeypatch.setattr(derived, "_limit", lambda: 3 * arrays[0].nbytes)
    for array in arrays:
        derived.keep_for(array, lambda _: True)
    assert [twice(a)[0] for a in arrays] == [0, 2, 4, 6, 8]
    assert derived.kept_bytes() == 3 * arrays[0].nbytes
    assert twice(arrays[0]) is twice(arrays[0])
    assert twice(arrays[4]) is not twice(arrays[4])
