"""Indices that are values of variables: slices."""

from __future__ import annotations

import numpy as np

import wengert.symbolic as theano
from wengert.symbolic import tensor as T
from wengert.symbolic.tensor.type_other import make_slice, slicetype


def test_slices_of_variables_pick_elements() -> None:
    x, s, i = T.dmatrix("x"), slicetype("s"), T.iscalar("i")
    a = np.arange(12.0).reshape(3, 4)
    f = theano.function([x, s, i], [
        x[s], x[s, 1], x[s, [1, 2, 2]], T.grad((x[s] ** 2).sum(), x), T.set_subtensor(x[s], 0),
        x[1, make_slice(i, None)],
    ])  # fmt: skip
    found = f(a, slice(0, None, 2), 1)
    rows, cleared = a[::2], a.copy()
    cleared[::2] = 0
    expected = [rows, rows[:, 1], rows[:, [1, 2, 2]], 2 * a - 2 * cleared, cleared, a[1, 1:]]
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own, other)


def test_dimensions_of_length_one_are_taken_to_stay() -> None:
    s, row = slicetype("s"), T.drow()
    assert row[s].broadcastable == row[s, s].broadcastable == (True, False)
    assert row[:, s].broadcastable == (True, False)
