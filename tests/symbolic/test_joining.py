"""Axes that are known only when a function runs."""

from __future__ import annotations

import numpy as np
import pytest

import wengert.symbolic as theano
from wengert.symbolic import tensor as T


def test_variables_are_joined_along_any_axis() -> None:
    axis, x, y = T.lscalar("axis"), T.dmatrix("x"), T.dmatrix("y")
    out = T.join(axis, x, y)
    weights = T.dmatrix("weights")
    of_x, of_y = T.grad((out * weights).sum(), [x, y])
    f = theano.function([axis, x, y, weights], [out, of_x, of_y])
    a, b = np.arange(4.0).reshape(2, 2), np.arange(4.0, 8).reshape(2, 2)
    for number in (0, 1, -1):
        expected = np.concatenate([a, b], number)
        w = np.arange(8.0).reshape(expected.shape)
        joined, first, second = f(number, a, b, w)
        np.testing.assert_array_equal(joined, expected)
        np.testing.assert_array_equal(np.concatenate([first, second], number), w)
    with pytest.raises(IndexError, match="Join axis 2 out of bounds"):
        f(2, a, b, a)
    with pytest.raises(TypeError, match="must be an integer type"):
        T.join(T.dscalar(), x, y)
    with pytest.raises(TypeError, match="same number of dimensions"):
        T.join(axis, x, T.dvector())
    row = T.concatenate([T.drow("r"), x], axis=axis)
    assert row.broadcastable == (False, False)


def test_variables_are_split_along_any_axis() -> None:
    axis, x = T.lscalar("axis"), T.dmatrix("x")
    first, second = T.split(x, [1, 2], 2, axis=axis)
    f = theano.function([axis, x], [first, second, T.grad((second**2).sum(), x)])
    value = np.arange(9.0).reshape(3, 3)
    for number in (0, 1):
        one, two, gradient = f(number, value)
        np.testing.assert_array_equal(np.concatenate([one, two], number), value)
        assert one.shape[number] == 1
        np.testing.assert_array_equal(gradient.sum(), 2 * two.sum())
    with pytest.raises(ValueError, match="The splits sum to 3"):
        f(0, np.zeros((4, 4)))
