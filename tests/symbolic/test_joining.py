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


@pytest.mark.parametrize("given", [(1, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 1, 0)])
def test_slices_have_a_form_that_counts_upwards(given: tuple[int, int, int]) -> None:
    names = T.lscalars("start", "stop", "step")
    length = T.lscalar("length")
    symbolic = slice(*[v if has else None for v, has in zip(names, given, strict=True)])
    canonical, direction = T.subtensor.get_canonical_form_slice(symbolic, length)
    parts = [T.as_tensor_variable(v) for v in (
        canonical.start, canonical.stop, canonical.step, direction)]  # fmt: skip
    f = theano.function([*names, length], parts, on_unused_input="ignore")
    a = np.arange(5)
    for start in (-8, -5, -1, 0, 2, 5, 8):
        for stop in (-8, -5, -1, 0, 3, 5, 8):
            for step in (-6, -2, -1, 1, 3):
                numbers = [v if has else None for v, has in zip(
                    (start, stop, step), given, strict=True)]  # fmt: skip
                expected = a[slice(*numbers)]
                first, last, width, sign = (int(v) for v in f(start, stop, step, 5))
                assert min(first, last, width) >= 0
                np.testing.assert_array_equal(a[first:last:width][::sign], expected)
                known, sign = T.subtensor.get_canonical_form_slice(slice(*numbers), 5)
                np.testing.assert_array_equal(a[known][::sign], expected)


def test_all_of_a_variable_is_replaced() -> None:
    x, y = T.dmatrix("x"), T.dvector("y")
    for part in (x[:], x[...], x[:, :]):
        f = theano.function([x, y], [T.set_subtensor(part, y), T.inc_subtensor(part, y)])
        written, added = f(np.ones((2, 2)), [3.0, 4.0])
        assert (written.tolist(), added.tolist()) == ([[3, 4]] * 2, [[4, 5]] * 2)
