"""What kernels read of arrays is what NumPy says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.kernels.jit import available
from wengert.kernels.jit.heads import Layouts, advanced, knows_strides

pytestmark = pytest.mark.skipif(not available(), reason="no llvmlite")


def counts(*values: float) -> list[np.ndarray]:
    return [np.array(v, np.float32) for v in values]


def test_equal_counts_are_advanced() -> None:
    given = counts(3, 3, 3)
    assert advanced(given) == 4
    assert given == counts(4, 4, 4)
    negative = counts(-2)
    assert advanced(negative) == -1
    assert negative == counts(-1)


@pytest.mark.parametrize(
    "odd",
    [
        np.array(2, np.float32),
        np.array(np.nan, np.float32),
        np.array(3.0),
        np.array([3], np.float32),
        np.float32(3),
        None,
    ],
    ids=repr,
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_others_are_left_as_they_are(odd: Any, place: int) -> None:
    given: list[Any] = counts(3, 3)
    given.insert(place, odd)
    before = [np.copy(x) for x in given if x is not None]
    assert advanced(given) is None
    np.testing.assert_array_equal(
        [x for x in given if x is not None and np.ndim(x) == 0],
        [x for x in before if x.ndim == 0],
    )


def test_a_count_that_comes_twice_is_left_as_it_is() -> None:
    (one,) = counts(3)
    assert advanced([one, one]) is None
    assert one == 3
    fixed = np.array(3, np.float32)
    fixed.flags.writeable = False
    assert advanced([fixed]) is None


def _arrays() -> list[Any]:
    whole = np.zeros((4, 6), np.float32)
    odd = np.frombuffer(bytearray(97), np.uint8)[1:].view(np.float32).reshape(4, 6)
    return [
        whole, whole.copy(), whole.T, whole[:, ::2], whole[::-1], whole[:2], whole.reshape(-1),
        whole.reshape(4, 6, 1), whole.astype(np.float64), whole.astype(np.int32), odd,
        np.zeros((), np.float32), np.zeros((0, 3), np.float32), np.zeros(5, np.int64),
    ]  # fmt: skip


def test_layouts() -> None:
    assert knows_strides()
    for x in _arrays():
        for y in [*_arrays(), None, 1.0, [0.0]]:
            layouts = Layouts([(x.shape, x.strides, x.dtype), ((), (), np.dtype(np.float32))])
            number = np.array(1, np.float32)
            same = isinstance(y, np.ndarray) and y.flags.aligned
            same = same and (y.shape, y.strides, y.dtype) == (x.shape, x.strides, x.dtype)
            assert layouts.fit([y, number]) is same
            assert layouts.fit([number, y]) is (x.shape == () and same)
            assert not layouts.fit([y])


def test_who_reads_takes_any_stride_of_one_element() -> None:
    wide = np.ones((4, 6), np.float32)
    row, dtype = wide[1:2], np.dtype(np.float32)
    wanted = [((1, 6), (4 * 6, 4), dtype)]
    other = np.lib.stride_tricks.as_strided(wide, (1, 6), (8, 4))
    for array, reading, exact in (
        (row, True, True), (other, True, False), (wide[:2], False, False),
        (wide[:1, ::-1], False, False),
    ):  # fmt: skip
        assert Layouts(wanted, reading=True).fit([array]) is reading
        assert Layouts(wanted).fit([array]) is exact
